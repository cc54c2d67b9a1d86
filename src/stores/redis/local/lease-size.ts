/*
 * How many units of a key a process takes before its calls need them: a fixed number, or a number that follows from demand (the
 * units that calls asked for in the last 100 ms).
 */
import { LRUCache } from 'lru-cache'
import { anything, getOrInsert, type Reader, readOptions, whole, wordOrOptions } from '../../../common/index.ts'
import { Demand } from './demand.ts'

/**
 * How many units to take in advance (a lease): a number, or `'auto'` for a number that follows from demand, up to `most` (default 1000).
 */
export type LeasesOption = 'auto' | { units: number } | { units: 'auto'; most?: number }

/**
 * The time over which demand is measured, in microseconds: demand is how many units calls asked for in this time. A lease (units taken in
 * advance) that follows from demand is valid for at least this time.
 */
const demandWindow = 100_000
/** A lease (units taken in advance) that follows demand must last this many round trips or more, so that the next lease arrives in time. */
const roundTrips = 3
/** The least demand with which units are taken in advance. With less demand, few requests would be saved. */
const leastDemand = 10
/** The most keys whose demand is stored. Beyond this number, the least recently used key is forgotten. */
const maxKeys = 10_000
const mostByDefault = 1000

const fixed = wordOrOptions(['auto'], { units: whole() }, '{ units: 100 }')

/** Reads the option `leases`. @throws HeadgateError `HEADGATE_OPTION` if the option is invalid */
export const leaseSizeOf: Reader<LeaseSize> = (leases, name) => {
  if ((leases as { units?: unknown } | null)?.units === 'auto') {
    const { most } = readOptions(name, leases as object, { units: anything, most: whole(mostByDefault) })
    return new LeaseSize('auto', most)
  }
  const read = fixed(leases, name)
  return read === 'auto' ? new LeaseSize('auto', mostByDefault) : new LeaseSize(read.units, Infinity)
}

interface KeyDemand {
  readonly demand: Demand
  /** Until this time, calls take no units in advance (no lease) for the key, because its policies would grant no lease. */
  pausedUntil: number
}

/** Decides how many units are taken in advance (a lease). `name` is the keys of a call, joined to one text. Times are in microseconds. */
export class LeaseSize {
  readonly #units: number | 'auto'
  readonly #most: number
  readonly #keys = new LRUCache<string, KeyDemand>({ max: maxKeys })

  /**
   * @param units how many units to take in advance (a lease), or `'auto'` to follow demand
   * @param most the most unspent leased units of a key
   */
  constructor(units: number | 'auto', most: number) {
    this.#units = units
    this.#most = most
  }

  /** True if the next lease (units taken in advance) is requested before the current lease is used up. */
  get prefetches(): boolean {
    return this.#units === 'auto'
  }

  /** The shortest useful life of units that are taken in advance. @param roundTrip the time from a request to its response */
  shortestLife(roundTrip: number): number {
    return this.#units === 'auto' ? Math.max(demandWindow, roundTrips * roundTrip) : roundTrip
  }

  /** How many units to lease for later calls, in addition to `cost`, which the call of this request uses. */
  ahead(name: string, cost: number, now: number, roundTrip: number): number {
    if (this.#units !== 'auto') return this.#units - cost
    const { demand, pausedUntil } = this.#of(name)
    const wanted = demand.at(now)
    if (wanted < leastDemand || now < pausedUntil) return 0
    return Math.min(this.#most, Math.floor(((wanted - cost) * this.shortestLife(roundTrip)) / demandWindow))
  }

  /** Adds the cost of a call to the demand. */
  wants(name: string, cost: number, now: number): void {
    if (this.prefetches) this.#of(name).demand.add(cost, now)
  }

  /** Until `until`, no units are taken in advance (no lease) for the key. */
  pause(name: string, until: number): void {
    if (this.prefetches) this.#of(name).pausedUntil = until
  }

  #of(name: string): KeyDemand {
    return getOrInsert(this.#keys, name, () => ({ demand: new Demand(demandWindow), pausedUntil: 0 }))
  }
}
