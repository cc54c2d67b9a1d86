/*
 * Estimates how many units of each quota the server has left, from the server's responses and from the requests that were sent.
 *
 * The units left that a response reports are as old as the response. Of the requests that were in flight at the same time, the
 * server may have counted some, all or none before it sent the response:
 *
 *     A   |--------------|            A, B and C are in flight at some time of B's flight. So if B's response says that 7
 *     B        |----------------|     are left, at least 7 less the cost of A and C are left.
 *     C                  |----------|
 *
 * The picture gives the first lower bound of the units left. If no other client uses the quota, there is a second lower bound: the bound
 * from earlier responses, less the units of the requests sent since. The larger bound is used. If the server reports less than the second
 * bound, another client uses the quota too, and only the first bound holds.
 */
import type { Clock } from '../../common/index.ts'
import type { Units } from '../../limiter/index.ts'
import type { Quota } from './quota.ts'

/** The cost of a request: one number of units for every policy, or a record by the names of the policies. */
export type RequestCost = Units

/** A quota of the server that a pacer follows: the pacer reads the numbers of the quota from the responses. */
export interface Followed {
  /** The name of the quota, such as `'burst'`, or its unit, such as `'tokens'`. */
  readonly quota: string
  /**
   * The name of the pacer's policy whose costs are the units that requests take from the quota. Undefined for `'requests'` if
   * there is no such policy.
   */
  readonly policy: string | undefined
}

/**
 * The units that a request takes from one quota: its cost under the quota's policy. If the quota has no policy, each request
 * takes 1 unit.
 */
function unitsOf(cost: RequestCost, { policy }: Followed): number {
  if (policy === undefined) return 1
  return typeof cost === 'number' ? cost : (cost[policy] ?? 0)
}

/** Returns a function that recognises the followed quota among the quotas of a response, by its name or its unit. */
export function follows({ quota }: Followed): (found: Quota) => boolean {
  return ({ name, unit }) => quota === name || quota === unit
}

/** How many units the server has left of one quota. The lower bound holds until the server gives units back. */
interface Known {
  readonly counter: Counter
  left: number
  /** In microseconds, by the clock of the pacer. */
  readonly until: number
}

/** A followed quota, with the units of all requests that were sent, and the units of the requests that have ended. */
interface Counter {
  readonly followed: Followed
  sent: number
  answered: number
}

/** A request that was sent and has no response yet. */
export interface Flight {
  readonly cost: RequestCost
  /** For each counter (of one followed quota), the units of the requests that had ended when this request was sent. */
  readonly answered: readonly number[]
}

/** The largest number of limits that are remembered for a key, in case a server sends thousands of names. */
const mostKnown = 64

export class ServerQuotas {
  readonly #counters: readonly Counter[]
  readonly #known = new Map<string, Known>()
  readonly #longest: number
  readonly #clock: Clock
  #inFlight = 0

  /**
   * @param longest the longest time, in milliseconds, for which a number that the server sent is remembered
   * @param clock the clock of the pacer, because the pacer waits for the end of these times
   */
  constructor(followed: readonly Followed[], longest: number, clock: Clock) {
    this.#counters = followed.map((each) => ({ followed: each, sent: 0, answered: 0 }))
    this.#longest = longest * 1000
    this.#clock = clock
  }

  /** True if no request is in flight, and no number of the server is remembered for later requests. */
  get idle(): boolean {
    this.#forget()
    return this.#inFlight === 0 && this.#known.size === 0
  }

  /**
   * How many milliseconds a request has to wait until the server has enough units for the request. 0 unless a quota is known to have too
   * few units.
   */
  wait(cost: RequestCost): number {
    const now = this.#forget()
    let until = now
    for (const known of this.#known.values()) {
      if (known.left < unitsOf(cost, known.counter.followed)) until = Math.max(until, known.until)
    }
    return Math.ceil((until - now) / 1000)
  }

  send(cost: RequestCost): Flight {
    this.#inFlight++
    for (const counter of this.#counters) counter.sent += unitsOf(cost, counter.followed)
    for (const known of this.#known.values()) known.left -= unitsOf(cost, known.counter.followed)
    return { cost, answered: this.#counters.map(({ answered }) => answered) }
  }

  /** Marks a request as no longer in flight, with a response or without one. */
  end({ cost }: Flight): void {
    this.#inFlight--
    for (const counter of this.#counters) counter.answered += unitsOf(cost, counter.followed)
  }

  /**
   * Notes the quotas that a response reports.
   * @param unnamed for how many milliseconds a number is remembered if the response names no reset time and no window
   */
  note(flight: Flight, quotas: readonly Quota[], unnamed: number): void {
    const now = this.#clock()
    for (const [n, counter] of this.#counters.entries()) {
      const others = counter.sent - unitsOf(flight.cost, counter.followed) - (flight.answered[n] as number)
      for (const { name, unit, window, remaining, resetAfter } of quotas.filter(follows(counter.followed))) {
        if (remaining === undefined) continue
        const id = JSON.stringify([n, name, unit, window])
        const left = bound(remaining, remaining - others, this.#known.get(id)?.left)
        const until = now + Math.min(this.#longest, (resetAfter ?? window ?? unnamed) * 1000)
        this.#known.delete(id)
        this.#known.set(id, { counter, left, until })
      }
    }
    for (const id of this.#known.keys()) if (this.#known.size > mostKnown) this.#known.delete(id)
  }

  /**
   * Removes numbers that have expired. Also removes numbers noted at a time after now, because the clock was set back. Returns the present
   * time in microseconds.
   */
  #forget(): number {
    const now = this.#clock()
    for (const [id, { until }] of this.#known) {
      if (until <= now || until > now + this.#longest) this.#known.delete(id)
    }
    return now
  }
}

/**
 * A lower bound for the units left: see the top of this file.
 * @param said the units left in the response
 * @param least `said` less the cost of other requests in flight
 * @param before the bound from earlier responses
 */
function bound(said: number, least: number, before = Number.NEGATIVE_INFINITY): number {
  return said < before ? least : Math.max(least, before)
}
