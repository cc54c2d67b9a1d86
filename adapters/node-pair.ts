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
 * The response of node:http, if it answers this Request. Undefined if the application made the Request for another path, such as a batch
 * that calls the application for each of its parts: the response in the pair is then that of the batch. A Request that middleware has put
 * in place of the client's has the client's path, or its end if the application is mounted on a path.
 */
export function ownResponse(request: Request, pair: Partial<NodePair> | undefined): NodePair['res'] {
  return pair?.res !== undefined && endsPath(request.url, pair.req?.url) ? pair.res : undefined
}

/** True if the path that the client has sent ends with the path of a URL. */
function endsPath(url: string, sent: string | undefined): boolean {
  if (sent === undefined) return true
  const path = pathOf(url.slice(url.indexOf('/', url.indexOf('//') + 2)))
  if (path === '/' || pathOf(sent).endsWith(path)) return true
  const { origin, pathname } = new URL(url)
  const target = sent.startsWith('/') ? origin + sent : sent
  return URL.canParse(target) && new URL(target).pathname.endsWith(pathname)
}

function pathOf(target: string): string {
  const end = target.search(/[?#]/)
  return end === -1 ? target : target.slice(0, end)
}

/** Request and response of node:http, which @hono/node-server passes as the second argument of a handler. */
export function pairBeside(context: unknown): Partial<NodePair> | undefined {
  const node = context as { incoming?: NodePair['req']; outgoing?: NodePair['res'] } | undefined | null
  return node?.incoming && { req: node.incoming, res: node.outgoing }
}
