import type { EndingResponse } from '../../src/http/held/index.ts'
import { isUnixSocket, type LocalSocket } from '../../src/http/keys/index.ts'
import type { Finder } from './address-view.ts'

export interface ResponseHead {
  readonly headersSent: boolean
  setHeader(name: string, value: string): unknown
}

/** Request and response of Node, behind a web server that runs on it. */
export interface NodePair {
  readonly req: {
    readonly socket: LocalSocket
    readonly headers?: Readonly<Record<string, string | readonly string[] | undefined>> | undefined
  }
  readonly res?: (EndingResponse & ResponseHead) | undefined
}

/** Request and response of Node, which srvx shows on its requests. */
export function nodePair(request: Request): NodePair | undefined {
  return (request as { runtime?: { node?: NodePair } }).runtime?.node
}

/** Request and response of Node, which @hono/node-server passes beside the request. */
export function pairBeside(context: unknown): Partial<NodePair> | undefined {
  const node = context as { incoming?: NodePair['req']; outgoing?: NodePair['res'] } | undefined | null
  return node?.incoming && { req: node.incoming, res: node.outgoing }
}

/**
 * The header and the peer of a request, on a server of Node or on any other. Node has parsed the headers already, and a
 * server on Node would first copy all of them for `request.headers`. Only a server of Node shows its sockets.
 */
export function finderOver<Call>(
  pairOf: (call: Call) => Partial<NodePair> | undefined,
  requestOf: (call: Call) => Pick<Request, 'headers'>,
): Omit<Finder<Call>, 'peer'> {
  return {
    unaddressed(call) {
      const node = pairOf(call)?.req
      return node && isUnixSocket(node.socket)
    },
    header(call, name) {
      const parsed = pairOf(call)?.req?.headers
      return parsed === undefined ? (requestOf(call).headers.get(name) ?? undefined) : parsed[name]?.toString()
    },
  }
}
