/* Penalties with `on: 'spent'`: checks whether a call has spent a quota, begins the ban, and resets policies at the start of the ban. */
import { type Decision, type Verdict, withResetAt } from '../../policy/index.ts'
import { Report } from '../algorithm.ts'
import type { DecidingVerb, Tickets } from './call-terms.ts'
import { type PolicyEvaluation, restartOne } from './policy-evaluation.ts'

const report = new Report()

/** The part of an evaluation that this file reads. */
interface Evaluated {
  readonly allowed: boolean
  readonly takes: boolean
}

/** Begins a ban when a call of a limiter spends a quota. */
export class SpentQuota {
  /** The duration of the ban that the last call has begun, in microseconds. 0 if the last call has begun no ban. */
  banned = 0
  readonly #penalty: PolicyEvaluation
  /** The policies that begin a ban when their quota is spent. */
  readonly #policies: readonly PolicyEvaluation[]
  /** The index of each of `#policies` among all policies of the limiter. */
  readonly #places: readonly number[]

  constructor(penalty: PolicyEvaluation, policies: readonly PolicyEvaluation[]) {
    this.#penalty = penalty
    this.#policies = policies.filter((each) => isWatched(each, penalty))
    this.#places = this.#policies.map((each) => policies.indexOf(each))
  }

  /** Makes the object for the policies of a limiter. Undefined unless the limiter has a penalty with `on: 'spent'`. */
  static of(policies: readonly PolicyEvaluation[]): SpentQuota | undefined {
    const penalty = policies.find(({ algorithm }) => algorithm.spends)
    return penalty && new SpentQuota(penalty, policies)
  }

  /**
   * Call `begin` after a call has changed the states. For a reservation, records that its units are open. Begins a ban if the call has
   * counted units, and if a policy's quota is now spent by units that no reservation can give back. The first settlement of a reservation
   * counts all units that stay used. A later one counts only the units that it charges.
   */
  begin(verb: DecidingVerb, { allowed, takes }: Evaluated, now: number, tickets: Tickets | undefined): void {
    const penalty = this.#penalty
    const { algorithm, s, i, at } = penalty
    this.banned = 0
    penalty.held = undefined
    if (verb === 'reserve' && takes && penalty.cost > 0 && penalty.wait === 0) {
      penalty.held = algorithm.hold?.(s, i, at, penalty.cost)
      penalty.wrote = true
    }
    const settles = verb === 'settle'
    const counts = settles ? allowed : takes && verb !== 'reserve' && verb !== 'renew'
    if (!counts || !this.#isSpent(settles ? (tickets ?? []) : undefined)) return
    const duration = algorithm.spend?.(s, i, at) ?? 0
    if (duration === 0) return
    penalty.wrote = true
    this.banned = duration + (at - now)
  }

  /** @param settled the tickets of the reservation that the call settles; undefined if the call has taken units */
  #isSpent(settled: Tickets | undefined): boolean {
    const { algorithm, s, i, at } = this.#penalty
    algorithm.report(s, i, at, report)
    const open = report.used
    // In a late settlement, the penalty knows already that the units of the reservation stay used: only more units count.
    const isLate = settled !== undefined && this.#penalty.cost === 0
    return this.#policies.some((evaluation, n) => {
      const { policy, wait, cost, wrote, wroteForeign } = evaluation
      const kept = settled === undefined ? cost : cost + (settled[this.#places[n] as number]?.[2] ?? -cost)
      const units = !isLate ? kept : wrote || wroteForeign ? cost : 0
      if (units <= 0 || wait > 0 || policy.burst === 0) return false
      evaluation.algorithm.report(evaluation.s, evaluation.i, evaluation.at, report)
      return report.used - open >= policy.burst
    })
  }

  /**
   * Call `decided` after the decision was made: adds the ban that the call has begun to the decision. Resets the policies that would have
   * their full quota at the end of the ban, so that these policies do not refuse the key after `unban`. With the rule `restart`, resets all
   * policies in the scope of the penalty. A policy that is reset has its full quota when the ban ends, so its verdict says so.
   */
  decided(decision: Decision, now: number): Decision {
    const { banned } = this
    if (banned === 0) return decision
    const penalty = this.#penalty
    penalty.wait = banned
    const milliseconds = Math.ceil(banned / 1000)
    const verdicts = [...decision.policies]
    for (const [n, evaluation] of penalty.algorithm.unreset === undefined ? [] : this.#policies.entries()) {
      const { algorithm, s, i, at } = evaluation
      algorithm.report(s, i, at, report)
      if (!penalty.algorithm.restarts && report.reset + (at - now) > banned) continue
      restartOne(evaluation, now)
      const place = this.#places[n] as number
      verdicts[place] = withResetWithin(verdicts[place] as Verdict, milliseconds, now)
    }
    const resetAfter = Math.max(...verdicts.map((verdict) => verdict.resetAfter))
    const told = { ...decision, policies: verdicts, resetAfter }
    return penalty.policy.shadow ? told : { ...told, banned: milliseconds }
  }
}

/** The verdict of a policy that is reset at the start of a ban: the policy has its full quota when the ban ends, or sooner. */
function withResetWithin(verdict: Verdict, banned: number, now: number): Verdict {
  const { resetAfter, nextAfter, resetAt } = verdict
  if (resetAfter <= banned) return verdict
  const capped = {
    ...verdict,
    resetAfter: banned,
    ...(nextAfter !== undefined && { nextAfter: Math.min(nextAfter, banned) }),
  }
  return resetAt === undefined ? capped : withResetAt(capped, now)
}

/**
 * True if the policy begins a ban when its quota is spent. False for a policy of another scope than the penalty. False for a shadow policy,
 * unless the penalty is a shadow too. False for units in flight, which always come back. False for a policy of Guava, which admits any cost
 * as soon as the wait for earlier costs is over. Such policies have no quota to spend.
 */
function isWatched({ policy, algorithm }: PolicyEvaluation, penalty: PolicyEvaluation): boolean {
  if (policy.scope !== penalty.policy.scope || algorithm.punishes) return false
  return !(policy.shadow && !penalty.policy.shadow) && !algorithm.leases && !algorithm.paysLater
}
