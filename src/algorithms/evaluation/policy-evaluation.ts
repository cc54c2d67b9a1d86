import { type Algorithm, type Numbers, type Policy, Report, type Ticket } from '../algorithm.ts'
import { effectiveTime, withLag } from '../effective-time.ts'
import { maxSafe } from '../exact-math.ts'
import { type Threshold, thresholdsOf } from '../thresholds.ts'

const report = new Report()

/** A stored state of the policy that was written while the policy had other numbers, such as another limit. */
export interface ForeignState {
  readonly algorithm: Algorithm
  readonly s: Numbers
  /** Converts the state to the present limit and window of the policy, and returns the result as a copy. */
  carried(): Numbers
  /** Microseconds until `carried` would return a copy that admits `cost`. @param own the wait under the copy that `carried` returns now */
  wait(cost: number, own: number): number
  /**
   * Microseconds until `carried` would return a copy with the full quota.
   * @param own the same wait for the copy that `carried` returns now
   */
  reset(own: number): number
}

/**
 * One policy in the current decision. The store sets `s` to the array that contains the state of the policy, and `i` to the index of
 * the state's first number.
 */
export class PolicyEvaluation {
  readonly policy: Policy
  readonly algorithm: Algorithm
  s: Numbers = []
  i = 0
  /** The time at which the state is evaluated, in microseconds: the store's time, or later if the clock went back (`effectiveTime`). */
  at = 0
  /** The cost of the call under this policy, in units. */
  cost = 0
  /** Microseconds until this policy admits the call. */
  wait = 0
  /** How many microseconds after `at` the units of a reservation count. 0 if the call takes its units immediately. */
  delay = 0
  /**
   * True if `s` is a copy, made from a state that was written under another limit or window. If the new limit is lower, the copy has no
   * used units above that limit. So the original, which has all used units, is replaced only by a call that takes units immediately.
   */
  carried = false
  /**
   * The original state (written under another limit or window), if `carried` is true and `s` is a copy. Refunds, charges and settlements
   * change the original.
   */
  foreign: ForeignState | undefined = undefined
  /** True if the call changed `s`, so that the store has to save `s`, even if `s` is a copy. */
  wrote = false
  /** True if the call changed `foreign`. The store then saves `foreign`, still with the limit and window under which it was written. */
  wroteForeign = false
  /** The ticket of the reservation that the call has made, under a penalty. The reserved units are open until the settlement. */
  held: Ticket | undefined = undefined
  readonly thresholds: readonly Threshold[]

  constructor(policy: Policy) {
    this.policy = policy
    this.algorithm = policy.algorithm
    this.thresholds = thresholdsOf(policy)
  }

  /**
   * Computes how long the call has to wait, and changes nothing. Returns how long the caller has to wait: always 0 for a shadow policy,
   * which refuses no call. A call that costs 0 waits only for the end of a ban: under a penalty with `on: 'spent'`, 0 is the number of units
   * that the call may give back.
   */
  evaluate(now: number, cost: number): number {
    const { s, i, algorithm } = this
    const last = s[i] as number
    const at = now >= last ? now : effectiveTime(algorithm, last, now)
    const wait = cost === 0 && !algorithm.spends ? 0 : algorithm.wait(s, i, at, cost)
    this.at = at
    this.cost = cost
    this.wrote = false
    if (this.wroteForeign) this.wroteForeign = false
    if (wait !== 0) return this.refuse(cost, wait + (at - now))
    this.wait = 0
    return 0
  }

  private refuse(cost: number, wait: number): number {
    this.wait = this.carried ? this.waitCarried(cost, wait) : wait
    return this.policy.shadow ? 0 : this.wait
  }

  /** Microseconds until this policy admits `cost`, by the state that `commit` has left. */
  waitNow(now: number, cost: number): number {
    const { s, i, at, algorithm } = this
    const wait = cost === 0 && !algorithm.spends ? 0 : withLag(algorithm.wait(s, i, at, cost), at - now)
    return this.carried && wait > 0 ? this.waitCarried(cost, wait) : wait
  }

  private waitCarried(cost: number, wait: number): number {
    return this.wrote ? wait : (this.foreign as ForeignState).wait(cost, wait)
  }

  /**
   * Microseconds until the key has its full quota, if `s` is a converted copy of a state with another limit.
   * @param reset microseconds until the copy `s` has its full quota
   */
  resetCarried(reset: number): number {
    return this.wrote ? reset : (this.foreign as ForeignState).reset(reset)
  }

  /**
   * Computes the wait of a charge, or of a settlement that charges units beyond the reserved cost. The wait is 0, or Infinity if the charge
   * would make a number of the state too large to be exact.
   */
  evaluateCharge(now: number, cost: number): number {
    this.begin(now, cost)
    const { algorithm, s, i, at } = this.own(now)
    this.wait = algorithm.fits(s, i, at, this.cost, 0) ? 0 : Infinity
    return this.policy.shadow ? 0 : this.wait
  }

  /** Computes the wait of a call that renews leases. A lease that has ended must take its units again, so as many units must be free. */
  evaluateRenewal(now: number, cost: number, ticket: Ticket | undefined): number {
    this.begin(now, cost)
    const { algorithm, s, i, at } = this.own(now)
    if (cost === 0 || ticket === undefined || algorithm.held === undefined) return 0
    const held = unitsKnown(algorithm, s, i, ticket) > 0 ? algorithm.held(s, i, at, ticket) : 0
    const wait = held >= cost ? 0 : algorithm.wait(s, i, at, cost - held)
    this.wait = wait === 0 ? 0 : wait + (at - now)
    return this.policy.shadow ? 0 : this.wait
  }

  /** Milliseconds until more than `remaining` units are left; 0 if `remaining` is already the full quota. */
  nextAfter(remaining: number, now: number): number {
    const { s, i, at, policy, algorithm } = this
    if (remaining >= policy.burst) return 0
    const wait = algorithm.wait(s, i, at, remaining + 1) + (at - now)
    return Math.ceil((this.carried ? this.waitCarried(remaining + 1, wait) : wait) / 1000)
  }

  /**
   * True under a limit of 0: taken units would never become free, so a call takes no units. False if there is a foreign state (written
   * under another limit), because refunds and charges still change the foreign state.
   */
  get keepsNothing(): boolean {
    return this.policy.limit === 0 && this.foreign === undefined
  }

  begin(now: number, cost: number): void {
    this.at = effectiveTime(this.algorithm, this.s[this.i] as number, now)
    this.cost = this.keepsNothing ? 0 : cost
    this.wait = 0
    this.wrote = false
    this.wroteForeign = false
  }

  /** The state that has the units of earlier calls: the foreign state (of another limit or window), if there is one, otherwise `s`. */
  own(now: number): { algorithm: Algorithm; s: Numbers; i: number; at: number } {
    const { foreign } = this
    if (foreign === undefined) return this
    const { algorithm, s } = foreign
    return { algorithm, s, i: 0, at: effectiveTime(algorithm, s[0] as number, now) }
  }

  /** If the clock went back by at least `tolerance` of the algorithm, sets the time of the state to `now`. */
  takeTime(now: number): void {
    const { algorithm, s, i, at } = this.own(now)
    if (at >= (s[i] as number)) return
    algorithm.take(s, i, at, 0, 0)
    this.changed(now)
  }

  /**
   * Records that the state from `own` was changed. The store saves a foreign state (of another limit or window) with the old limit and
   * window, because no call was admitted under the new limit and window.
   */
  changed(now: number): void {
    if (this.foreign === undefined) {
      this.wrote = true
      return
    }
    this.wroteForeign = true
    this.s = this.foreign.carried()
    this.at = effectiveTime(this.algorithm, this.s[0] as number, now)
  }
}

/**
 * The most units that the reservation of a ticket can give back. 0 if the state's id is no longer the id in the ticket. A penalty has no
 * such id: the time in the ticket shows which units are open.
 */
export function unitsKnown(
  { idSlot, idCountsRefunds, spends }: Algorithm,
  s: Numbers,
  i: number,
  [, id, units]: Ticket,
): number {
  if (spends) return units
  if (idSlot === undefined || id <= 0) return 0
  const refunded = (s[i + idSlot] as number) - id
  return refunded === 0 ? units : idCountsRefunds && refunded > 0 ? Math.max(0, units - refunded) : 0
}

/**
 * Resets the states of the other policies in the scope of a penalty, because the ban that has just begun replaces the waits of these
 * policies. Reservations made before give no units back. Units in flight (of unfinished calls) stay counted.
 */
export function restart({ policy: { scope } }: PolicyEvaluation, all: readonly PolicyEvaluation[], now: number): void {
  for (const evaluation of all) {
    const { policy, algorithm } = evaluation
    if (policy.scope === scope && !algorithm.punishes && !algorithm.leases) restartOne(evaluation, now)
  }
}

export function restartOne(evaluation: PolicyEvaluation, now: number): void {
  const { s, i, algorithm, cost } = evaluation
  s.fill(0, i, i + algorithm.slots)
  // If `s` is an array of this key alone, it also has the entries of a log, or the reservations, after the first `slots`
  // numbers. This line deletes these entries and reservations.
  if (Array.isArray(s) && s.length > i + algorithm.slots) s.length = i + algorithm.slots
  evaluation.at = now
  evaluation.wait = cost === 0 ? 0 : algorithm.wait(s, i, now, cost)
  evaluation.wrote = true
}

/**
 * Gives the cost of a call back to one policy. The units that were taken last are given back first.
 * @param unreserved true if the units are those of no reservation
 */
export function refund(evaluation: PolicyEvaluation, now: number, unreserved: boolean): void {
  const { cost } = evaluation
  const { algorithm, s, i, at } = evaluation.own(now)
  algorithm.report(s, i, at, report)
  if (report.reset === 0 || cost === 0) return
  algorithm.refund(s, i, at, cost)
  if (algorithm.idCountsRefunds && !unreserved) countRefund(s, i + (algorithm.idSlot as number), cost)
  evaluation.changed(now)
}

/**
 * Adds a refund to the id of the reservations. An id beyond 2^53 would be inexact, so the id becomes 0, and earlier reservations then give
 * no units back.
 */
function countRefund(s: Numbers, idSlot: number, cost: number): void {
  const id = s[idSlot] as number
  if (id > 0) s[idSlot] = id + cost <= maxSafe ? id + cost : 0
}

/**
 * Corrects a reservation to its actual cost under one policy. A cost above 0 is charged. For a cost below 0, units are given back: at most
 * as many as `unitsKnown` returns for the ticket.
 */
export function settle(evaluation: PolicyEvaluation, now: number, ticket: Ticket | undefined): void {
  const { cost } = evaluation
  const { algorithm, s, i, at } = evaluation.own(now)
  // The algorithm of this policy made the ticket, even if another algorithm wrote the state.
  if (ticket !== undefined && evaluation.algorithm.lapsed?.(at, ticket)) return
  // A settlement at the expiry or later charges: the state then gives the units back by itself.
  const { expiring } = algorithm
  if (ticket?.[3] !== undefined && at < ticket[3] && expiring?.remove(s, ticket)) evaluation.changed(now)
  if (cost > 0) {
    if (evaluation.wait > 0) return // with these units, the numbers of the state would not be exact
    algorithm.take(s, i, at, cost, 0)
  } else {
    const units = cost === 0 || ticket === undefined ? 0 : Math.min(-cost, unitsKnown(algorithm, s, i, ticket))
    if (units === 0) return
    // If the clock went back by at least `tolerance`, earlier reservations give nothing back. Guava's limiters have the tolerance 0: their
    // `settle` checks the clock itself.
    if (at < (s[i] as number) && algorithm.tolerance > 0) algorithm.take(s, i, at, 0, 0)
    else algorithm.settle(s, i, at, units, ticket as Ticket)
  }
  evaluation.changed(now)
}

/**
 * A new id for the reservations of a state, from 1 to 2^48. After a reset of the key, any process may make the next id. Ids are random,
 * so that the next id differs from the ids of earlier reservations.
 */
export function newReservationId(): number {
  return 1 + Math.floor(Math.random() * 2 ** 48)
}
