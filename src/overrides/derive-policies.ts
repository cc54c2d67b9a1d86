import { type Policy, ratioUp, withLimit } from '../algorithms/index.ts'
import { isCounter } from '../algorithms/windows/index.ts'
import type { OverrideRecord } from './override-record.ts'

/** An override, with its policies as objects. */
export interface Entry {
  readonly record: OverrideRecord
  readonly policies: readonly Policy[] | undefined
}

/** The overrides that match the keys of one scope, the most specific first: the key, then prefixes by length, then `'*'`. */
export interface Chain {
  /** Identifies the chain among the chains of its table. */
  readonly id: number
  readonly entries: readonly Entry[]
  /** When the first of these overrides ends, in milliseconds since the epoch. Infinity if none ends. */
  readonly until: number
  /** True if all overrides are for `'*'`. */
  readonly isRest: boolean
}

/** The policies of a call under overrides, and the overrides that apply. */
export interface Derived {
  readonly policies: readonly Policy[]
  /** The overrides that apply to a policy. Empty if none does. */
  readonly applied: readonly OverrideRecord[]
  /** True if an override has replaced policies, which may then have other names than in the plan. */
  readonly renamed: boolean
  /** The error of a policy that cannot have the numbers of an override, and so keeps its own. Undefined if there is none. */
  readonly misfit: unknown
}

/** What the overrides of a call did to its policies. */
interface Effect {
  readonly applied: Set<OverrideRecord>
  misfit: unknown
}

const millionths = 1_000_000

/**
 * Derives the policies of a call: the most specific `limit`, `add` or `policies` applies, then the smallest `scale`.
 * @param plan the policies of the caller, without a penalty
 * @param chainOf the overrides that match the key of a scope
 */
export function derivePolicies(plan: readonly Policy[], chainOf: (scope: string) => Chain | undefined): Derived {
  const effect: Effect = { applied: new Set(), misfit: undefined }
  const policies: Policy[] = []
  const replaced = new Set<string>()
  for (const policy of plan) {
    const { scope } = policy
    const entries = chainOf(scope)?.entries ?? []
    const at = replacementAt(plan, scope, entries)
    if (at === -1) policies.push(changed(policy, entries, entries.length, effect))
    else if (!replaced.has(scope)) {
      const { record, policies: others = [] } = entries[at] as Entry
      effect.applied.add(record)
      replaced.add(scope)
      policies.push(...others.map((each) => changed(each, entries, at, effect)))
    }
  }
  return { policies, applied: [...effect.applied], renamed: replaced.size > 0, misfit: effect.misfit }
}

/**
 * The index of the override whose policies replace those of the scope. -1 if there is none, or if a more specific `limit` or `add` applies
 * to a policy that would be gone: the scope then keeps all its policies.
 */
function replacementAt(plan: readonly Policy[], scope: string, entries: readonly Entry[]): number {
  const at = entries.findIndex((entry) => entry.policies !== undefined)
  // Only an override of the key itself opens a plan that admits nobody.
  const isClosed = (policy: Policy) => policy.scope === scope && policy.limit === 0 && !policy.shadow
  if (entries[at]?.record.key === undefined && plan.some(isClosed)) return -1
  if (at <= 0) return at
  const names = entries[at]?.policies?.map(({ name }) => name)
  const gone = plan.filter((policy) => policy.scope === scope && !names?.includes(policy.name))
  const before = entries.slice(0, at).filter(({ record }) => record.scale === undefined)
  const effect: Effect = { applied: new Set(), misfit: undefined }
  for (const policy of gone) changed(policy, before, at, effect)
  return effect.applied.size === 0 ? at : -1
}

/**
 * The policy with the numbers of the overrides.
 * @param before how many entries are more specific than the override that gave this policy. Only these entries' `limit` and `add`
 *   apply. For a policy of the plan: the number of all entries
 */
function changed(policy: Policy, entries: readonly Entry[], before: number, effect: Effect): Policy {
  // A penalty has no quota, a counter has no limit, and a policy with the limit 0 refuses every call on purpose.
  if (policy.algorithm.punishes || (isCounter(policy) && policy.countRefused) || policy.limit === 0) return policy
  const records = entries.map(({ record }) => record)
  const isNamed = (record: OverrideRecord) => record.policy === policy.name
  // Another policy with the limit of a counter counts customers that have no limit: an override may limit them, but has nothing to add to.
  const isNumber = ({ limit, scale }: OverrideRecord) =>
    scale === undefined && (limit !== undefined || !isCounter(policy))
  const numbers = records.slice(0, before).filter((record) => isNamed(record) && isNumber(record))
  const scales = records.filter((record) => record.scale !== undefined && (isNamed(record) || !record.policy))
  scales.sort((a, b) => (a.scale as number) - (b.scale as number)) // the smallest scale first
  const limited = underFirst(numbers, policy, effect)
  return limited === policy && isCounter(policy) ? policy : underFirst(scales, limited, effect)
}

/**
 * The policy with the numbers of the first override that the policy can have: an override never makes a call fail. An override with the
 * policy's own numbers applies too, and keeps those after it away.
 */
function underFirst(records: readonly OverrideRecord[], policy: Policy, effect: Effect): Policy {
  for (const record of records) {
    try {
      const next = withLimit(policy, ...numbersOf(policy, record))
      effect.applied.add(record)
      return next
    } catch (error) {
      effect.misfit ??= error
    }
  }
  return policy
}

/** The limit and the burst of the policy under an override. The burst is undefined if the override leaves it. */
function numbersOf(
  policy: Policy,
  { limit = policy.limit, add = 0, scale }: OverrideRecord,
): readonly [limit: number, burst?: number] {
  if (scale === undefined) return [limit + add]
  if (policy.algorithm.paysLater) return [policy.limit * scale] // a rate may have a fraction
  const times = (units: number) => Math.max(1, ratioUp(units, Math.round(scale * millionths), millionths))
  return [times(policy.limit), times(policy.burst)]
}

/** True for a factor with at most 6 decimals, so that a multiple of a limit is exact. */
export function isScale(given: unknown): boolean {
  return typeof given === 'number' && given > 0 && given <= 1000 && Number(given.toFixed(6)) === given
}
