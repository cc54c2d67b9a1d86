/*
 * Estimates how much the server has left of each quota, from its responses and from the requests that were sent.
 *
 * The number in a response is as old as the response. Of the requests that were in flight at the same time, the server
 * may have counted some, all or none:
 *
 *     A   |--------------|            A, B and C are in flight at some time of B's flight. So if B's response says that 7
 *     B        |----------------|     are left, at least 7 less the cost of A and C are left.
 *     C                  |----------|
 *
 * There is a second bound, if nobody else uses the quota: the units that were left before, less the units sent since.
 * The larger bound is taken. If the server says less than the second bound, others do use the quota, and only the first
 * bound is true.
 */
import type { Units } from '../../limiter/index.ts'
import type { Quota } from './quota.ts'

/** The cost of a request: one number of units for every policy, or a record by the names of the policies. */
export type RequestCost = Units

/** A quota of the server that is followed. */
export interface Followed {
  /** The name or the unit of the quota. */
  readonly quota: string
  /** The name of the policy that follows the quota. Undefined for `'requests'` if no policy follows it. */
  readonly policy: string | undefined
}

/** The units of one quota that a request takes. A quota that no policy follows counts each request as 1. */
function unitsOf(cost: RequestCost, { policy }: Followed): number {
  if (policy === undefined) return 1
  return typeof cost === 'number' ? cost : (cost[policy] ?? 0)
}

/** A test for quotas of a response: true for the followed quota, by name or unit. */
export function follows({ quota }: Followed): (found: Quota) => boolean {
  return ({ name, unit }) => quota === name || quota === unit
}

/** What is left of one quota, until the time when the server gives units back. */
interface Known {
  readonly counter: Counter
  left: number
  readonly until: number
}

/** The units of a followed quota that requests have taken, and how many of these units have got a response. */
interface Counter {
  readonly followed: Followed
  sent: number
  answered: number
}

/** A request that is under way. */
export interface Flight {
  readonly cost: RequestCost
  /** For each counter, the units that had got a response when this request was sent. */
  readonly answered: readonly number[]
}

/** The most limits that are remembered. The bound is for servers that send thousands of names. */
const mostKnown = 64

export class ServerQuotas {
  readonly #counters: readonly Counter[]
  readonly #known = new Map<string, Known>()
  readonly #longest: number
  readonly #now: () => number
  #inFlight = 0

  /**
   * @param longest how long a number that the server sent is kept at most, in milliseconds
   * @param now milliseconds since the epoch
   */
  constructor(followed: readonly Followed[], longest: number, now: () => number) {
    this.#counters = followed.map((each) => ({ followed: each, sent: 0, answered: 0 }))
    this.#longest = longest
    this.#now = now
  }

  /** True if no number is kept that a later request needs. */
  get idle(): boolean {
    this.#forget()
    return this.#inFlight === 0 && this.#known.size === 0
  }

  /** How many milliseconds to wait until the server has this cost left. 0 if it has, as far as is known. */
  wait(cost: RequestCost): number {
    const now = this.#forget()
    let until = now
    for (const known of this.#known.values()) {
      if (known.left < unitsOf(cost, known.counter.followed)) until = Math.max(until, known.until)
    }
    return Math.ceil(until - now)
  }

  send(cost: RequestCost): Flight {
    this.#inFlight++
    for (const counter of this.#counters) counter.sent += unitsOf(cost, counter.followed)
    for (const known of this.#known.values()) known.left -= unitsOf(cost, known.counter.followed)
    return { cost, answered: this.#counters.map(({ answered }) => answered) }
  }

  /** Ends a flight, with a response or without one. */
  end({ cost }: Flight): void {
    this.#inFlight--
    for (const counter of this.#counters) counter.answered += unitsOf(cost, counter.followed)
  }

  /**
   * Notes what a response says.
   * @param unnamed how long a number is kept if the server names no time
   */
  note(flight: Flight, quotas: readonly Quota[], unnamed: number): void {
    const now = this.#now()
    for (const [n, counter] of this.#counters.entries()) {
      const others = counter.sent - unitsOf(flight.cost, counter.followed) - (flight.answered[n] as number)
      for (const { name, unit, window, remaining, resetAfter } of quotas.filter(follows(counter.followed))) {
        if (remaining === undefined) continue
        const id = JSON.stringify([n, name, unit, window])
        const left = bound(remaining, remaining - others, this.#known.get(id)?.left)
        const until = now + Math.min(this.#longest, resetAfter ?? window ?? unnamed)
        this.#known.delete(id)
        this.#known.set(id, { counter, left, until })
      }
    }
    for (const id of this.#known.keys()) if (this.#known.size > mostKnown) this.#known.delete(id)
  }

  /** Forgets numbers whose time is over, and those set before the clock went back. Returns the time. */
  #forget(): number {
    const now = this.#now()
    for (const [id, { until }] of this.#known) {
      if (until <= now || until > now + this.#longest) this.#known.delete(id)
    }
    return now
  }
}

/** See the top of this file. @param before what is left by earlier responses; undefined without any */
function bound(said: number, least: number, before = Number.NEGATIVE_INFINITY): number {
  return said < before ? least : Math.max(least, before)
}
