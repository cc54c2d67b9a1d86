import type { Units } from '../limiter/index.ts'
import type { Decision } from '../policy/index.ts'

/** The decision that an application reads from its request. */
export interface RequestDecision extends Decision {
  /**
   * Corrects the cost of this request to the actual cost, which may be 0: a number, or a record by the names of policies
   * that leaves the others as they are. Only the first call counts. Units in flight stay held until the response has ended.
   * Present if the middleware has `settle: true`. Rejects only with `HEADGATE_COST`, unless `actual` holds whole numbers of
   * at least 0. If the store fails, the cost stays as it was. Example: `settle({ tokens: 742 })`.
   */
  readonly settle?: (actual: Units) => Promise<void>
}

/**
 * The functions that the guard needs from a framework, over the framework's own request and response (with Koa, both are
 * the context). An adapter is this table and the wiring. All rules are the guard's.
 */
export interface Framework<Request, Response> {
  /** The client's address, as far as the framework's proxy setting confirms it. Never text that the client wrote. */
  address(request: Request): string | undefined
  /**
   * The address at the other end of the socket: that of the nearest proxy, if there is one. Undefined if the client has left.
   * Null where the runtime shows no peer, as in a worker: `byIp({ platform })` then believes the platform's field.
   */
  peer(request: Request): string | undefined | null
  /**
   * True if the request came over a connection that has no addresses by design, such as a unix socket. Any other request
   * without an address is refused: its client has left. `isUnixSocket` tells it for sockets of Node. Undefined if the
   * adapter cannot tell: the request is refused, and a warning says so once. Default: never.
   */
  unaddressed?(request: Request): boolean | undefined
  /**
   * True if no request has an address, because the adapter was given no way to find it. A limit by address is then an
   * error when it is made. Default false.
   */
  readonly addressless?: boolean
  /** True if the framework is set to trust a proxy. */
  trustsProxy(request: Request): boolean
  /** A parameter of the route that matched. */
  param(request: Request, name: string): string | undefined
  /** A request header, by its lower-case name. */
  header(request: Request, name: string): string | undefined
  /** A cookie, for frameworks that read cookies in another way than the package `cookie`. */
  cookie?(request: Request, name: string): string | undefined
  /** Method and pattern of the route that matched, as `routeName` writes them. Never text that the client chose. */
  route(request: Request): string
  /** Puts the decision where the application finds it. */
  attach(request: Request, response: Response, decision: RequestDecision): void
  /** The decision that `attach` put there last. Finds a middleware that a request passes twice. */
  attached?(request: Request): RequestDecision | undefined | null
  /** True once the head of the response is sent. */
  headersSent(response: Response): boolean
  /** True once the application has ended the response. */
  complete(response: Response): boolean
  /**
   * Calls `done` once when the response has ended, at once if it has already: with its status, and true if the client
   * left first. `whenEnded` does this for responses of node:http.
   */
  ended(response: Response, done: (status: number, aborted: boolean) => void): void
  /**
   * Called when units of the request are held until its response has ended: for `count`, or in flight. Returns a function
   * whose number grows as long as somebody is known to work on the response, or to read it. The leases of units in flight
   * are renewed only while it grows. Without it, they are renewed until `ended` calls `done`: for a response whose
   * connection tells its end. Throws if nothing will tell how the request ends: it then gives its units back.
   */
  held?(response: Response): (() => number) | undefined
  setHeader(response: Response, name: string, value: string): void
  /**
   * A field that is set on the response already. With it, the fields of several limiters on one response are joined.
   * Without it, the last limiter overwrites them.
   */
  responseHeader?(response: Response, name: string): string | undefined
  setStatus(response: Response, status: number): void
  /**
   * Takes back the status, `Retry-After` and `Cache-Control` of a refusal whose request goes on after all. Without it, only
   * the status is set, to 200.
   */
  clearRefusal?(response: Response): void
  /**
   * Ends the response with a body of that content type.
   * @param members what the body was made from, unless it is plain text: for frameworks that serialise it themselves
   */
  send(response: Response, type: string, body: string, members?: object): void
  /** True if the body of a refusal is JSON, whatever the client accepts. Default false. */
  readonly jsonOnly?: boolean
  /** Sends what `refuse` returned. Only for frameworks whose handlers return the response. */
  returned?(response: Response, value: unknown): void
}

/**
 * The name of a route for `Framework.route`: `GET /users/:id`. HEAD counts as GET and shares its quota. Without a pattern it is
 * `GET *`. The pattern `*` of an application becomes `/*`, which matches the same paths, so that the two differ.
 */
export function routeName(method: string | undefined, pattern: string | undefined): string {
  return `${method === 'HEAD' ? 'GET' : (method ?? 'GET')} ${pattern === '*' ? '/*' : pattern || '*'}`
}
