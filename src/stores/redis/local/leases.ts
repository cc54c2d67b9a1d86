/*
 * Leases: units that one request takes ahead, and that this process then spends without another request.
 *
 * A unit that was taken and not spent may be spent later, as long as time has not given it back: the state would be the same
 * if the unit were given back and taken again. Once time has given it back, another process may take it, and it is lost here.
 * So a lease is valid until its first unit comes back: in a window, until the end of the window or segment; in a bucket, while
 * the units used before the lease drain. A log gives no leases, because each of its
 * units comes back at a time of its own.
 *
 * A lease never admits more than the policies allow. It admits less if it expires with unspent units: at most the units that a
 * process holds ahead of each key.
 *
 *     units ahead   100 --.                .-- 100
 *                          `--.  half     /       `--.
 *                              `-- 50 ---'  the next lease is here      by demand: the next lease is requested at the half
 */
import type { Clock } from '../../../common/index.ts'
import type { PackedPlan } from '../script/index.ts'
import type { ScriptResponse } from '../wire/index.ts'
import { type CacheEntry, KeyCache, nameOf } from './key-cache.ts'
import type { LeaseSize } from './lease-size.ts'

export interface Lease extends CacheEntry {
  readonly plan: PackedPlan
  readonly response: ScriptResponse
  /** Units of the lease that are not spent yet. */
  units: number
  /** Units spent since the response, less the units of earlier leases that were unspent at the response. */
  spent: number
}

/** The result of spending leased units, from which a decision is made. */
interface SpentUnits {
  readonly response: ScriptResponse
  /** Microseconds since the response. */
  readonly elapsed: number
}

/** A request for a lease that is under way. */
interface PendingLease {
  readonly plan: PackedPlan
  /** The units of the lease that no caller waits for yet. */
  room: number
  /** Settles as the request does. Callers that wait for its units are served in their order. */
  readonly arrival: Promise<unknown>
}

/** How much of a new sample the average round trip takes. */
const smoothing = 1 / 8

export class Leases extends KeyCache<Lease> {
  readonly #size: LeaseSize
  /** For each set of keys, the last request for a lease that is under way. */
  readonly #pending = new Map<string, PendingLease>()
  /** The average round trip, in microseconds. */
  #roundTrip = 0

  constructor(size: LeaseSize, clock: Clock) {
    super(clock)
    this.#size = size
  }

  /** The shortest useful life of a lease, in microseconds. */
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
   * Waits for the units of a lease under way; undefined if too few of them are free for this cost. The call then requests another
   * lease in the same round trip. Resolves with undefined if the lease brought too few units, and rejects as its request does.
   */
  waitFor(plan: PackedPlan, keys: readonly string[], cost: number): Promise<SpentUnits | undefined> | undefined {
    if (this.#pending.size === 0) return undefined
    const pending = this.#pending.get(nameOf(keys))
    if (pending?.plan !== plan || pending.room < cost) return undefined
    pending.room -= cost
    return pending.arrival.then(() => this.spend(plan, keys, cost))
  }

  /** How many units a request of this cost takes; undefined if it takes no lease. */
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
   * @param units how many units the request takes beyond its own cost
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
   * @param version the version of this cache at that time
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
