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
 * The response of node:http that answers this Request, because the Request has the path that the client has sent. A Request that middleware
 * has put in place of the client's has that path too. Undefined if the application made the Request for another path, such as a batch that
 * calls the application for each of its parts: the response in the pair is then that of the batch.
 */
export function ownResponse(request: Request, pair: Partial<NodePair> | undefined): NodePair['res'] {
  return pair?.res !== undefined && isPath(request.url, pair.req?.url, (sent, path) => sent === path)
    ? pair.res
    : undefined
}

/** Like `ownResponse`, and also for a Request with the end of the client's path, as of an application that is mounted on a path. */
export function possibleResponse(request: Request, pair: Partial<NodePair> | undefined): NodePair['res'] {
  const ends = (sent: string, path: string) => path === '/' || sent.endsWith(path)
  return pair?.res !== undefined && isPath(request.url, pair.req?.url, ends) ? pair.res : undefined
}

/** True if the path that the client has sent, or its normal form, and the path of a URL are alike. */
function isPath(url: string, sent: string | undefined, alike: (sent: string, path: string) => boolean): boolean {
  if (sent === undefined || alike(pathOf(sent), pathOf(url.slice(url.indexOf('/', url.indexOf('//') + 2))))) return true
  const { origin, pathname } = new URL(url)
  const target = sent.startsWith('/') ? origin + sent : sent
  return !URL.canParse(target) || alike(pathOf(new URL(target).pathname), pathOf(pathname))
}

function pathOf(target: string): string {
  const end = target.search(/[?#]/)
  return decoded(end === -1 ? target : target.slice(0, end))
}

/**
 * The path with each percent-encoded byte as a character, because a framework may decode the path of an application that is mounted. A
 * client may encode a path several times, so a character that was decoded may be a part of the next encoded byte.
 */
function decoded(path: string): string {
  if (!path.includes('%')) return path
  const plain: string[] = []
  for (const char of path) {
    plain.push(char)
    while (plain.at(-3) === '%') {
      const byte = `${plain.at(-2)}${plain.at(-1)}`
      if (!/^[\da-f]{2}$/i.test(byte)) break
      plain.splice(-3, 3, String.fromCharCode(Number.parseInt(byte, 16)))
    }
  }
  return plain.join('')
}

/** Request and response of node:http, which @hono/node-server passes as the second argument of a handler. */
export function pairBeside(context: unknown): Partial<NodePair> | undefined {
  const node = context as { incoming?: NodePair['req']; outgoing?: NodePair['res'] } | undefined | null
  return node?.incoming && { req: node.incoming, res: node.outgoing }
}
