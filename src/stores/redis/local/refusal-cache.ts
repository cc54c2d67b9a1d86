/*
 * If Redis refused a key until time t, this process can refuse the key until t without a request.
 *
 * A policy without units left admits no call, so its numbers change only with time. This process can repeat the refusal, with
 * shorter waits, until a used unit becomes free under one of the policies.
 *
 * An entry is for one cost and the keys of one call, under one plan (set of policies). A refusal is cached only if each of these keys has
 * no units left, because another call with a smaller cost could change a key that has units left. Nothing is cached for policies that
 * count refused calls, nor for penalties (bans after refusals) whose bans are extended by refused calls. Refunds, charges and resets by
 * this store remove the entry. Changes by other processes take effect here when the entry expires, by default at most a second later.
 *
 * A call with a different cost for each policy is neither cached nor decided here.
 */
import type { Policy } from '../../../algorithms/index.ts'
import type { Clock } from '../../../common/index.ts'
import type { PackedPlan } from '../script/index.ts'
import type { PolicyReport, ScriptResponse } from '../wire/index.ts'
import { type CacheEntry, KeyCache } from './key-cache.ts'

export interface CachedRefusal extends CacheEntry {
  readonly plan: PackedPlan
  readonly cost: number
  readonly response: ScriptResponse
}

export class RefusalCache extends KeyCache<CachedRefusal> {
  readonly #longest: number

  /** @param longest for how long a refusal is repeated at most, in microseconds */
  constructor(clock: Clock, longest: number) {
    super(clock)
    this.#longest = longest
  }

  refusal(plan: PackedPlan, keys: readonly string[], cost: number): CachedRefusal | undefined {
    const refusal = this.find(keys)
    return refusal !== undefined && refusal.plan === plan && refusal.cost === cost ? refusal : undefined
  }

  /**
   * Removes the cached refusal of these keys if the refusal is for another plan (set of policies), because a request under `plan`
   * may change the units of these keys.
   */
  forgetOtherPlans(plan: PackedPlan, keys: readonly string[]): void {
    const refusal = this.find(keys)
    if (refusal !== undefined && refusal.plan !== plan) this.forget(keys)
  }

  /** How old a refusal that `find` has just returned is, in microseconds: the time from the response of Redis to the call of `find`. */
  age(refusal: CachedRefusal): number {
    return this.foundAt - refusal.from
  }

  /**
   * Caches a refusal, if nothing but the passing of time can change the refusal.
   * @param sent the local time when the request was sent
   * @param version the version of this cache when the request was sent
   */
  add(
    plan: PackedPlan,
    keys: readonly string[],
    cost: number,
    response: ScriptResponse,
    sent: number,
    version: number,
  ): void {
    if (!response.repeats || this.isChanged(keys, version) || !onlyTimeChanges(plan, response)) return
    let life = Math.min(this.#longest, response.ban?.wait ?? Infinity)
    for (const { next } of response.reports) if (next !== undefined && next > 0) life = Math.min(life, next)
    const now = this.clock()
    // The refusal is valid for `life` microseconds from the time at which the request was sent. If the life began later, this
    // process could refuse calls that Redis would admit.
    const until = sent + life
    if (now < until) this.set(keys, { plan, cost, response, from: now, until, version })
  }
}

/** True if no call can change the refusal: the call has one key, which is banned, or each of its keys has no units left. */
function onlyTimeChanges(plan: PackedPlan, { reports, ban }: ScriptResponse): boolean {
  return (ban !== undefined && plan.scopes.length === 1) || isExhausted(plan, reports)
}

/** True if every scope (kind of key) of the call has a policy that refuses the call and has no units left. */
function isExhausted({ policies, scopes }: PackedPlan, reports: readonly PolicyReport[]): boolean {
  // With a penalty (ban after refusals), a refusal may be repeated only during a ban, because any other refusal is counted by the penalty.
  const deciding = punishes(policies) ? policies.filter(({ algorithm }) => algorithm.punishes) : policies
  const exhausted = policies.filter((policy, n) => {
    const { wait, remaining } = reports[n] as PolicyReport
    return wait !== 0 && remaining === 0 && !policy.shadow && deciding.includes(policy)
  })
  return scopes.every((scope) => exhausted.some((policy) => policy.scope === scope))
}

function punishes(policies: readonly Policy[]): boolean {
  return policies.some(({ algorithm, shadow }) => algorithm.punishes && !shadow)
}
