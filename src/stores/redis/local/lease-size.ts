/*
 * How many units of a key a process holds ahead of its calls: a fixed number, or by demand, as many as it has used lately.
 */
import { LRUCache } from 'lru-cache'
import { anything, type Reader, readOptions, whole } from '../../../common/index.ts'

import { Demand } from '../shares/index.ts'
import { wordOr } from './word-or.ts'

/** How many units of a key one call takes ahead: so many, or by demand. `most` is how many are held ahead then, at most: 1000. */
export type LeasesOption = 'auto' | { units: number } | { units: 'auto'; most?: number }

/** How far back demand counts, and the shortest time that a lease by demand is for, in microseconds. */
const demandWindow = 100_000
/** A lease by demand lasts for so many round trips at least, so that the next one can be here before it is used up. */
const roundTrips = 3
/** A key with less demand takes nothing ahead: it would save few requests, and keep units from other processes. */
const leastDemand = 10
/** The most keys whose demand is known. Beyond them, the least recently used one is forgotten. */
const maxKeys = 10_000
const mostByDefault = 1000

const fixed = wordOr(['auto'], { units: whole() }, '{ units: 100 }')

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
  /** The key gives no lease until then: its calls would only wait for one. */
  pausedUntil: number
}

/** How many units keys may have ahead. The name of a key is the text that `nameOf` makes. Times are in microseconds. */
export class LeaseSize {
  readonly #units: number | 'auto'
  readonly #most: number
  readonly #keys = new LRUCache<string, KeyDemand>({ max: maxKeys })

  /** @param units of each request, or by demand @param most units of one key ahead */
  constructor(units: number | 'auto', most: number) {
    this.#units = units
    this.#most = most
  }

  /** True if the next lease is requested before this one is used up. */
  get prefetches(): boolean {
    return this.#units === 'auto'
  }

  /** How long a lease has to be valid: one that ends sooner is not taken. @param roundTrip to Redis and back */
  shortestLife(roundTrip: number): number {
    return this.#units === 'auto' ? Math.max(demandWindow, roundTrips * roundTrip) : roundTrip
  }

  /** The units to hold beyond those of a call of this cost that is about to be sent. */
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
