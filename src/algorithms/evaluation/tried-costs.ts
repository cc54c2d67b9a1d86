/*
 * The costs of one call that tries several costs in their order. The evaluation records which costs were refused. If all costs are refused,
 * the call is one refusal, and its wait is the shortest wait of a cost. The decision then shows each policy from which any cost takes units.
 */
import { type Decision, joinFirst, type Source, type Verdict } from '../../policy/index.ts'
import type { Policy } from '../algorithm.ts'
import type { Alternatives } from './call-terms.ts'
import type { PolicyEvaluation } from './policy-evaluation.ts'

/** The refusal of a cost: the enforced policy with the longest wait, and this wait in microseconds. */
interface Refusal {
  readonly policy: Policy
  readonly wait: number
}

export class TriedCosts {
  readonly #alternatives: Alternatives
  #refusals: Refusal[] = []
  /** The enforced policies that have refused a cost, also if another cost was then admitted. */
  readonly refusers: Set<Policy> = new Set()

  constructor(alternatives: Alternatives) {
    this.#alternatives = alternatives
  }

  /** Notes that the policies have refused the cost that was evaluated last. */
  noteRefused(policies: readonly PolicyEvaluation[]): void {
    this.#refusals.push(refusalOf(policies, ({ wait }) => wait))
    for (const { policy, wait } of policies) if (wait > 0 && !policy.shadow) this.refusers.add(policy)
  }

  /** The index of the first cost with the shortest wait, after all costs were refused. */
  get #shortest(): number {
    const refusals = this.#refusals
    return refusals.reduce((best, { wait }, n) => (wait < (refusals[best] as Refusal).wait ? n : best), 0)
  }

  get shortestWait(): number {
    return (this.#refusals[this.#shortest] as Refusal).wait
  }

  /**
   * The cost of the refused call under each policy, for `countRefused` and for the verdicts: the cost with the shortest wait. If this cost
   * is 0 under a policy, the policy gets the first cost above 0 in the list, so that the decision shows every policy that was tried.
   */
  get costsOfRefusal(): readonly number[] {
    const alternatives = this.#alternatives
    return (alternatives[this.#shortest] as readonly number[]).map((cost, n) => {
      return cost > 0 ? cost : (alternatives.find((costs) => (costs[n] as number) > 0)?.[n] ?? 0)
    })
  }

  /** Computes the waits of all costs again, after the refusal was counted. Another cost may then have the shortest wait. */
  waitAgain(policies: readonly PolicyEvaluation[], now: number): void {
    this.#refusals = this.#alternatives.map((costs) => {
      return refusalOf(policies, (evaluation, n) => evaluation.waitNow(now, costs[n] as number))
    })
    const costs = this.costsOfRefusal
    for (const [n, evaluation] of policies.entries()) evaluation.wait = evaluation.waitNow(now, costs[n] as number)
  }

  decision(allowed: boolean, verdicts: readonly Verdict[], source: Source, at: number | undefined): Decision {
    const tried = this.#refusals.map(({ policy: { name }, wait }) => ({
      policy: name,
      retryAfter: Math.ceil(wait / 1000),
    }))
    return joinFirst(allowed, verdicts, this.#alternatives, tried, source, at)
  }
}

function refusalOf(
  policies: readonly PolicyEvaluation[],
  waitOf: (evaluation: PolicyEvaluation, n: number) => number,
): Refusal {
  const waits = policies.map((evaluation, n) => ({ policy: evaluation.policy, wait: waitOf(evaluation, n) }))
  const enforced = waits.filter(({ policy }) => !policy.shadow)
  return enforced.reduce((longest, each) => (each.wait > longest.wait ? each : longest))
}
