import type { Costs, DecidingVerb, Details, Tickets } from '../../../algorithms/evaluation/index.ts'
import type { BanTerms } from '../../contract/index.ts'
import type { PackedPlan } from '../script/index.ts'

/** The parameters of a request besides its keys and its costs. */
export interface RequestExtras {
  /** How long a reservation may wait, in microseconds. */
  readonly maxWait?: number | undefined
  /** For a settlement or a renewal: the tickets of the reservation. */
  readonly tickets?: Tickets | undefined
  readonly details?: Details | undefined
  /** True if a refusal has to report when `remaining` grows, so that the cache of refusals can repeat it until then. */
  readonly cacheable?: boolean | undefined
  /** How many units to take, including the cost of this request, if all of them stay taken for `shortestLife` microseconds. */
  readonly lease?: { readonly units: number; readonly shortestLife: number } | undefined
  /** For `ban`: the duration and the reason. */
  readonly ban?: BanTerms | undefined
  /** For a settlement: another slot refused the same call. Penalties count the refusal, with this wait in microseconds. */
  readonly punish?: number | undefined
  /** For a charge by a numbered report: the key of the sender's last number, this number, and the life of the key. */
  readonly report?: { readonly key: string; readonly number: number; readonly life: number } | undefined
  /** For a reservation: penalties do not count its refusal yet. The settlement with `punish` does. */
  readonly countsLater?: boolean | undefined
}

/** One request of a ledger to the script. */
export interface ScriptRequest extends RequestExtras {
  readonly plan: PackedPlan
  readonly verb: DecidingVerb | 'reset' | 'ban' | 'unban'
  /** The keys of the states, one for each scope of the plan. */
  readonly keys: readonly string[]
  readonly costs: Costs
  /** The time, in microseconds since the epoch; -1 for the time of Redis. */
  readonly now: number
}
