import { type Policy, partOf, thresholdsOf } from '../../algorithms/index.ts'
import { isPromise, type MaybePromise } from '../../common/index.ts'
import type { Decision, Verdict } from '../../policy/index.ts'
import type { Command, OutcomeOf, Verb } from './command.ts'
import type { CheckedLedger, Health } from './health.ts'
import type { OnFailure } from './on-store-error.ts'
import type { Ledger, LedgerTerms } from './store.ts'

/** Calls `onThreshold` for the thresholds in the outcomes of a store's ledger, also for commands that no caller waits for. */
class ThresholdLedger implements CheckedLedger {
  /** The ledger inside this wrapper, as the store opened it. This ledger, and not the wrapper, is passed to the store as `joins`. */
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

/** Wraps the ledger if a policy has thresholds: the wrapper calls `onThreshold`. Otherwise returns the ledger itself. */
export function withThresholds(ledger: CheckedLedger, terms: LedgerTerms): CheckedLedger {
  const tells = terms.onThreshold !== undefined && terms.policies.some(({ thresholds }) => thresholds !== undefined)
  return tells ? new ThresholdLedger(ledger, terms) : ledger
}

/** Removes the wrapper of `withThresholds`: returns the ledger that the store opened. */
export function withoutThresholds(ledger: Ledger | undefined): Ledger | undefined {
  return ledger instanceof ThresholdLedger ? ledger.opened : ledger
}

/**
 * Calls `onThreshold` for each threshold that an outcome of the store reports.
 * @param keys the key of each scope
 * @param places the indexes of the policies whose thresholds are reported; undefined for all policies
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
      // Units that were leased for later calls count for thresholds, but are not in the `used` of the call's decision.
      const used = Math.max(counted, each.units)
      if (reached.includes(threshold)) {
        onThreshold?.({ limiter: name, policy: policy.name, key, scope, threshold, used, limit, resetAt })
      }
    }
  }
}
