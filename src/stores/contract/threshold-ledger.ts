import { type Policy, partOf, thresholdsOf } from '../../algorithms/index.ts'
import { isPromise, type MaybePromise } from '../../common/index.ts'
import type { Decision, Verdict } from '../../policy/index.ts'
import type { Command, OutcomeOf, Verb } from './command.ts'
import type { CheckedLedger, Health } from './health.ts'
import type { OnFailure } from './on-store-error.ts'
import type { Ledger, LedgerTerms } from './store.ts'

/** Tells of the thresholds that the outcomes of a store's ledger report, also of commands that no caller waits for. */
class ThresholdLedger implements CheckedLedger {
  /** The ledger that the store opened, for a store whose ledgers join another. */
  readonly opened: Ledger
  readonly #terms: LedgerTerms
  health?: () => Health

  constructor(opened: CheckedLedger, terms: LedgerTerms) {
    this.opened = opened
    this.#terms = terms
    if (opened.health !== undefined) this.health = () => (opened.health as () => Health)()
  }

  run<V extends Verb>(command: Command<V>, onFailure?: OnFailure): MaybePromise<OutcomeOf<V>> {
    const outcome = (this.opened as CheckedLedger).run(command, onFailure)
    if (!isPromise(outcome)) {
      tellThresholds(this.#terms, command.keys, outcome)
      return outcome
    }
    return outcome.then((value) => {
      tellThresholds(this.#terms, command.keys, value)
      return value
    })
  }
}

/** The ledger, or one that tells of thresholds if a policy has some. */
export function withThresholds(ledger: CheckedLedger, terms: LedgerTerms): CheckedLedger {
  const tells = terms.onThreshold !== undefined && terms.policies.some(({ thresholds }) => thresholds !== undefined)
  return tells ? new ThresholdLedger(ledger, terms) : ledger
}

/** The ledger that a store opened, under the ledger that `withThresholds` returned. */
export function withoutThresholds(ledger: Ledger | undefined): Ledger | undefined {
  return ledger instanceof ThresholdLedger ? ledger.opened : ledger
}

/**
 * Tells of the thresholds that an outcome of the store reports.
 * @param keys the key of each scope
 * @param places the indexes of the policies whose thresholds are told; undefined for all
 */
export function tellThresholds(
  { name, policies, scopes, onThreshold }: LedgerTerms,
  keys: readonly (string | undefined)[],
  outcome: unknown,
  places?: readonly number[],
): void {
  const { decision = outcome } = Object(outcome) as { readonly decision?: unknown }
  const { policies: verdicts = [] } = Object(decision) as Partial<Decision>
  for (const [n, verdict] of verdicts.entries()) {
    const { reached = [], used: counted, limit, resetAt = 0 } = Object(verdict) as Verdict
    if (reached.length === 0 || places?.includes(n) === false) continue
    const policy = policies[n] as Policy
    const { scope } = policy
    const key = keys[scopes.indexOf(scope)] as string
    for (const each of thresholdsOf(policy)) {
      const threshold = partOf(each)
      // Units that were leased for later calls count for thresholds, and not for the call's own decision.
      const used = Math.max(counted, each.units)
      if (reached.includes(threshold)) {
        onThreshold?.({ limiter: name, policy: policy.name, key, scope, threshold, used, limit, resetAt })
      }
    }
  }
}
