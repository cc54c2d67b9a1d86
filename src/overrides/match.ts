import type { MaybePromise } from '../common/index.ts'
import type { AppliedOverride, Decision } from '../policy/index.ts'
import type { CheckedLedger, Command } from '../stores/contract/index.ts'

/** The limiter and the ledger that decide a call that an override matches. */
export interface Match<Limiter> {
  readonly limiter: Limiter
  /** The ledger of the limiter, which names the overrides in each decision. */
  readonly ledger: CheckedLedger
  /** Wraps another ledger of the limiter, so that its decisions name the overrides too. Without `askLater`, waits ignore `until`. */
  readonly naming: (ledger: CheckedLedger, askLater?: AskLater<Limiter>) => CheckedLedger
  readonly applied: readonly AppliedOverride[]
  /** True if an override has replaced policies, which may then have other names than in the plan. */
  readonly renamed: boolean
  /** When the first of these overrides ends, in milliseconds since the epoch. Infinity if none ends. */
  readonly until: number
  /** The match from `until` on. Undefined if no override then changes the policies. */
  readonly next: () => Match<Limiter> | undefined
}

/** The verbs that decide whether a call is admitted. */
export type Asked = 'consume' | 'reserve' | 'peek'

/**
 * Asks about a call again, under the policies that apply when an override ends.
 * @param next the match at that time. Undefined if no override then applies
 */
export type AskLater<Limiter> = (next: Match<Limiter> | undefined, command: Command<Asked>) => MaybePromise<Decision>
