import type { Costs, Details, Tickets, Verb } from '../../../algorithms/evaluation/index.ts'
import type { BanTerms } from '../../contract/index.ts'
import type { PackedPlan } from '../script/index.ts'

/** The parameters of a request besides its keys and its costs. */
export interface RequestExtras {
  /** How long a reservation may wait, in microseconds. */
  readonly maxWait?: number | undefined
  /** For a settlement or a renewal: those of the reservation. */
  readonly tickets?: Tickets | undefined
  readonly details?: Details | undefined
  /** True if a refusal has to report when `remaining` grows, so that the cache of refusals can repeat it until then. */
  readonly cacheable?: boolean | undefined
  /** How many units to take, including the cost of this request, if all of them stay taken for so many microseconds. */
  readonly lease?: { readonly units: number; readonly shortestLife: number } | undefined
  /** For `ban`. */
  readonly ban?: BanTerms | undefined
  /** For a settlement: penalties count it, because a slot refused the same call, which has to wait so many microseconds. */
  readonly punish?: number | undefined
  /** For a charge: the key that has the last number of the reports of this sender. */
  readonly report?: { readonly key: string; readonly number: number; readonly life: number } | undefined
  /** For a reservation: penalties do not count its refusal yet. A settlement with `punish` follows. */
  readonly countsLater?: boolean | undefined
}

/** One request of a ledger to the script. */
export interface ScriptRequest extends RequestExtras {
  readonly plan: PackedPlan
  readonly verb: Verb | 'reset' | 'ban' | 'unban'
  /** The keys of the states, one for each scope of the plan. */
  readonly keys: readonly string[]
  readonly costs: Costs
  /** Microseconds since the epoch, or -1 for the time of Redis. */
  readonly now: number
}
