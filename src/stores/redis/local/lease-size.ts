/*
 * How many units of a key a process holds ahead of its calls: a fixed number, or by demand (the units used lately).
 */
import { LRUCache } from 'lru-cache'
import { anything, type Reader, readOptions, whole, wordOrOptions } from '../../../common/index.ts'
import { Demand } from './demand.ts'

/** How many units of a key one call takes ahead: a number, or by demand. `most`: the most held ahead by demand, default 1000. */
export type LeasesOption = 'auto' | { units: number } | { units: 'auto'; most?: number }

/** How far back demand counts, and the shortest life of a lease by demand, in microseconds. */
const demandWindow = 100_000
/** A lease by demand lasts for at least so many round trips, so that the next lease can arrive before this one is used up. */
const roundTrips = 3
/** A key with less demand takes nothing ahead: leases would save few requests, and withhold units from other processes. */
const leastDemand = 10
/** The most keys whose demand is known. Beyond this number, the least recently used key is forgotten. */
const maxKeys = 10_000
const mostByDefault = 1000

const fixed = wordOrOptions(['auto'], { units: whole() }, '{ units: 100 }')

/** @throws HeadgateError `HEADGATE_OPTION` */
export const leaseSizeOf: Reader<LeaseSize> = (leases, name) => {
  if ((leases as { units?: unknown } | null)?.units === 'auto') {
    const { most } = readOptions(name, leases as object, { units: anything, most: whole(mostByDefault) })
    return new LeaseSize('auto', most)
  }
  const read = fixed(leases, name)
  return read === 'auto' ? new LeaseSize('auto', mostByDefault) : new LeaseSize(read.units, Infinity)
}

/** The demand for a key that has leases by demand. */
interface KeyDemand {
  readonly demand: Demand
  /** The key gives no lease until this time. A call would only wait for one. */
  pausedUntil: number
}

/** How many units keys may have ahead. The name of a key is the text that `nameOf` makes. Times are in microseconds. */
export class LeaseSize {
  readonly #units: number | 'auto'
  readonly #most: number
  readonly #keys = new LRUCache<string, KeyDemand>({ max: maxKeys })

  /** @param units how many each request takes ahead @param most the most units of one key held ahead */
  constructor(units: number | 'auto', most: number) {
    this.#units = units
    this.#most = most
  }

  /** True if the next lease is requested before the current one is used up. */
  get prefetches(): boolean {
    return this.#units === 'auto'
  }

  /** The shortest useful life of a lease. @param roundTrip to Redis and back */
  shortestLife(roundTrip: number): number {
    return this.#units === 'auto' ? Math.max(demandWindow, roundTrips * roundTrip) : roundTrip
  }

  /** How many units to hold ahead, beside those of a call of this cost that is about to be sent. */
  ahead(name: string, cost: number, now: number, roundTrip: number): number {
    if (this.#units !== 'auto') return this.#units - cost
    const { demand, pausedUntil } = this.#of(name)
    const wanted = demand.at(now)
    if (wanted < leastDemand || now < pausedUntil) return 0
    return Math.min(this.#most, Math.floor(((wanted - cost) * this.shortestLife(roundTrip)) / demandWindow))
  }

  /** Notes that a call wants units. */
  wants(name: string, cost: number, now: number): void {
    if (this.prefetches) this.#of(name).demand.add(cost, now)
  }

  /** Notes that the key gives no lease now. */
  pause(name: string, until: number): void {
    if (this.prefetches) this.#of(name).pausedUntil = until
  }

  #of(name: string): KeyDemand {
    let known = this.#keys.get(name)
    if (known === undefined) {
      known = { demand: new Demand(demandWindow), pausedUntil: 0 }
      this.#keys.set(name, known)
    }
    return known
  }
}
