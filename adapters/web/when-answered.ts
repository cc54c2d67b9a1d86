import { whenEnded } from '../../src/http/held/index.ts'
import { type NodePair, ownResponse, possibleResponse } from '../node-pair.ts'
import type { Answer, ClosingSocket } from './web-answer.ts'

type Outer = NonNullable<NodePair['res']>
type End = (status: number, aborted: boolean) => void
type Listener = (aborted: boolean) => void

/**
 * Calls `done` after the response to a request has ended, as `Framework.ended` requires. The application may have made the request while it
 * handled a request of node:http. The response to such an inner request ends with its body, or with the outer response if nobody reads the
 * body. If the inner response may be the outer response, it ends with the outer response too.
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
  if (outer === undefined) {
    answer.whenEnded(done, request.signal, socket)
    return
  }
  const isMounted = possibleResponse(request, pair) !== undefined
  // Middleware may have changed the path of the request. The response may then be the outer response, whose client may read slowly.
  const mayBeSent = !outer.headersSent
  const stop = whenOuterEnded(outer, () => answer.abandon())
  answer.whenEnded((status, aborted) => {
    stop()
    if (isMounted || (mayBeSent && outer.headersSent)) whenOuterEnded(outer, (left) => done(status, aborted || left))
    else done(status, aborted)
  }, request.signal)
}

const listeners = new WeakMap<Outer, Set<Listener>>()

/**
 * Calls the listener after a response of node:http has ended, or immediately if it has ended. All inner requests share one listener of
 * Node, because a batch may have many parts. Returns a function that removes the listener.
 */
function whenOuterEnded(outer: Outer, listener: Listener): () => void {
  const known = listeners.get(outer)
  const all = known ?? new Set()
  all.add(listener)
  if (known === undefined) {
    listeners.set(outer, all)
    whenEnded(outer, (_status, aborted) => {
      listeners.delete(outer)
      for (const each of all) each(aborted)
    })
  }
  return () => void all.delete(listener)
}
