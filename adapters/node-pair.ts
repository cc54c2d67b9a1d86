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
    readonly method?: string | undefined
    readonly url?: string | undefined
    readonly headers?: Readonly<Record<string, string | readonly string[] | undefined>> | undefined
  }
  readonly res?: (EndingResponse & ResponseHead) | undefined
}

/** Request and response of node:http, which srvx adds to its requests. Undefined for other servers. */
export function nodePair(request: Request): NodePair | undefined {
  return (request as { runtime?: { node?: NodePair } }).runtime?.node
}

/**
 * The response of node:http, if it answers this Request. Undefined if the application made the Request for another method or path, such as a
 * batch that calls the application for each of its parts: the response in the pair is then that of the batch. A Request that middleware has
 * put in place of the client's has its method and path.
 */
export function ownResponse(request: Request, pair: Partial<NodePair> | undefined): NodePair['res'] {
  return pair?.res !== undefined && (pair.req === undefined || asksFor(request, pair.req)) ? pair.res : undefined
}

/** True if a Request has the method and the path of the request of node:http. */
function asksFor(request: Request, { method, url: path }: NodePair['req']): boolean {
  if (path === undefined) return true
  if (request.method !== method) return false
  const { url } = request
  // A URL nearly always ends in the text that the client has sent, behind the host.
  if (url.endsWith(path) && url.indexOf('/', url.indexOf('//') + 2) === url.length - path.length) return true
  const asked = new URL(url)
  const target = path.startsWith('/') ? asked.origin + path : path
  if (!URL.canParse(target)) return true
  const sent = new URL(target)
  return sent.pathname === asked.pathname && sent.search === asked.search
}

/** Request and response of node:http, which @hono/node-server passes as the second argument of a handler. */
export function pairBeside(context: unknown): Partial<NodePair> | undefined {
  const node = context as { incoming?: NodePair['req']; outgoing?: NodePair['res'] } | undefined | null
  return node?.incoming && { req: node.incoming, res: node.outgoing }
}
