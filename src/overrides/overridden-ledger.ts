import { isPromise, type MaybePromise } from '../common/index.ts'
import type { AppliedOverride, Decision } from '../policy/index.ts'
import type { Booking, CheckedLedger, Command, Health, OnFailure, OutcomeOf, Verb } from '../stores/contract/index.ts'

/** The ledger of a derived limiter, which names the overrides in each decision. */
export class OverriddenLedger implements CheckedLedger {
  readonly #ledger: CheckedLedger
  readonly #applied: readonly AppliedOverride[]
  health?: () => Health

  constructor(ledger: CheckedLedger, applied: readonly AppliedOverride[]) {
    this.#ledger = ledger
    this.#applied = applied
    if (ledger.health !== undefined) this.health = () => (ledger.health as () => Health)()
  }

  run<V extends Verb>(command: Command<V>, onFailure?: OnFailure): MaybePromise<OutcomeOf<V>> {
    const outcome = this.#ledger.run(command, onFailure)
    return isPromise(outcome) ? outcome.then((value) => this.#namedOutcome(value)) : this.#namedOutcome(outcome)
  }

  #namedOutcome<V extends Verb>(outcome: OutcomeOf<V>): OutcomeOf<V> {
    if (typeof outcome !== 'object' || outcome === null) return outcome
    const override = this.#applied
    if ('allowed' in outcome) return named(outcome as Decision, override) as OutcomeOf<V>
    if (!('decision' in outcome)) return outcome
    const { decision } = outcome as Booking
    return { ...(outcome as Booking), decision: named(decision, override) } as OutcomeOf<V>
  }
}

/** A copy of the decision with the overrides. Spread syntax takes ten times as long, so most decisions are copied field by field. */
function named(decision: Decision, override: readonly AppliedOverride[]): Decision {
  const { allowed, limit, remaining, retryAfter, resetAfter, policy, policies, source, at, ban, banned, tried } =
    decision
  if ((at ?? ban ?? banned ?? tried) !== undefined) return { ...decision, override }
  return { allowed, limit, remaining, retryAfter, resetAfter, policy, policies, source, override }
}
