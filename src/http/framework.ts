import type { Units } from '../limiter/index.ts'
import type { Decision } from '../policy/index.ts'

/** The decision that an application reads from its request. */
export interface RequestDecision extends Decision {
  /**
   * Corrects the cost of this request to the actual cost, which may be 0: a number, or a record by the names of
   * policies. Policies that the record does not name keep the estimated cost. Only the first call counts. Units in
   * flight stay held until the response has ended. Present if the middleware has `settle: true`. Rejects only with
   * `HEADGATE_COST`, if a number in `actual` is not a whole number of at least 0. If the store fails, the cost stays as
   * it was. Example: `settle({ tokens: 742 })`.
   */
  readonly settle?: (actual: Units) => Promise<void>
}

/**
 * The functions that the guard needs from a framework, over the framework's own request and response (with Koa, both
 * are the context). An adapter is this table and its wiring into the framework. The guard has all rules.
 */
export interface Framework<Request, Response> {
  /** The client's address, as far as the framework's proxy setting confirms it. Never text that the client wrote. */
  address(request: Request): string | undefined
  /**
   * The address at the other end of the socket. With a proxy, it is the address of the nearest proxy. Undefined if the
   * client has left. Null where the runtime shows no peer, as in a worker: `byIp({ platform })` then believes the
   * platform's field.
   */
  peer(request: Request): string | undefined | null
  /**
   * True if the request came over a connection that has no addresses by design, such as a unix socket. Any other
   * request without an address is refused: its client has left. `isUnixSocket` answers this for sockets of Node.
   * Undefined if the adapter cannot know: then the request is refused, with one warning. Default: never.
   */
  unaddressed?(request: Request): boolean | undefined
  /**
   * True if no request has an address, because the adapter was given no way to find it. Then `rateLimit` throws for a
   * limit by address. Default false.
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
  /**
   * The methods and the pattern of the route that matched, as `routeName` writes them. Never text that the client chose,
   * so not the method of the request, unless the route is declared for this method alone.
   */
  route(request: Request): string
  /** Puts the decision where the application finds it. */
  attach(request: Request, response: Response, decision: RequestDecision): void
  /** The decision that `attach` put on the request last. The guard uses it to find middleware that runs twice. */
  attached?(request: Request): RequestDecision | undefined | null
  /** True once the head of the response is sent. */
  headersSent(response: Response): boolean
  /** True once the application has ended the response. */
  complete(response: Response): boolean
  /**
   * Calls `done` once when the response has ended, or at once if the response has ended already. `done` gets the
   * status, and true if the client left before the end. `whenEnded` does this for responses of node:http.
   */
  ended(response: Response, done: (status: number, aborted: boolean) => void): void
  /**
   * Called when units of the request are held until its response has ended: for `count`, or in flight. Returns a
   * function that returns a number. The number grows while somebody is known to write or to read the response. The
   * leases of units in flight are renewed only while the number grows. Without `held`, they are renewed until `ended`
   * calls `done`: for a response whose connection reports its end. Throws if the adapter will never see how the request
   * ends. Then the guard gives the units back.
   */
  held?(response: Response): (() => number) | undefined
  setHeader(response: Response, name: string, value: string): void
  /**
   * A field that is set on the response already. If an adapter has this function, the fields of several limiters on one
   * response are joined. Else the last limiter overwrites the fields of the others.
   */
  responseHeader?(response: Response, name: string): string | undefined
  setStatus(response: Response, status: number): void
  /**
   * Takes back the status, `Retry-After` and `Cache-Control` of a refusal whose request goes on after all. Without this
   * function, the guard only sets the status to 200.
   */
  clearRefusal?(response: Response): void
  /**
   * Ends the response with a body of that content type.
   * @param members the object that the body was made from, for frameworks that serialise JSON themselves; undefined for
   *   plain text
   */
  send(response: Response, type: string, body: string, members?: object): void
  /** True if the body of a refusal is JSON, whatever the client accepts. Default false. */
  readonly jsonOnly?: boolean
  /**
   * Sends what `refuse` returned. Only for frameworks whose handlers return the response. Returns false if there is nothing
   * to send and nothing was sent: then the guard sends its own refusal.
   */
  returned?(response: Response, value: unknown): unknown
}

/**
 * The name of a route for `Framework.route`: `GET /users/:id`, and `* /users/:id` for a route that takes every method. HEAD
 * counts as GET and shares its quota. A route for several methods has one name, with GET if it is one of them. Without
 * a pattern the name is `* *`. If an application declares the pattern `*`, the name has `/*`, which matches the same
 * paths: `*` alone means no pattern.
 * @param methods the methods that the route is declared for; undefined for every method, and if nobody says
 */
export function routeName(methods: string | readonly string[] | undefined, pattern: string | undefined): string {
  const method = methods === undefined || typeof methods === 'string' ? methods : methodOf(methods)
  return `${method === 'HEAD' ? 'GET' : method || '*'} ${pattern === '*' ? '/*' : pattern || '*'}`
}

const ordinary = ['GET', 'HEAD', 'POST', 'PUT', 'PATCH', 'DELETE']

/** One text for the methods of a route. Undefined for every method. */
function methodOf(methods: readonly string[]): string | undefined {
  if (ordinary.every((method) => methods.includes(method))) return undefined
  return methods.includes('GET') ? 'GET' : methods.join()
}
