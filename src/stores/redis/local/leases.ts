/*
 * Leases: units that one request takes ahead, and that are then spent here without another request.
 *
 * A unit that was taken and not spent may be spent at a later time, as long as all of it is still taken then: to give
 * it back and take it again would leave the state as it is. Once time has given the unit back, another process may take
 * it, and it is lost here. So a lease is valid until the first of its units comes back: in a window, until the end of
 * the window or segment; in a bucket, while what was used before it drains. A log gives no leases, because each of its
 * units comes back at a time of its own.
 *
 * A lease never admits more than the policies allow. It admits less if it expires with units in it: at most those that a
 * process holds ahead of each key.
 *
 *     units ahead   100 --.                .-- 100
 *                          `--.  half     /       `--.
 *                              `-- 50 ---'  the next lease is here      by demand: the next one is requested at the half
 */
import type { Clock } from '../../../common/index.ts'
import type { PackedPlan } from '../script/index.ts'
import type { ScriptResponse } from '../wire/index.ts'
import { type CacheEntry, KeyCache, nameOf } from './key-cache.ts'
import type { LeaseSize } from './lease-size.ts'

export interface Lease extends CacheEntry {
  readonly plan: PackedPlan
  readonly response: ScriptResponse
  /** Units that are not spent yet. */
  units: number
  /** Units spent since the response, less those that were leased before it and not spent then. */
  spent: number
}

/** What decides a call by leased units. */
interface SpentUnits {
  readonly response: ScriptResponse
  /** Microseconds since the response. */
  readonly elapsed: number
}

/** A request for a lease that is under way. */
interface PendingLease {
  readonly plan: PackedPlan
  /** The units that no caller waits for yet. */
  room: number
  /** Settles as the request does. Those who wait for its units are served in their order. */
  readonly arrival: Promise<unknown>
}

/** How much of a new sample the average round trip takes. */
const smoothing = 1 / 8

export class Leases extends KeyCache<Lease> {
  readonly #size: LeaseSize
  /** The last request for a lease that is under way, by keys. */
  readonly #pending = new Map<string, PendingLease>()
  /** The average, in microseconds. */
  #roundTrip = 0

  constructor(size: LeaseSize, clock: Clock) {
    super(clock)
    this.#size = size
  }

  /** How long a lease has to be valid to be of any use, in microseconds. */
  get shortestLife(): number {
    return Math.ceil(this.#size.shortestLife(this.#roundTrip))
  }

  /** Notes that a call wants units, once for each call. */
  wants(keys: readonly string[], cost: number): void {
    this.#size.wants(nameOf(keys), cost, this.clock())
  }

  /** Spends leased units, if there are enough of them here. */
  spend(plan: PackedPlan, keys: readonly string[], cost: number): SpentUnits | undefined {
    const lease = this.find(keys)
    if (lease === undefined || lease.plan !== plan || lease.units < cost) return undefined
    lease.units -= cost
    lease.spent += cost
    const reports = lease.response.reports.map((report) => ({
      ...report,
      remaining: Math.max(0, report.remaining - lease.spent),
      used: report.used + lease.spent,
    }))
    return { response: { ...lease.response, reports }, elapsed: this.foundAt - lease.from }
  }

  /**
   * The units of a lease under way, if it will have some for a call of this cost: those that come then request another lease in
   * the same round trip. Resolves with undefined if it brought too few, and rejects as its request does.
   */
  waitFor(plan: PackedPlan, keys: readonly string[], cost: number): Promise<SpentUnits | undefined> | undefined {
    if (this.#pending.size === 0) return undefined
    const pending = this.#pending.get(nameOf(keys))
    if (pending?.plan !== plan || pending.room < cost) return undefined
    pending.room -= cost
    return pending.arrival.then(() => this.spend(plan, keys, cost))
  }

  /** How many units a request of this cost takes; undefined for no lease. */
  unitsFor(plan: PackedPlan, keys: readonly string[], cost: number): number | undefined {
    const extra = this.#extraFor(plan, keys, cost)
    return extra >= 1 ? cost + extra : undefined
  }

  /** How many units to request now, although no call needs them yet; 0 for none. */
  unitsToPrefetch(plan: PackedPlan, keys: readonly string[]): number {
    if (!this.#size.prefetches || this.#pending.has(nameOf(keys))) return 0
    const extra = this.#extraFor(plan, keys, 0)
    return extra > (this.find(keys)?.units ?? 0) ? extra : 0
  }

  #extraFor(plan: PackedPlan, keys: readonly string[], cost: number): number {
    const name = nameOf(keys)
    const now = this.clock()
    const held = this.find(keys)
    const pending = this.#pending.get(name)
    const room = pending?.plan === plan ? pending.room : 0
    return this.#size.ahead(name, cost, now, this.#roundTrip) - (held?.units ?? 0) - room
  }

  /**
   * Registers a request for a lease.
   * @param units how many it takes beyond its own cost
   * @param arrival settles as the request does, after the call of `add`
   */
  request(plan: PackedPlan, keys: readonly string[], units: number, arrival: Promise<unknown>): void {
    const name = nameOf(keys)
    const before = this.#pending.get(name)
    const pending = { plan, room: units + (before?.plan === plan ? before.room : 0), arrival }
    this.#pending.set(name, pending)
    const end = () => {
      if (this.#pending.get(name) === pending) this.#pending.delete(name)
    }
    arrival.then(end, end)
  }

  /**
   * Adds the units that a response leased.
   * @param sent the local time when the request was sent
   * @param version the version at that time
   */
  add(plan: PackedPlan, keys: readonly string[], response: ScriptResponse, sent: number, version: number): void {
    const now = this.clock()
    this.#roundTrip += (now - sent - this.#roundTrip) * (this.#roundTrip === 0 ? 1 : smoothing)
    if (response.lease === undefined) this.#size.pause(nameOf(keys), now + this.shortestLife)
    if (response.lease === undefined || version !== this.version) return
    const held = this.find(keys)
    const before = held?.plan === plan ? held.units : 0
    const units = response.lease.units + before
    const until = Math.min(sent + response.lease.life, held?.until ?? Infinity)
    this.set(keys, { plan, response, units, spent: -before, from: sent, until, version })
  }
}
