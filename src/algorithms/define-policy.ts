import { HeadgateError, warnOfSeconds } from '../common/index.ts'
import { type BurstOptions, type PolicySettings, policySettings } from '../policy/index.ts'
import type { Algorithm, Policy } from './algorithm.ts'

type Remake = (limit: number, burst: number | undefined) => Policy

/** For each policy, the function that makes it again with another limit. */
const remakers = new WeakMap<Policy, Remake>()

/**
 * Validates the options of a policy and joins them with the arithmetic.
 * @param extra names of the options that this algorithm has beside those of every policy
 * @param build makes the arithmetic from the settings, and from the window in microseconds
 * @throws HeadgateError if an option is unknown or out of range
 */
export function definePolicy(
  name: string,
  options: BurstOptions,
  extra: readonly string[],
  build: (settings: PolicySettings, window: number) => Algorithm,
): Policy {
  const settings = policySettings(name, options, extra)
  warnOfSeconds(options.window, `${name}: window`)
  const algorithm = build(settings, settings.window * 1000)
  // Under a limit of 0 there is nothing to count: no unit ever comes back.
  if (settings.limit === 0) return makePolicy({ ...settings, countRefused: false }, algorithm, notWithLimit)
  return makePolicy(settings, algorithm, (limit, burst) => {
    const changed = { ...options, limit, ...(options.burst && burst ? { burst } : {}) }
    return limit === 0 ? notWithLimit() : definePolicy(name, changed, extra, build)
  })
}

/** Throws: a policy with a limit above 0 cannot become one with a limit of 0, nor the other way round. */
function notWithLimit(): never {
  throw new HeadgateError(
    'HEADGATE_RATE',
    'A policy with a limit of 0 admits nobody, and its rate cannot be set. Use a policy with a limit, and pause().',
  )
}

/** Joins settings with their arithmetic. @param remake makes the same policy with another limit */
export function makePolicy(settings: PolicySettings, algorithm: Algorithm, remake: Remake): Policy {
  Object.freeze(algorithm)
  const policy: Policy = Object.freeze({ ...settings, algorithm })
  remakers.set(policy, remake)
  return policy
}

/**
 * The same policy with another limit, which can adopt the states of `policy`. A burst that was not given follows the limit.
 * @param burst replaces a burst that was given; if left out, the given burst stays
 * @throws HeadgateError as the constructor of the policy does, `HEADGATE_RATE` from or to a limit of 0, or `HEADGATE_POLICY`
 *   if no constructor made the policy
 */
export function withLimit(policy: Policy, limit: number, burst?: number): Policy {
  const remake = remakers.get(policy)
  if (remake !== undefined) return remake(limit, burst)
  throw new HeadgateError(
    'HEADGATE_POLICY',
    'This policy was not made by a constructor. Use one such as tokenBucket({ limit, window }).',
  )
}
