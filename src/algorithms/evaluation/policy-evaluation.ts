import { type Algorithm, type Numbers, type Policy, Report, type Ticket } from '../algorithm.ts'
import { effectiveTime } from '../effective-time.ts'
import { maxSafe } from '../exact-math.ts'

const report = new Report()

/** A state that was written under other numbers than the policy has now. */
export interface ForeignState {
  readonly algorithm: Algorithm
  readonly s: Numbers
  /** Makes a copy of the state that fits the policy's numbers. */
  carried(): Numbers
  /** Microseconds until such a copy admits `cost`. @param own the wait of the present copy */
  wait(cost: number, own: number): number
  /** Microseconds until the key has its full quota. @param own that of the present copy */
  reset(own: number): number
}

/** One policy in the current decision. The store sets `s` and `i` to where the policy's state is. */
export class PolicyEvaluation {
  readonly policy: Policy
  readonly algorithm: Algorithm
  s: Numbers = []
  i = 0
  /** The effective time of the state, in microseconds (see `effectiveTime`). */
  at = 0
  /** What the call costs under this policy. */
  cost = 0
  /** Microseconds until this policy admits the call. */
  wait = 0
  /** How far ahead the call was booked, in microseconds. */
  delay = 0
  /**
   * True if `s` is a copy, made from a state that was written under other numbers. A state that used more than fits the new
   * numbers must not be lost: only a call that is admitted at once makes the copy permanent.
   */
  carried = false
  /** The original state, if `s` is such a copy. Units are given back and charged in the original. */
  foreign: ForeignState | undefined = undefined
  /** True if the call changed the state. A copy is kept only then. */
  wrote = false
  /** True if the call changed the foreign state, which stays under its own numbers. */
  wroteForeign = false

  constructor(policy: Policy) {
    this.policy = policy
    this.algorithm = policy.algorithm
  }

  /** Computes how long the call has to wait, and changes nothing. Returns the wait that is enforced: 0 for a shadow. */
  evaluate(now: number, cost: number): number {
    const { s, i, algorithm } = this
    const last = s[i] as number
    const at = now >= last ? now : effectiveTime(algorithm, last, now)
    const wait = cost === 0 ? 0 : algorithm.wait(s, i, at, cost)
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

  private waitCarried(cost: number, wait: number): number {
    return this.wrote ? wait : (this.foreign as ForeignState).wait(cost, wait)
  }

  /** Microseconds until the key has its full quota, if `carried`. @param reset that of `s` */
  resetCarried(reset: number): number {
    return this.wrote ? reset : (this.foreign as ForeignState).reset(reset)
  }

  /** Computes the wait of a charge, also by a settlement: 0, unless the charge makes the numbers inexact. */
  evaluateCharge(now: number, cost: number): number {
    this.begin(now, cost)
    const { algorithm, s, i, at } = this.own(now)
    this.wait = algorithm.fits(s, i, at, this.cost, 0) ? 0 : Infinity
    return this.policy.shadow ? 0 : this.wait
  }

  /** Computes the wait of a renewal. Units that the reservation still holds need no free units. */
  evaluateRenewal(now: number, cost: number, ticket: Ticket | undefined): number {
    this.begin(now, cost)
    const { algorithm, s, i, at } = this.own(now)
    if (cost === 0 || ticket === undefined || algorithm.held === undefined) return 0
    const held = unitsKnown(algorithm, s, i, ticket) > 0 ? algorithm.held(s, i, at, ticket) : 0
    const wait = held >= cost ? 0 : algorithm.wait(s, i, at, cost - held)
    this.wait = wait === 0 ? 0 : wait + (at - now)
    return this.policy.shadow ? 0 : this.wait
  }

  /** Milliseconds until more than `remaining` are left; 0 if the key has its full quota. */
  nextAfter(remaining: number, now: number): number {
    const { s, i, at, policy, algorithm } = this
    if (remaining >= policy.burst) return 0
    const wait = algorithm.wait(s, i, at, remaining + 1) + (at - now)
    return Math.ceil((this.carried ? this.waitCarried(remaining + 1, wait) : wait) / 1000)
  }

  /** True under a limit of 0: no unit ever comes back, so none is taken. Units left under other numbers stay there. */
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

  /** The state that has the units of earlier calls: the foreign state, if there is one. */
  own(now: number): { algorithm: Algorithm; s: Numbers; i: number; at: number } {
    const { foreign } = this
    if (foreign === undefined) return this
    const { algorithm, s } = foreign
    return { algorithm, s, i: 0, at: effectiveTime(algorithm, s[0] as number, now) }
  }

  /** If the clock went far back, the state takes the new time. */
  takeTime(now: number): void {
    const { algorithm, s, i, at } = this.own(now)
    if (at >= (s[i] as number)) return
    algorithm.take(s, i, at, 0, 0)
    this.changed(now)
  }

  /** Notes that the state of `own` changed. A foreign state keeps its numbers: no call was admitted under the new ones. */
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

/** How many units of that ticket can be given back at most: 0 if the state does not know its reservation any more. */
export function unitsKnown(
  { idSlot, idCountsRefunds }: Algorithm,
  s: Numbers,
  i: number,
  [, id, units]: Ticket,
): number {
  if (idSlot === undefined || id <= 0) return 0
  const refunded = (s[i + idSlot] as number) - id
  return refunded === 0 ? units : idCountsRefunds && refunded > 0 ? Math.max(0, units - refunded) : 0
}

/**
 * Lets the other policies of the penalty's key count anew, as for a new key: a ban of its own has begun in place of their
 * waits. Reservations from before give nothing back. Units in flight stay counted.
 */
export function restart({ policy: { scope } }: PolicyEvaluation, all: readonly PolicyEvaluation[], now: number): void {
  for (const evaluation of all) {
    const { policy, algorithm } = evaluation
    if (policy.scope === scope && !algorithm.punishes && !algorithm.leases) restartOne(evaluation, now)
  }
}

function restartOne(evaluation: PolicyEvaluation, now: number): void {
  const { s, i, algorithm, cost } = evaluation
  s.fill(0, i, i + algorithm.slots)
  // If the key has an array of its own, the entries of a log or the reservations stand behind the slots. They go too.
  if (Array.isArray(s) && s.length > i + algorithm.slots) s.length = i + algorithm.slots
  evaluation.at = now
  evaluation.wait = cost === 0 ? 0 : algorithm.wait(s, i, now, cost)
  evaluation.wrote = true
}

/** Gives the call's cost back to one policy, the newest units first. */
export function refund(evaluation: PolicyEvaluation, now: number): void {
  const { cost } = evaluation
  const { algorithm, s, i, at } = evaluation.own(now)
  algorithm.report(s, i, at, report)
  if (report.reset === 0 || cost === 0) return
  algorithm.refund(s, i, at, cost)
  if (algorithm.idCountsRefunds) countRefund(s, i + (algorithm.idSlot as number), cost)
  evaluation.changed(now)
}

/** An id that grows too large is given up: its tickets give nothing back. */
function countRefund(s: Numbers, idSlot: number, cost: number): void {
  const id = s[idSlot] as number
  if (id > 0) s[idSlot] = id + cost <= maxSafe ? id + cost : 0
}

/** Settles one policy: charges a cost above 0, and gives back a cost below 0 by the ticket. */
export function settle(evaluation: PolicyEvaluation, now: number, ticket: Ticket | undefined): void {
  const { cost } = evaluation
  const { algorithm, s, i, at } = evaluation.own(now)
  if (cost > 0) {
    if (evaluation.wait > 0) return // the numbers would not stay exact
    algorithm.take(s, i, at, cost, 0)
  } else {
    const units = cost === 0 || ticket === undefined ? 0 : Math.min(-cost, unitsKnown(algorithm, s, i, ticket))
    if (units === 0) return
    // If the clock went far back, the tickets are invalid. Guava's limiters compare the clock themselves.
    if (at < (s[i] as number) && algorithm.tolerance > 0) algorithm.take(s, i, at, 0, 0)
    else algorithm.settle(s, i, at, units, ticket as Ticket)
  }
  evaluation.changed(now)
}

/**
 * A new id for the reservations of a state, from 1 to 2^48. It is random, so that a state that was reset does not know
 * earlier reservations, whichever process opens the next ones.
 */
export function newReservationId(): number {
  return 1 + Math.floor(Math.random() * 2 ** 48)
}
