import { type EndingResponse, isUnixSocket, type LocalSocket } from '../src/http/index.ts'

/** The part of a response of Node that takes the fields. */
export interface NodeResponse {
  readonly headersSent: boolean
  setHeader(name: string, value: string): unknown
}

/** Request and response of Node, behind a web server that runs on it. */
export interface NodePair {
  readonly req: {
    readonly socket: LocalSocket
    readonly headers?: Readonly<Record<string, string | readonly string[] | undefined>> | undefined
  }
  readonly res?: (EndingResponse & NodeResponse) | undefined
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
 * A header of the request, by its lower-case name. Node has parsed them already, and a server on Node would first copy all
 * of them for `request.headers`.
 */
export function headerOf(
  node: Partial<NodePair> | undefined,
  request: Pick<Request, 'headers'>,
  name: string,
): string | undefined {
  const parsed = node?.req?.headers
  return parsed === undefined ? (request.headers.get(name) ?? undefined) : parsed[name]?.toString()
}

/** For `Framework.unaddressed`: only a server of Node shows its sockets. */
export function isUnaddressed(node: Partial<NodePair> | undefined): boolean | undefined {
  return node?.req === undefined ? undefined : isUnixSocket(node.req.socket)
}
