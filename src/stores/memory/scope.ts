import type { StateRule } from '../../algorithms/carry.ts'
import type { PolicyEvaluation } from '../../algorithms/evaluation.ts'
import type { KeyTable } from './key-table.ts'
import type { MultiPlanRows } from './multi-plan-rows.ts'

/** The keys of one scope as one ledger uses them, and the row of the one that calls. */
export interface Scope {
  readonly table: KeyTable
  /** Points the weighings to what is known of the key. Returns whether it has what a call would write to. */
  find(key: string, now: number): boolean
  /** Makes what it has so, now that something will be written: a row, if it has none. */
  claim(key: string, now: number): void
  /** The same for a refund: to a key that nothing is known of nothing is written. */
  claimKnown(key: string, now: number): void
  /** What the call wrote stays; of states that were only carried over for it nothing does. */
  keep(now: number): void
  forget(key: string, now: number): void
  /** Only where it is this scope that refuses: a key refused for the sake of another is nothing to hold on to. */
  noteRefused(): void
  /** The same keys under the same policies with other limits: each state is adopted. */
  retuned(weighings: readonly PolicyEvaluation[], now: number): Scope
  /** The same keys for policies that vary, by what rule they are carried over. */
  varied(rule: StateRule, now: number): Scope & { readonly rows: MultiPlanRows }
}

/** Whether one of these policies refused the call. */
export function refuses(weighings: readonly PolicyEvaluation[]): boolean {
  for (let n = 0; n < weighings.length; n++) {
    const { wait, policy } = weighings[n] as PolicyEvaluation
    if (wait > 0 && !policy.shadow) return true
  }
  return false
}
