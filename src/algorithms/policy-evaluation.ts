import type { Algorithm, Numbers, Policy } from './algorithm.ts'

/** One policy in the current decision. The store points it to its state: in `s` from `i` on. */
export class PolicyEvaluation {
  readonly policy: Policy
  readonly algorithm: Algorithm
  s: Numbers = []
  i = 0
  /** The effective time of the state, in microseconds (see `effectiveTime`). */
  at = 0
  /** Microseconds until this policy admits the call. */
  wait = 0
  /**
   * True if the state was left under other numbers, and is a copy that was carried over. A state that had used more than
   * fits these numbers must not be lost: only a call that is admitted at once makes the copy permanent.
   */
  carried = false
  /** True if the call changed the state. Only then a copy that was carried over is kept. */
  wrote = false

  constructor(policy: Policy) {
    this.policy = policy
    this.algorithm = policy.algorithm
  }

  /** Computes how long the call has to wait, and changes nothing. Returns the wait that is enforced: 0 for a shadow. */
  evaluate(now: number, cost: number): number {
    const { s, i, algorithm } = this
    const last = s[i] as number
    const at = now >= last ? now : effectiveTime(algorithm, last, now)
    const wait = algorithm.wait(s, i, at, cost)
    this.at = at
    this.wrote = false
    this.wait = wait === 0 ? 0 : wait + (at - now)
    return this.policy.shadow ? 0 : this.wait
  }

  /** The same for a refund, which never waits, and for a charge, which waits for nothing but has to stay exact. */
  evaluateForced(verb: 'charge' | 'refund', now: number, cost: number): number {
    const { s, i, algorithm } = this
    this.at = effectiveTime(algorithm, s[i] as number, now)
    this.wait = verb === 'refund' || algorithm.fits(s, i, this.at, cost, 0) ? 0 : Infinity
    this.wrote = false
    return this.policy.shadow ? 0 : this.wait
  }
}

/**
 * The effective time of a state. A clock that went back by less than one full refill (or window) stands still
 * until it catches up, so that no unit is given twice. A clock that went back further is taken as the new time, so that
 * no key is locked out for longer than one refill.
 */
export function effectiveTime(algorithm: Algorithm, last: number, now: number): number {
  return now < last && last - now < algorithm.span ? last : now
}
