/*
 * Leases: units that one request takes ahead, and that are then spent here without another request.
 *
 * A unit that was taken and not spent may be spent at a later time, as long as all of it is still taken then: to give
 * it back and take it again would leave the state as it is. Once time has given the unit back, another process may take
 * it, and it is lost here. So a lease is valid until the first of its units comes back: in a window, until the end of
 * the window or segment; in a bucket, while what was used before it drains. A log gives no leases, because each of its
 * units comes back at a time of its own.
 *
 * A lease never admits more than the policies allow. It admits less if it expires with units in it: at most
 * `units - 1` for each key and process.
 */
import type { Clock } from '../../clock.ts'
import { type CacheEntry, KeyCache, nameOf } from './key-cache.ts'
import type { PackedPlan } from './packed-plan.ts'
import type { ScriptResponse } from './script-response.ts'

export interface Lease extends CacheEntry {
  readonly plan: PackedPlan
  readonly response: ScriptResponse
  /** Units that are not spent yet. */
  units: number
  /** Units spent since the response. */
  spent: number
}

interface PendingLease {
  readonly plan: PackedPlan
  readonly done: Promise<boolean>
  /** The units that no caller waits for yet. */
  room: number
}

export class Leases extends KeyCache<Lease> {
  readonly #units: number
  /** The last request for a lease that is under way, by keys. Only calls that wait make another one, so few units stay unspent. */
  readonly #pending = new Map<string, PendingLease>()

  /** @param units how many units of a key one request takes */
  constructor(units: number, clock: Clock) {
    super(clock)
    this.#units = units
  }

  /** Spends leased units, if there are enough of them here. */
  spend(
    plan: PackedPlan,
    keys: readonly string[],
    cost: number,
  ): { response: ScriptResponse; elapsed: number } | undefined {
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
   * The lease under way that a call of this cost can wait for, as long as it will have units for it: those that come then request
   * another lease in the same round trip. Resolves with true if it brought units, and rejects as its request does.
   */
  pending(plan: PackedPlan, keys: readonly string[], cost: number): Promise<boolean> | undefined {
    if (this.#pending.size === 0 || cost >= this.#units) return undefined
    const pending = this.#pending.get(nameOf(keys))
    if (pending?.plan !== plan || pending.room < cost) return undefined
    pending.room -= cost
    return pending.done
  }

  /** How many units a request of this cost takes; undefined for no lease. */
  unitsFor(keys: readonly string[], cost: number): number | undefined {
    const units = this.#units - (this.find(keys)?.units ?? 0)
    const pending = this.#pending.get(nameOf(keys))
    // Another lease is requested only if calls already wait for all units of the one under way.
    return cost >= units || (pending !== undefined && pending.room >= cost) ? undefined : units
  }

  /**
   * Registers a request for a lease.
   * @param room how many units it takes beyond its own cost
   * @param leased returns, after the response, true if it brought units
   */
  started(
    plan: PackedPlan,
    keys: readonly string[],
    room: number,
    response: Promise<unknown>,
    leased: () => boolean,
  ): void {
    const name = nameOf(keys)
    const over = () => {
      if (this.#pending.get(name)?.done === done) this.#pending.delete(name)
    }
    const done: Promise<boolean> = response.finally(() => over()).then(leased)
    done.catch(() => {}) // the request rejects to its own caller, and to the calls that wait for the lease
    this.#pending.set(name, { plan, done, room })
  }

  /**
   * Adds the units that a response leased.
   * @param sent the local time when the request was sent
   * @param version the version at that time
   */
  add(plan: PackedPlan, keys: readonly string[], response: ScriptResponse, sent: number, version: number): void {
    if (response.lease === undefined || version !== this.version) return
    const held = this.find(keys)
    const units = response.lease.units + (held?.plan === plan ? held.units : 0)
    const until = Math.min(sent + response.lease.life, held?.until ?? Infinity)
    this.set(keys, { plan, response, units, spent: 0, from: sent, until, version })
  }
}
