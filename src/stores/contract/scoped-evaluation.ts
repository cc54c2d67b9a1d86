import { Evaluation, type PolicyEvaluation } from '../../algorithms/evaluation/index.ts'
import type { StateRule } from '../../algorithms/index.ts'
import type { LedgerTerms } from './store.ts'

/** The part of an evaluation whose states are in one record. */
export interface Scope {
  readonly name: string
  readonly policies: readonly PolicyEvaluation[]
  /** The index of each of these policies among all of the evaluation. */
  readonly places: readonly number[]
}

/** An evaluation whose policies are grouped by scope: a record has the states of one scope. */
export class ScopedEvaluation {
  readonly onChange: StateRule
  readonly evaluation: Evaluation
  readonly scopes: readonly Scope[]

  constructor({ policies, scopes, onChange = 'keep' }: LedgerTerms) {
    this.onChange = onChange
    this.evaluation = new Evaluation(policies)
    this.scopes = scopes.map((scope) => {
      const places = [...policies.keys()].filter((n) => policies[n]?.scope === scope)
      return { name: scope, places, policies: places.map((n) => this.evaluation.policies[n] as PolicyEvaluation) }
    })
  }
}
