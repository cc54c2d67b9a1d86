import type { Decision } from '../decision.ts'

/** The decision as an application finds it. */
export interface RequestDecision extends Decision {
  /**
   * Corrects what this request costs to what it did, 0 included; the first call counts. Where the middleware was told
   * `settle: true`. Rejects on misuse only (`HEADGATE_COST`); a store that fails leaves the cost as it was.
   */
  readonly settle?: (actual: number) => Promise<void>
}

/**
 * What the guard has to know of a framework: a table of small functions over its own request and response (of Koa, both
 * are the context). An adapter is this table and the wiring; every meaning is the guard's.
 */
export interface Framework<Request, Response> {
  /** The client's address as far as the framework's proxy setting can vouch for it; never what the client itself wrote. */
  address(request: Request): string | undefined
  /** The address at the other end of the socket: the nearest proxy's, where there is one. */
  peer(request: Request): string | undefined
  /** Whether the framework was told of a proxy. */
  trustsProxy(request: Request): boolean
  /** A parameter of the route that matched. */
  param(request: Request, name: string): string | undefined
  /** A request header by its lower-case name. */
  header(request: Request, name: string): string | undefined
  /** Method and pattern of the route that matched, never text of the client's choosing where the framework knows better. */
  route(request: Request): string
  /** Where the application finds the decision. */
  attach(request: Request, response: Response, decision: RequestDecision): void
  headersSent(response: Response): boolean
  /** Whether the response is complete, as far as the application goes. */
  complete(response: Response): boolean
  /** Calls `done` once when the response has ended, at once if it has: with its status, and whether the client went away first. */
  ended(response: Response, done: (status: number, aborted: boolean) => void): void
  setHeader(response: Response, name: string, value: string): void
  setStatus(response: Response, status: number): void
  /** Ends the response with a body of that type. */
  send(response: Response, type: string, body: string): void
  /** What `refuse` returned, where returning is the framework's way to answer. */
  returned?(response: Response, value: unknown): void
}

/** HEAD is served by the route of GET and shares its quota. */
export function routeName(method: string | undefined, pattern: string | undefined): string {
  return `${method === 'HEAD' ? 'GET' : (method ?? 'GET')} ${pattern || '*'}`
}
