import type { Duration, MaybePromise } from '../common/index.ts'
import type { BanOptions, Key, Units } from '../limiter/index.ts'
import type { Decision } from '../policy/index.ts'

/**
 * The decision that an application reads from a request, for example as `request.rateLimit`, with methods for the key of the request.
 * Every request that passes a limiter has a decision. The limiter exempts a request by `skip`, by `allow`, or if a key extractor returns
 * false. For an exempt request, `policy` is `'exempt'`, `key` is undefined, and the methods do nothing.
 * `const { settle } = request.rateLimit` works. A copy by spread, `{ ...request.rateLimit }`, has no methods.
 */
export interface RequestDecision extends Omit<Decision, 'ban'> {
  /**
   * Who was limited: the key, or a record with a key for each scope (a name such as `user`) if the policies have several scopes. All
   * methods of a limiter take this key. Undefined if the limiter exempts the request.
   */
  readonly key: Key | undefined
  /**
   * Corrects the cost of this request to the actual cost, which may be 0. The actual cost is a number, or a record with a number for each
   * policy name. A policy that is not in the record keeps the cost that was charged before. Only the first call has an effect. Units of a
   * `concurrency` policy stay taken until the response has ended. If the store fails, units are given
   * back when the store works again, and no units are charged. Example: `await request.rateLimit.settle({ tokens: 742 })`.
   *
   * Rejects with HeadgateError `HEADGATE_COST` if a number in `actual` is not a whole number of at least 0, and with `HEADGATE_OPTION`
   * unless the middleware has the option `settle: true`.
   */
  settle(actual: Units): Promise<void>
  /**
   * Deletes the states of the request's key, as `RateLimiter.reset` does: the key has its full quota again. With several scopes, resets the
   * key of each scope. Example, after a login: `await request.rateLimit.reset()`. Rejects for the same reasons as `RateLimiter.reset`.
   */
  reset(): Promise<void>
  /**
   * Bans the request's key, as `RateLimiter.ban` does: later requests are refused until the ban ends. With several scopes, bans the key of
   * each scope. Example: `await request.rateLimit.ban('1h', { reason: 'scans for passwords' })`. Rejects for the same reasons as
   * `RateLimiter.ban`.
   */
  ban(duration: Duration, options?: BanOptions): Promise<void>
}

/**
 * The functions that the guard (the middleware's code for all frameworks) needs from a framework, written for the framework's own types
 * `Request` and `Response`. With Koa, the context is both the request and the response. An adapter consists of these functions and of the
 * code through which the framework calls the guard.
 */
export interface Framework<Request, Response> {
  /**
   * The client's address, as the framework's proxy setting determines it. A client must not be able to choose this text. Undefined
   * if the address is unknown.
   */
  address(request: Request): string | undefined
  /**
   * The address at the other end of the socket. Behind a proxy, this is the address of the nearest proxy. Undefined if the client
   * has disconnected. Null if the runtime does not show the address, as in a worker: `byIp({ platform })` then always trusts the
   * platform's field.
   */
  peer(request: Request): string | undefined | null
  /**
   * True if the request came over a connection that never has addresses, such as a unix socket (for sockets of Node, call `isUnixSocket`).
   * False for other connections: a request without an address is then refused, because its client has disconnected. Undefined if the
   * framework's adapter cannot know: a request without an address is then refused, and a warning is given once. Default: false for every
   * request.
   */
  unaddressed?(request: Request): boolean | undefined
  /**
   * True if the server has dropped fields of the request. The fields of a proxy may then be missing, so behind a trusted proxy the request
   * has no address. For requests of node:http, call `isIncomplete`. Without this function, no request is incomplete.
   */
  incomplete?(request: Request): boolean
  /**
   * What the application has to write so that the framework's adapter finds addresses, such as `'connInfo: getConnInfo'`. `rateLimit` then
   * throws for a limit by address. Undefined if the adapter finds addresses.
   */
  readonly addressless?: string | undefined
  /** True if the framework's proxy setting says that a proxy is trusted. */
  trustsProxy(request: Request): boolean
  /** The value of a parameter of the route that matched, such as `id` in `/users/:id`. Undefined if the route has no such parameter. */
  param(request: Request, name: string): MaybePromise<string | undefined>
  /** The value of a request header. @param name in lower case */
  header(request: Request, name: string): string | undefined
  /**
   * The value of a cookie. Needed if the framework and the package `cookie` read cookies differently. Default: the package reads
   * the cookie.
   */
  cookie?(request: Request, name: string): string | undefined
  /**
   * The methods and the pattern of the route that matched, in the format of `routeName`. The result must not contain text that the
   * client chose. So the result contains the method of the request only if the route is declared for this method.
   */
  route(request: Request): string
  /** Stores the decision where the application reads it, such as on the request. */
  attach(request: Request, response: Response, decision: RequestDecision): void
  /** Keeps the decision for the adapter, also if the option `attach` is set. */
  keep?(request: Request, decision: RequestDecision): void
  /**
   * The last decision that `attach` has stored on the request. A middleware that finds its own decision there runs twice for the request.
   * One that exempts a request leaves an earlier decision there.
   */
  attached?(request: Request): RequestDecision | undefined | null
  /** The object that identifies the request for all limiters, even if each limiter gets another `Request` object. Default: the request. */
  identity?(request: Request): object
  /** True if the status and the headers of the response have been sent. */
  headersSent(response: Response): boolean
  /** True if the application has ended the response. */
  complete(response: Response): boolean
  /**
   * Calls `done` once, after the response has ended. If the response has already ended, calls `done` immediately. The arguments
   * of `done` are the status, and true if the client disconnected before the end. For responses of node:http, use `whenEnded`. If a context
   * is both the request and the response, a third argument is the context that a function in `count` gets. Default: the same context.
   * @param answered call this function with the status as soon as it is final, if the server may not see how the response ends. Optional
   */
  ended(
    response: Response,
    done: (status: number, aborted: boolean, context?: Request & Response) => void,
    answered?: (status: number) => void,
  ): void
  /**
   * True if the client has disconnected before the response was sent completely. No handler then runs for a request whose units are in
   * flight or to be settled. Default: false. For responses of node:http, use `hasLeft`.
   */
  left?(response: Response): boolean
  /**
   * Called when units of the request are held until its response has ended, for the option `count` or for units of a `concurrency` policy.
   * Returns a function whose result is a number. This number must grow as long as the adapter can see that the server writes the response,
   * or that the client reads it. The leases of `concurrency` units are renewed only if the number has grown. Leave `held` out if the
   * framework's adapter notices the end of every connection: leases are then renewed until `ended` calls `done`. Throws if the adapter
   * cannot see the end of the request. The middleware then refunds the units.
   * @param inFlight true for units of a `concurrency` policy
   */
  held?(response: Response, inFlight: boolean): (() => number) | undefined
  setHeader(response: Response, name: string, value: string): void
  /**
   * The value of a field that is already set on the response. With this function, the middleware joins the fields of several limiters on
   * one response. Without this function, the last limiter overwrites the fields of the others.
   */
  responseHeader?(response: Response, name: string): string | undefined
  setStatus(response: Response, status: number): void
  /**
   * The status that the application has set before the limit. Undefined if the application has set none. Without this function, a request
   * that the option `refuse` admits after all gets the first status of the framework.
   */
  ownStatus?(response: Response): number | undefined
  /**
   * Resets the status and removes `Retry-After` and `Cache-Control`, if the option `refuse` has admitted a refused request. Default: the
   * middleware sets the status to 200.
   */
  clearRefusal?(response: Response): void
  /** Sets a field that the application has set before the refusal, after `clearRefusal`. Default: `setHeader`. */
  restoreHeader?(response: Response, name: string, value: string): void
  /**
   * Ends the response with a body.
   * @param type the content type of the body
   * @param members the object whose JSON text is `body`, for frameworks that serialise JSON themselves; undefined for plain text
   */
  send(response: Response, type: string, body: string, members?: object): void
  /** True if the adapter sets the option `count`, and the application cannot. Default false. */
  readonly countsItself?: boolean
  /** True if the body of a refusal is always JSON, whatever the client accepts. Default false. */
  readonly jsonOnly?: boolean
  /**
   * Sends the response that the option `refuse` returned, in frameworks whose handlers return a response. Returns false if `refuse`
   * returned no response. The middleware then sends the built-in refusal.
   */
  returned?(response: Response, value: unknown): unknown
}

/**
 * The name of a route, for `Framework.route`. Examples: `GET /users/:id`, or `* /users/:id` for a route with every method. HEAD and
 * GET have the same name, so they share a quota. A route with several methods has one name, with GET if GET is among them, or else
 * with all its methods. In the name, an unknown pattern is `*`, and the pattern `*` is `/*`, which matches the same paths.
 * @param methods the methods that the route is declared for; undefined for every method, or if the methods are not known
 */
export function routeName(methods: string | readonly string[] | undefined, pattern: string | undefined): string {
  const method = methods === undefined || typeof methods === 'string' ? methods : methodOf(methods)
  return `${method === 'HEAD' ? 'GET' : method || '*'} ${pattern === '*' ? '/*' : pattern || '*'}`
}

const ordinary = ['GET', 'HEAD', 'POST', 'PUT', 'PATCH', 'DELETE']

/** A text for the methods of a route: GET if the route has GET, or else all methods. Undefined for a route with every method. */
function methodOf(methods: readonly string[]): string | undefined {
  if (ordinary.every((method) => methods.includes(method))) return undefined
  return methods.includes('GET') ? 'GET' : methods.join()
}
