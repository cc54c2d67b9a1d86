import type { StateRule } from '../../../algorithms/index.ts'
import { HeadgateError } from '../../../common/index.ts'
import { slotOf } from '../keys.ts'
import { type PackedPlan, packPlan } from '../script/index.ts'

/** The keys of a call that are in one slot of Redis Cluster, with the policies of their scopes (kinds of key). */
export interface SlotGroup {
  readonly plan: PackedPlan
  readonly keys: readonly string[]
  /** For each policy of this group: the index of the policy in the list of all policies of the limiter. */
  readonly places: readonly number[]
}

/** Splits the calls of one plan (set of policies) by the Redis Cluster slots of their keys. */
export class SlotGroups {
  readonly #whole: PackedPlan
  readonly #onChange: StateRule
  /** Plans (sets of policies) for only some scopes (kinds of key), by the names of these scopes. */
  readonly #parts = new Map<string, PackedPlan>()

  constructor(whole: PackedPlan, onChange: StateRule) {
    this.#whole = whole
    this.#onChange = onChange
  }

  /** The keys of a call in groups, one group for each Redis Cluster slot; undefined if all keys are in one slot. */
  of(keys: readonly string[]): readonly SlotGroup[] | undefined {
    const bySlot = new Map<number, number[]>()
    for (const [index, key] of keys.entries()) {
      const slot = slotOf(key)
      bySlot.set(slot, [...(bySlot.get(slot) ?? []), index])
    }
    if (bySlot.size === 1) return undefined
    const { scopes, policies } = this.#whole
    return [...bySlot.values()].map((indexes) => {
      const plan = this.part(indexes.map((index) => scopes[index] as string))
      const places = plan.policies.map((policy) => policies.indexOf(policy))
      return { plan, keys: indexes.map((index) => keys[index] as string), places }
    })
  }

  /** The packed policies of only these scopes (kinds of key). */
  part(scopes: readonly string[]): PackedPlan {
    const name = JSON.stringify(scopes)
    let plan = this.#parts.get(name)
    if (plan === undefined) {
      const policies = this.#whole.policies.filter(({ scope }) => scopes.includes(scope))
      plan = packPlan(this.#whole.limiter, policies, scopes, this.#onChange)
      this.#parts.set(name, plan)
    }
    return plan
  }
}

/** The error for a list of costs whose keys are in several slots: no script call can evaluate the list there at one time. */
export function severalSlots(): HeadgateError {
  return new HeadgateError(
    'HEADGATE_UNSUPPORTED',
    'redisStore tries a list of costs in one step, but the keys of the call are in several hash slots of the Cluster. ' +
      "Put all keys of the store in one slot: redisStore({ client, prefix: '{quota}' }).",
  )
}
