/*
 * How many units of a key a process holds ahead of its calls: a fixed number, or by demand, as many as it has used lately.
 */
import { LRUCache } from 'lru-cache'
import { anything, whole } from '../../option-readers.ts'
import { type Reader, readOptions } from '../../options.ts'
import { Demand } from '../optimistic/demand.ts'
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

/** How many units one key may have ahead. */
interface KeyLeaseSize {
  /**
   * The units to hold beyond those of a call that is about to be sent.
   * @param cost of that call
   * @param roundTrip to Redis and back, in microseconds
   */
  ahead(cost: number, now: number, roundTrip: number): number
  /** Notes that a call wants units. */
  wants(cost: number, now: number): void
  /** Notes that the key gives no lease now: until then, its calls would only wait for one. */
  pause(until: number): void
}

/** How long a lease has to be valid, in microseconds: one that ends sooner is not taken. */
type ShortestLife = (roundTrip: number) => number

export interface LeaseSize {
  of(name: string): KeyLeaseSize
  /** True if the next lease is requested before this one is used up. */
  readonly prefetches: boolean
  readonly shortestLife: ShortestLife
}

const fixed = wordOr(['auto'], { units: whole() }, '{ units: 100 }')

/** @throws HeadgateError `HEADGATE_OPTION` */
export const leaseSizeOf: Reader<LeaseSize> = (leases, name) => {
  if ((leases as { units?: unknown } | null)?.units === 'auto') {
    const { most } = readOptions(name, leases as object, { units: anything, most: whole(mostByDefault) })
    return leaseSizeByDemand(most)
  }
  const read = fixed(leases, name)
  return read === 'auto' ? leaseSizeByDemand(mostByDefault) : fixedLeaseSize(read.units)
}

/** Each request takes so many units. */
function fixedLeaseSize(units: number): LeaseSize {
  const size = { ahead: (cost: number) => units - cost, wants: () => {}, pause: () => {} }
  return { of: () => size, prefetches: false, shortestLife: (roundTrip) => roundTrip }
}

/** @param most units of one key ahead */
function leaseSizeByDemand(most: number): LeaseSize {
  const sizes = new LRUCache<string, KeyDemand>({ max: maxKeys })
  return {
    of(name) {
      let size = sizes.get(name)
      if (size === undefined) {
        size = new KeyDemand(most)
        sizes.set(name, size)
      }
      return size
    },
    prefetches: true,
    shortestLife: spanOf,
  }
}

/** How long a lease by demand is for. */
function spanOf(roundTrip: number): number {
  return Math.max(demandWindow, roundTrips * roundTrip)
}

class KeyDemand implements KeyLeaseSize {
  readonly #most: number
  readonly #demand = new Demand(demandWindow)
  #pausedUntil = 0

  constructor(most: number) {
    this.#most = most
  }

  ahead(cost: number, now: number, roundTrip: number): number {
    const demand = this.#demand.at(now)
    if (demand < leastDemand || now < this.#pausedUntil) return 0
    return Math.min(this.#most, Math.floor(((demand - cost) * spanOf(roundTrip)) / demandWindow))
  }

  wants(cost: number, now: number): void {
    this.#demand.add(cost, now)
  }

  pause(until: number): void {
    this.#pausedUntil = until
  }
}
