import type { Alternatives, Costs, DecidingVerb, Details, Tickets } from '../../../algorithms/evaluation/index.ts'
import type { BanTerms, Command } from '../../contract/index.ts'
import type { PackedPlan } from '../script/index.ts'
import type { ScriptResponse } from './script-response.ts'

/** The parameters of a request besides its keys and its costs. Each is undefined if the request does not need it. */
export interface RequestExtras {
  /** For a call that tries several costs in order: all these costs. `costs` equals the first of these costs. */
  readonly alternatives?: Alternatives | undefined
  /** For a reservation: the longest wait with which the reservation is granted, in microseconds. */
  readonly maxWait?: number | undefined
  /** For a reservation that expires: after how many microseconds the reservation gives its units back. */
  readonly expires?: number | undefined
  /** For a settlement (correction to the actual cost) or a renewal: the tickets that the reservation returned. */
  readonly tickets?: Tickets | undefined
  /** For a refund: true if the units are those of a call that made no reservation. */
  readonly unreserved?: boolean | undefined
  readonly details?: Details | undefined
  /** For each policy with a calendar: the windows around the request. */
  readonly windows?: Command['windows']
  /** The calendar of the customer, from which windows are computed if a part of the request is sent a second time. */
  readonly calendar?: Command['calendar']
  /** True if a refusal has to report when `remaining` grows, because the cache of refusals repeats the refusal until then. */
  readonly cacheable?: boolean | undefined
  /**
   * A lease: how many units to take, including the cost. The lease is granted only if the units stay used for at least
   * `shortestLife` microseconds.
   */
  readonly lease?: { readonly units: number; readonly shortestLife: number } | undefined
  /** For `ban`: the duration and the reason of the ban. */
  readonly ban?: BanTerms | undefined
  /**
   * For a settlement after a slot of Redis Cluster has refused the call: the call's wait, in microseconds. Penalties (bans after refusals)
   * and policies with `countRefused` then count the refusal.
   */
  readonly punish?: number | undefined
  /**
   * For a charge that may arrive twice: the number of the charge, and the Redis key that stores the sender's last number for `life`
   * microseconds.
   */
  readonly report?: { readonly key: string; readonly number: number; readonly life: number } | undefined
  /**
   * For a reservation: true if the policies must not count a refusal of the reservation, because a settlement with `punish` will count the
   * refusal.
   */
  readonly countsLater?: boolean | undefined
  /**
   * For a reservation in one slot of Redis Cluster: true if the script reports the thresholds that the units reach, but does not note in the
   * states that they were reported, because another slot may refuse the call. For a charge: true if the charge takes nothing, and notes and
   * reports these thresholds. Its costs are 0 for policies that have reached thresholds, and -1 for all others.
   */
  readonly tellsLater?: boolean | undefined
  /** Called with a response that comes after the request has timed out. Undefined if nobody needs such a response. */
  readonly late?: ((response: ScriptResponse) => void) | undefined
}

/** A request that the script decides. */
export interface ScriptRequest extends RequestExtras {
  readonly plan: PackedPlan
  readonly verb: DecidingVerb | 'reset' | 'ban' | 'unban'
  /** The Redis keys of the states, one for each scope (kind of key) of the policies. */
  readonly keys: readonly string[]
  readonly costs: Costs
  /** The time of the decision, in microseconds since the epoch; -1 for the time of Redis. */
  readonly now: number
}
