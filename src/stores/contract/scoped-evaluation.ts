import { Evaluation, type PolicyEvaluation } from '../../algorithms/evaluation/index.ts'
import type { StateRule } from '../../algorithms/index.ts'
import type { LedgerTerms } from './store.ts'

/** The policies of one scope (name of a key) in an evaluation. The states of these policies are in one record (stored entry). */
export interface EvaluationScope {
  readonly name: string
  readonly policies: readonly PolicyEvaluation[]
  /** The index of each policy of this scope (name of a key) in the list of all policies. */
  readonly places: readonly number[]
}

/** An evaluation with its policies grouped by scope, because a store keeps the states of each scope in a separate record (entry). */
export class ScopedEvaluation {
  readonly onChange: StateRule
  readonly evaluation: Evaluation
  readonly scopes: readonly EvaluationScope[]

  constructor({ policies, scopes, onChange = 'keep' }: LedgerTerms) {
    this.onChange = onChange
    this.evaluation = new Evaluation(policies)
    this.scopes = scopes.map((scope) => {
      const places = [...policies.keys()].filter((n) => policies[n]?.scope === scope)
      return { name: scope, places, policies: places.map((n) => this.evaluation.policies[n] as PolicyEvaluation) }
    })
  }
}
