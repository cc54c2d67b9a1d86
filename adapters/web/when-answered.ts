import { whenEnded } from '../../src/http/held/index.ts'
import { type NodePair, ownResponse } from '../node-pair.ts'
import type { Answer, ClosingSocket } from './web-answer.ts'

type Outer = NonNullable<NodePair['res']>
type End = (status: number, aborted: boolean) => void

/** The Answers of the requests that an application made itself while it handled a request of node:http, by the response to that request. */
const inner = new WeakMap<Outer, Set<Answer>>()

/**
 * Calls `done` after the response to a request has ended, as `Framework.ended` requires. If the application made the request while it
 * handled a request of node:http, the end of the response is that of its body. If nobody reads the body, or if the application returns the
 * response as its outer response, the end is that of the outer response.
 * @param socket the socket of node:http, if the request may upgrade its connection
 */
export function whenAnswered(
  answer: Answer,
  request: Request,
  pair: Partial<NodePair> | undefined,
  done: End,
  socket?: ClosingSocket,
): void {
  const own = ownResponse(request, pair)
  if (own !== undefined) {
    whenEnded(own, done)
    return
  }
  const outer = pair?.res
  const ended: End = (status, aborted) => {
    // If the outer response is being sent, it may be this response, whose client may read slowly.
    if (outer?.headersSent === true) whenEnded(outer, (_status, left) => done(status, aborted || left))
    else done(status, aborted)
  }
  answer.whenEnded(ended, request.signal, socket)
  if (outer !== undefined) endsWith(outer, answer)
}

/** All inner requests share one listener, because a batch may have many parts. */
function endsWith(outer: Outer, answer: Answer): void {
  const answers = inner.get(outer)
  if (answers !== undefined) {
    answers.add(answer)
    return
  }
  inner.set(outer, new Set([answer]))
  whenEnded(outer, () => {
    for (const each of inner.get(outer) ?? []) each.abandon()
  })
}
