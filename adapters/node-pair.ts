import type { EndingResponse } from '../src/http/held/index.ts'
import type { LocalSocket } from '../src/http/keys/index.ts'

export interface ResponseHead {
  readonly headersSent: boolean
  setHeader(name: string, value: string): unknown
}

/** Request and response of node:http, if the web server runs on node:http. */
export interface NodePair {
  readonly req: {
    readonly socket: LocalSocket
    readonly headers?: Readonly<Record<string, string | readonly string[] | undefined>> | undefined
  }
  readonly res?: (EndingResponse & ResponseHead) | undefined
}

/** Request and response of node:http, which srvx adds to its requests. Undefined for other servers. */
export function nodePair(request: Request): NodePair | undefined {
  return (request as { runtime?: { node?: NodePair } }).runtime?.node
}

/**
 * The response of node:http, if it answers this request. Undefined if the application made the Request, such as a batch that calls the
 * application for each of its parts: the response in the pair is then that of the batch.
 */
export function ownResponse(request: Request, pair: Partial<NodePair> | undefined): NodePair['res'] {
  return Object.getPrototypeOf(request) === Request.prototype ? undefined : pair?.res
}

/** Request and response of node:http, which @hono/node-server passes as the second argument of a handler. */
export function pairBeside(context: unknown): Partial<NodePair> | undefined {
  const node = context as { incoming?: NodePair['req']; outgoing?: NodePair['res'] } | undefined | null
  return node?.incoming && { req: node.incoming, res: node.outgoing }
}
