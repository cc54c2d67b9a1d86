/*
 * Leases: one request takes more units than its call needs, and this process spends the units on later calls without a request.
 *
 * The state in Redis counts a leased unit as used. With time, used units become free again, and then another process may take them.
 * So this process may spend a leased unit only until that unit becomes free again in Redis. A lease is valid until its first unit becomes
 * free: in a window, until the end of the window or segment; in a bucket, until the units that were used before the lease have become free.
 * A log has no leases, because each of its units becomes free at another time.
 *
 * Leases never admit more than the policies allow. If a lease expires with unspent units, less is admitted than the policies
 * allow, by the unspent units.
 *
 *     units ahead   100 --.                .-- 100
 *                          `--.  half     /       `--.
 *                              `-- 50 ---'  the next lease is here      by demand: the next lease is requested at the half
 */
import { type Policy, sameDefinition } from '../../../algorithms/index.ts'
import { isCounter } from '../../../algorithms/windows/index.ts'
import type { Clock } from '../../../common/index.ts'
import type { Verb } from '../../contract/index.ts'
import type { PackedPlan } from '../script/index.ts'
import type { PolicyReport, ScriptResponse } from '../wire/index.ts'
import { type CacheEntry, KeyCache, nameOf } from './key-cache.ts'
import type { LeaseSize } from './lease-size.ts'

export interface Lease extends CacheEntry {
  readonly plan: PackedPlan
  readonly response: ScriptResponse
  /** The units of the lease (taken in advance) that are not spent yet. */
  units: number
  /** By how many units the key is in debt. Redis counts the leased units as used, so only the units above the debt may be spent. */
  debt: number
  /**
   * How many units are used now beyond the units that `response` counts. The units spent since the response are added. The units of earlier
   * leases that were unspent when the response came are subtracted, because the response counts them as used.
   */
  spent: number
}

/** What is needed to make a decision after leased units (taken in advance) were spent. */
interface SpentUnits {
  readonly response: ScriptResponse
  /** The time since the request of the lease (units taken in advance) was sent, in microseconds. */
  readonly elapsed: number
}

/** A request for a lease (units taken in advance) that has no response yet. */
interface PendingLease {
  readonly plan: PackedPlan
  /** How many units of the requested lease (units taken in advance) are still free: no waiting caller will use these units. */
  room: number
  /** Resolves or rejects when the request ends. Callers that wait for the units of the lease are served first come, first served. */
  readonly arrival: Promise<unknown>
}

/** The weight of a new measurement in the moving average of round trips. */
const smoothing = 1 / 8

export class Leases extends KeyCache<Lease> {
  readonly #size: LeaseSize
  /** The last request for a lease (units taken in advance) that Redis has not answered yet, by the keys of its call. */
  readonly #pending = new Map<string, PendingLease>()
  /** How many charges, settlements and refunds were answered. A call that was sent before the last of them does not know the debt. */
  charges = 0
  /** The moving average of round trips to Redis, in microseconds. */
  #roundTrip = 0

  constructor(size: LeaseSize, clock: Clock) {
    super(clock)
    this.#size = size
  }

  /** The shortest time, in microseconds, for which a lease (units taken in advance) must be valid to be worth a request. */
  get shortestLife(): number {
    return Math.ceil(this.#size.shortestLife(this.#roundTrip))
  }

  /** Adds the cost of a call to the measured demand for its keys, which decides how many units are taken in advance. Called once a call. */
  wants(keys: readonly string[], cost: number): void {
    this.#size.wants(nameOf(keys), cost, this.clock())
  }

  /** Spends leased units (taken in advance) on a call; returns undefined if too few are left. */
  spend(plan: PackedPlan, keys: readonly string[], cost: number): SpentUnits | undefined {
    const lease = this.find(keys)
    if (lease === undefined || lease.plan !== plan || lease.units - lease.debt < cost) return undefined
    lease.units -= cost
    lease.spent += cost
    const reports = lease.response.reports.map((report) => ({
      ...report,
      remaining: Math.max(0, report.remaining - lease.spent),
      used: report.used + lease.spent,
      reached: [],
    }))
    return { response: { ...lease.response, reports }, elapsed: this.foundAt - lease.from }
  }

  /**
   * Notes the debt of a key that has used more than a policy allows, after a charge, a settlement or a refund.
   * @param plan of the response; the lease may be of another plan
   */
  owe(verb: Verb, plan: PackedPlan, keys: readonly string[], { reports }: ScriptResponse): void {
    if ((verb !== 'charge' && verb !== 'settle' && verb !== 'refund') || reports.length === 0) return
    const lease = this.find(keys)
    if (lease === undefined || (lease.plan !== plan && verb === 'refund')) return
    const debt = debtUnder(plan, reports, lease.plan)
    lease.debt = lease.plan === plan ? debt : Math.max(lease.debt, debt)
    this.charges++
  }

  /**
   * Waits for a lease (units taken in advance) that was requested already. Undefined if too few units of that lease are left for this
   * cost: the call then sends a request. Resolves with undefined if the response grants too few units. Rejects if the request of the lease
   * rejects.
   */
  waitFor(plan: PackedPlan, keys: readonly string[], cost: number): Promise<SpentUnits | undefined> | undefined {
    if (this.#pending.size === 0) return undefined
    const pending = this.#pending.get(nameOf(keys))
    if (pending?.plan !== plan || pending.room < cost) return undefined
    pending.room -= cost
    return pending.arrival.then(() => this.spend(plan, keys, cost))
  }

  /** How many units the request of a call takes, including the cost of the call; undefined if no units are taken in advance. */
  unitsFor(plan: PackedPlan, keys: readonly string[], cost: number): number | undefined {
    const extra = this.#extraFor(plan, keys, cost)
    return extra >= 1 ? cost + extra : undefined
  }

  /** How many units to request now for later calls, because half of the units taken in advance is used up; 0 to request none. */
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
    const extra = this.#size.ahead(name, cost, now, this.#roundTrip) - (held?.units ?? 0) - room
    // Without a request, the verdict of a shadow policy is not known. A counter alone refuses nothing: its number is the answer.
    if (extra < 1 || plan.policies.some(({ shadow }) => shadow) || plan.policies.every(isCounter)) return 0
    // A key without a lease gets none in place of the lease of another key, whose unspent units would be lost.
    const isOver = ({ units, until }: Lease) => units === 0 || now >= until
    return (held ?? pending) !== undefined || this.hasSpace(this.#pending.size, isOver) ? extra : 0
  }

  /**
   * Registers a request for a lease (units taken in advance), so that other calls can wait for its units.
   * @param units how many units the request takes for other calls, beyond the cost of its own call
   * @param arrival settles when the request settles, after `add` was called with the response
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
   * Stores the units of a lease (taken in advance) that Redis granted with its response to a call.
   * @param sent the local time at which the request was sent, in microseconds
   * @param version the `version` of this cache when the request was sent. If a key was changed since then, the lease is not stored
   * @param charges `charges` when the request was sent
   * @param asked true if the request asked for a lease
   */
  answered(
    plan: PackedPlan,
    keys: readonly string[],
    response: ScriptResponse,
    sent: number,
    version: number,
    charges: number,
    asked: boolean,
  ): void {
    const lease = this.find(keys)
    const isNewer = lease?.plan === plan && charges === this.charges
    if (isNewer && lease.debt > 0) lease.debt = Math.min(lease.debt, debtUnder(plan, response.reports, plan))
    if (!asked) return
    const now = this.clock()
    this.#roundTrip += (now - sent - this.#roundTrip) * (this.#roundTrip === 0 ? 1 : smoothing)
    if (response.lease === undefined) this.#size.pause(nameOf(keys), now + this.shortestLife)
    if (response.lease === undefined || this.isChanged(keys, version)) return
    const [before, debt] = lease?.plan === plan ? [lease.units, lease.debt] : [0, 0]
    const units = response.lease.units + before
    const until = Math.min(sent + response.lease.life, lease?.until ?? Infinity)
    this.set(keys, { plan, response, units, debt, spent: -before, from: sent, until, version })
  }
}

/** By how many units a key is in debt under the policies of the leased plan, by a response under another or the same plan. */
function debtUnder({ policies }: PackedPlan, reports: readonly PolicyReport[], leased: PackedPlan): number {
  return Math.max(0, ...reports.map((report, n) => debtOf(policies[n] as Policy, report, leased)))
}

/**
 * By how many units a key is in debt under one policy. The response of a plan in which the policy has other numbers does not show the debt:
 * if that plan has no unit left, the debt may be of any size.
 */
function debtOf(policy: Policy, { used, remaining }: PolicyReport, { policies }: PackedPlan): number {
  const leased = policies.find(({ name }) => name === policy.name)
  if (leased === undefined) return 0
  if (sameDefinition(leased.algorithm, policy.algorithm)) return used - policy.burst
  return remaining === 0 ? Infinity : 0
}
