import type { AnyCost, Key, RateLimiter } from '../../limiter/index.ts'
import type { Framework } from '../framework.ts'
import type { Sink } from '../headers/index.ts'
import type { HeldRequest } from './held-request.ts'

/** The decision of a limit about a request: the key, the reserved units, and the response fields. */
export interface CountedRequest<Request, Response> {
  readonly key: Key
  /** The limiter of the request's plan. */
  readonly limiter: RateLimiter
  readonly held: HeldRequest<Request, Response>
  /** Sets the response fields of this limit again, if the cost of a route replaces the decision. */
  readonly fields: RewrittenFields<Response>
  /** True if the decision was made with the cost of the route. */
  readonly byRoute: boolean
}

/**
 * Remembers the decision of a limit about each request. The cost of a route can then replace the units that the limit has already taken.
 * Nothing is remembered until `start` is called, because most limits have no routes with a cost of their own.
 */
export class CountedRequests<Request, Response> {
  readonly #framework: Framework<Request, Response>
  #requests: WeakMap<object, CountedRequest<Request, Response> | 'exempt'> | undefined

  constructor(framework: Framework<Request, Response>) {
    this.#framework = framework
  }

  start(): void {
    this.#requests ??= new WeakMap()
  }

  get started(): boolean {
    return this.#requests !== undefined
  }

  of(request: Request): CountedRequest<Request, Response> | 'exempt' | undefined {
    return this.#requests?.get(this.#identity(request))
  }

  /**
   * Remembers the decision of a limit about a request. Returns the functions that set the fields of the response.
   * @param before the earlier decision that this decision replaces
   */
  add(
    held: HeldRequest<Request, Response>,
    limiter: RateLimiter,
    byRoute: boolean,
    before: CountedRequest<Request, Response> | undefined,
  ): Sink<Response> {
    if (this.#requests === undefined) return this.#framework
    const fields = before?.fields ?? new RewrittenFields(this.#framework)
    this.#requests.set(this.#identity(held.request), { key: held.key, limiter, held, fields, byRoute })
    return fields
  }

  /**
   * Keeps the decision about a request, if the route has the same cost. So a request that has waited for its turn (`delay`) keeps the turn.
   * Returns false if the costs differ, or if the request was refused.
   */
  keep(before: CountedRequest<Request, Response>, cost: AnyCost): boolean {
    const { held } = before
    if (held.refused || JSON.stringify(held.cost) !== JSON.stringify(cost)) return false
    this.#requests?.set(this.#identity(held.request), { ...before, byRoute: true })
    return true
  }

  addExempt(request: Request): void {
    this.#requests?.set(this.#identity(request), 'exempt')
  }

  #identity(request: Request): object {
    return this.#framework.identity === undefined ? (request as object) : this.#framework.identity(request)
  }
}

/**
 * Sets the fields of a limit on a response. If the fields are set a second time, the items that this limit has added to a List are
 * replaced. The items of other limits stay.
 */
class RewrittenFields<Response> implements Sink<Response> {
  readonly #framework: Sink<Response>
  readonly #own = new Map<string, string>()

  constructor(framework: Sink<Response>) {
    this.#framework = framework
  }

  get written(): boolean {
    return this.#own.size > 0
  }

  /** The value of a field without the items of this limit. */
  responseHeader(response: Response, name: string): string | undefined {
    const value = this.#framework.responseHeader?.(response, name)
    const own = this.#own.get(name)
    if (value === undefined || own === undefined) return value
    const others = `, ${value}, `.replace(`, ${own}, `, ', ').slice(2, -2)
    return others === '' ? undefined : others
  }

  setHeader(response: Response, name: string, value: string): void {
    const others = this.responseHeader(response, name)
    const joins = others !== undefined && value.startsWith(`${others}, `)
    this.#own.set(name, joins ? value.slice(others.length + 2) : value)
    this.#framework.setHeader(response, name, value)
  }
}
