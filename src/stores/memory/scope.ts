import type { StateRule } from '../../algorithms/carry.ts'
import type { PolicyEvaluation } from '../../algorithms/evaluation.ts'
import type { KeyTable } from './key-table.ts'
import type { MultiPlanStates } from './multi-plan-states.ts'

/** The keys of one scope under one plan: the policies of a ledger that limit by this scope. */
export interface Scope {
  readonly table: KeyTable
  /** Points the policies to the states of the key. Returns true if the key has a row that a commit can write to. */
  find(key: string, now: number): boolean
  /** Gives a row to the key that `find` found last, if it has none. Called before states are written. */
  claim(key: string, now: number): void
  /** As `claim`, for a refund: an unknown key gets no row, because it has nothing to give back. */
  claimKnown(key: string, now: number): void
  /** Prepares the states of the key for a reservation, which may be settled later. Called after `claim`. */
  openBookings(): void
  /** Keeps what the commit wrote. A state that was only carried over for this evaluation is dropped. */
  keep(now: number): void
  forget(key: string, now: number): void
  /** Notes that a policy of this scope refused the key. A refusal by another scope is no reason to keep it. */
  noteRefused(): void
  /** The same keys under the same policies with other limits. Every state is adopted. */
  retuned(policies: readonly PolicyEvaluation[], now: number): Scope
  /** The same keys, ready for several plans. @param rule how states are carried over from plan to plan */
  shared(rule: StateRule, now: number): Scope & { readonly table: KeyTable<MultiPlanStates> }
}

/** True if one of these policies refused. */
export function refuses(policies: readonly PolicyEvaluation[]): boolean {
  for (let n = 0; n < policies.length; n++) {
    const { wait, policy } = policies[n] as PolicyEvaluation
    if (wait > 0 && !policy.shadow) return true
  }
  return false
}
