import { HeadgateError, warnOfSeconds } from '../common/index.ts'
import { type BurstOptions, type PolicySettings, policySettings } from '../policy/index.ts'
import type { Algorithm, Policy } from './algorithm.ts'

type Remake = (limit: number, burst: number | undefined) => Policy

/** For each policy, the function that makes the same policy with another limit. */
const remakers = new WeakMap<Policy, Remake>()

/** How to make a policy again from JSON: the name of its constructor, such as `'tokenBucket'`, and the options. */
export type Recipe = readonly [constructor: string, options: object]

const recipes = new WeakMap<Policy, Recipe>()

/**
 * Validates the options of a policy, and makes the policy.
 * @param extra names of options that only this algorithm has
 * @param build makes the algorithm from the settings, and from the window in microseconds
 * @param more makes the parts that only some policies have
 * @throws HeadgateError if an option is unknown or out of range
 */
export function definePolicy(
  name: string,
  options: BurstOptions,
  extra: readonly string[],
  build: (settings: PolicySettings, window: number) => Algorithm,
  more?: (settings: PolicySettings) => OwnParts,
): Policy {
  const read = policySettings(name, options, extra)
  const settings = { ...read, ...more?.(read) }
  warnOfSeconds(options.window, `${name}: window`)
  const algorithm = build(settings, settings.window * 1000)
  // A limit of 0 admits no call, so refused calls need not be counted.
  if (settings.limit === 0) return makePolicy({ ...settings, countRefused: false }, algorithm, notWithLimit)
  const policy = makePolicy(settings, algorithm, (limit, burst) => {
    const changed = { ...options, limit, ...(options.burst && burst ? { burst } : {}) }
    return limit === 0 ? notWithLimit() : definePolicy(name, changed, extra, build, more)
  })
  recipes.set(policy, [name, { ...options }])
  return policy
}

/** The recipe of a policy. Undefined for a policy with a limit of 0, and for a policy that needs more than its options. */
export function recipeOf(policy: Policy): Recipe | undefined {
  return recipes.get(policy)
}

/** Throws: a limit above 0 cannot be changed to 0, and a limit of 0 cannot be changed. */
function notWithLimit(): never {
  throw new HeadgateError(
    'HEADGATE_RATE',
    'A policy with a limit of 0 admits nobody, and its rate cannot be set. Use a policy with a limit, and pause().',
  )
}

/** The parts of a policy that only some policies have: policies with a calendar, and policies that count units in flight. */
type OwnParts = Pick<Policy, 'calendar' | 'thresholds' | 'retryAfter'>

/** Makes a policy from its settings and its algorithm. @param remake makes the same policy with another limit */
export function makePolicy(settings: PolicySettings & OwnParts, algorithm: Algorithm, remake: Remake): Policy {
  Object.freeze(algorithm)
  const policy: Policy = Object.freeze({ ...settings, algorithm })
  remakers.set(policy, remake)
  return policy
}

/**
 * The same policy with another limit. The new policy can use the stored states of `policy`. If `policy` was made without a burst, the
 * burst of the new policy follows from the new limit.
 * @param burst the new burst, if `policy` was made with a burst; default: the burst of `policy`
 * @throws HeadgateError if the limit or the burst is out of range, or `HEADGATE_RATE` if the old or the new limit is 0
 * @throws HeadgateError `HEADGATE_POLICY` if no function of headgate, such as `tokenBucket`, made the policy
 */
export function withLimit(policy: Policy, limit: number, burst?: number): Policy {
  const remake = remakers.get(policy)
  if (remake !== undefined) return remake(limit, burst)
  throw new HeadgateError(
    'HEADGATE_POLICY',
    'This policy was not made by a constructor. Use one such as tokenBucket({ limit, window }).',
  )
}

/** True if responses show the policy to clients. */
export function isListed({ listed }: Policy): boolean {
  return listed !== false
}

/**
 * A policy without the settings that only change what clients see: its label, and whether and how responses show the policy. These settings
 * may change without an effect on the stored states of the policy.
 */
export function unshown({
  label,
  listed,
  retryAfter,
  ...policy
}: Policy): Omit<Policy, 'label' | 'listed' | 'retryAfter'> {
  return policy
}
