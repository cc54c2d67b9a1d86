/*
 * A key that is refused until t can be refused locally until t.
 *
 * A policy with nothing left admits no call, so only time changes its numbers. This process can repeat the refusal, with its
 * times counted down, until a policy of the call gives a unit back.
 *
 * An entry is for one cost and the keys of one call, under one plan. Each of these keys must have nothing left:
 * a key with units left could change by other calls. Nothing is cached for policies that count refused calls, nor for
 * penalties whose bans are extended by refused calls.
 * Nothing is cached while units are left, because a smaller call elsewhere may take them. Refunds, charges and resets
 * made through the same store remove the entry. Changes by other processes take effect when the entry expires, which is soon: an
 * entry lasts for a second by default, and then Redis is asked again.
 *
 * A call with a cost for each policy is neither cached nor decided here: another such call may cost nothing where this one is refused.
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

  /** @param longest the longest time that a refusal is repeated, in microseconds */
  constructor(clock: Clock, longest: number) {
    super(clock)
    this.#longest = longest
  }

  refusal(plan: PackedPlan, keys: readonly string[], cost: number): CachedRefusal | undefined {
    const refusal = this.find(keys)
    return refusal !== undefined && refusal.plan === plan && refusal.cost === cost ? refusal : undefined
  }

  /** Removes a refusal under another plan: a request under this plan may change the numbers of the other plan. */
  forgetOtherPlans(plan: PackedPlan, keys: readonly string[]): void {
    const refusal = this.find(keys)
    if (refusal !== undefined && refusal.plan !== plan) this.forget(keys)
  }

  /** The time between the receipt of the refusal and the `find` that returned it, in microseconds. */
  age(refusal: CachedRefusal): number {
    return this.foundAt - refusal.from
  }

  /**
   * Caches a refusal, if only time can change it.
   * @param sent the local time when the request was sent
   * @param version the version of this cache at that time
   */
  add(
    plan: PackedPlan,
    keys: readonly string[],
    cost: number,
    response: ScriptResponse,
    sent: number,
    version: number,
  ): void {
    if (!response.repeats || version !== this.version || !onlyTimeChanges(plan, response)) return
    let life = Math.min(this.#longest, response.ban?.wait ?? Infinity)
    for (const { next } of response.reports) if (next !== undefined && next > 0) life = Math.min(life, next)
    const now = this.clock()
    // Counts the life from when the request was sent, so that no call is refused here that Redis would admit.
    const until = sent + life
    if (now < until) this.set(keys, { plan, cost, response, from: now, until, version })
  }
}

/** True if no call can change the refusal: each of the keys is banned, or has nothing left. */
function onlyTimeChanges(plan: PackedPlan, { reports, ban }: ScriptResponse): boolean {
  return (ban !== undefined && plan.scopes.length === 1) || isExhausted(plan, reports)
}

/** True if every scope has a policy that refuses and has nothing left. */
function isExhausted({ policies, scopes }: PackedPlan, reports: readonly PolicyReport[]): boolean {
  // A refusal changes the state of a penalty, except during a ban.
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
