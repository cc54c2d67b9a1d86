import { type Server, ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import type { PlanLimiter, RateLimiter, RequestDecision } from '../../src/index.ts'

/** How an app of the contract suite is made. Everything else about it is the same on every framework. */
export interface AppOptions {
  /** The argument of `rateLimit`. Functions in it get the framework's own request. */
  limit: unknown
  /** Trust the one proxy in front, or every proxy. */
  proxies?: 1 | 'everybody'
  /** The middleware of `GET /search`, from the limit and from its costs. Default: none. */
  search?: (limit: Loose, cost: (units: unknown) => Loose) => readonly Loose[]
  /** A middleware answers before the limiter runs. */
  answerFirst?: boolean
  /**
   * Handles `GET /` and `GET /search` with the decision; the response has the status that this returns. After 101, a handler that returns its
   * response returns none.
   */
  handle?: (decision: RequestDecision | undefined, url: string) => number | Promise<number>
}

/** A served app with `GET /`, `GET /search`, `GET /users/:id`, and an error handler that answers 500 with the error's message. */
export interface App {
  url: string
  /** The limiter of the middleware. */
  limiter: RateLimiter | PlanLimiter
  /** How often a handler ran. */
  handled: () => number
  /** The decision that the last handler found on its request. */
  decision: () => RequestDecision | undefined
  /** How many sockets are open. */
  connections: () => Promise<number>
  close: () => Promise<void>
}

export type Start = (options: AppOptions) => Promise<App>
// Each framework has its own request type. The contract suite uses only what all of them have.
export type Loose = string

/** The handler of an app that was given none. */
export const ok = (): number => 200

/** A middleware with costs of routes. */
interface Costed {
  readonly cost: (units: never) => unknown
}

/** The middleware of `GET /search`. @param limit the limit, as the framework takes it on a route */
export function searchOf<Middleware>(
  { search = () => [] }: AppOptions,
  { cost }: Costed,
  limit: Middleware,
): Middleware[] {
  return search(limit as never, (units) => cost(units as never) as never) as Middleware[]
}

/** Records the decisions that handlers find. */
export function recorder() {
  let handled = 0
  let decision: RequestDecision | undefined
  return {
    record(found: RequestDecision | null | undefined) {
      handled++
      decision = found ?? undefined
    },
    recorded: { handled: () => handled, decision: () => decision },
  }
}

/** Takes requests for an upgrade as the others, and upgrades them. A connection ends when its client ends it. */
export function upgrading(server: Server): Server {
  return server.on('upgrade', (request, socket) => {
    server.emit('request', request, new ServerResponse(request))
    socket.write('HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: echo\r\n\r\n')
    socket.on('error', () => undefined)
    socket.on('end', () => socket.destroy()).resume()
  })
}

export function connectionsOf(server: Server): () => Promise<number> {
  return () => new Promise((resolve) => server.getConnections((_error, count) => resolve(count)))
}

export async function serve(server: Server): Promise<Pick<App, 'url' | 'connections' | 'close'>> {
  await new Promise<void>((resolve) => upgrading(server).listen(0, '127.0.0.1', resolve))
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    connections: connectionsOf(server),
    close: () =>
      new Promise((resolve) => {
        server.close(() => resolve())
        server.closeAllConnections()
      }),
  }
}
