/*
 * How much the server has left of each quota, by what it said and by what was sent to it.
 *
 * The number in a response is as old as the response. The server may have counted some of the requests that were under way
 * with it, or none:
 *
 *     A   |--------------|            A, B and C are in flight at some time of B's flight. So if B's response says that 7
 *     B        |----------------|     are left, at least 7 less the cost of A and C are left.
 *     C                  |----------|
 *
 * What was left before, less what was sent since, is such a bound too, if nobody else uses the quota. So the larger one of
 * both is taken. If the server says less than that, others do use the quota, and only the first bound is true.
 */
import type { Units } from '../../limiter/index.ts'
import type { Quota } from './quota.ts'

/** The cost of a request: one number of units for every policy, or a record by the names of the policies. */
export type RequestCost = Units

/** A quota of the server that is followed. */
export interface Followed {
  /** The name or the unit of the quota. */
  readonly quota: string
  /** The name of the policy that follows it. Undefined for requests that no policy follows. */
  readonly policy: string | undefined
}

/** The units of one quota that a request takes. Without a policy each request is one. */
function unitsOf(cost: RequestCost, { policy }: Followed): number {
  if (policy === undefined) return 1
  return typeof cost === 'number' ? cost : (cost[policy] ?? 0)
}

/** Finds the quotas that are followed. */
export function follows({ quota }: Followed): (found: Quota) => boolean {
  return ({ name, unit }) => quota === name || quota === unit
}

/** What is left of one quota, until the time when the server gives units back. */
interface Known {
  readonly counter: Counter
  left: number
  readonly until: number
}

/** The units of a followed quota that were sent, and those of them whose response has come. */
interface Counter {
  readonly followed: Followed
  sent: number
  answered: number
}

/** A request that is under way. */
export interface Flight {
  readonly cost: RequestCost
  /** What was answered before, for each counter. */
  readonly answered: readonly number[]
}

/** The most limits that are remembered. A server can send thousands of names. */
const mostKnown = 64

export class ServerQuotas {
  readonly #counters: readonly Counter[]
  readonly #known = new Map<string, Known>()
  readonly #longest: number
  readonly #now: () => number
  #inFlight = 0

  /**
   * @param longest the longest time for which a number of the server counts, in milliseconds
   * @param now milliseconds since the epoch
   */
  constructor(followed: readonly Followed[], longest: number, now: () => number) {
    this.#counters = followed.map((each) => ({ followed: each, sent: 0, answered: 0 }))
    this.#longest = longest
    this.#now = now
  }

  /** True if this knows nothing that a later request needs. */
  get idle(): boolean {
    this.#forget()
    return this.#inFlight === 0 && this.#known.size === 0
  }

  /** The milliseconds until the server has this much again. 0 if it has, as far as is known. At most the longest time. */
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
   * @param unnamed how long a number counts if the server names no time
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

  /** Forgets what is over, and returns the time. A time further away than the longest one is from before the clock went back. */
  #forget(): number {
    const now = this.#now()
    for (const [id, { until }] of this.#known) {
      if (until <= now || until > now + this.#longest) this.#known.delete(id)
    }
    return now
  }
}

/** See the top of this file. @param before what is left by the responses before; undefined without any */
function bound(said: number, least: number, before = Number.NEGATIVE_INFINITY): number {
  return said < before ? least : Math.max(least, before)
}
