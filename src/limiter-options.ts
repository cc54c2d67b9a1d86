import type { Policy } from './algorithms/algorithm.ts'
import { type CarryRule, carryRules } from './algorithms/carry.ts'
import { type PenaltyOptions, penalty } from './algorithms/penalty.ts'
import { type PolicyLike, toPolicy } from './algorithms/shorthand.ts'
import type { Duration } from './duration.ts'
import { HeadgateError, shown } from './errors.ts'
import type { OnStoreError } from './failure/on-store-error.ts'
import { failureOptions, readFailureOptions } from './failure/on-store-error.ts'
import { knownOptions, text } from './options.ts'
import { Plans } from './plans.ts'
import { defaultScope } from './policy.ts'
import { memoryStore } from './stores/memory/memory-store.ts'
import type { Store } from './stores/store.ts'

/** One policy or several, in any form that a policy may be written in. */
export type PolicyLikes = PolicyLike | readonly PolicyLike[]

export interface RateLimiterOptions {
  /** One policy or several: text, the options of a sliding window, or what a constructor made. */
  policies: PolicyLikes
  /** Where states are kept. Default: a memory store of its own. */
  store?: Store
  /** The namespace in the store, no other limiter's on this store. Default `'default'`. */
  name?: string
  /** Blocks a key that keeps being refused, each time for longer. Default: nobody is punished. */
  penalty?: PenaltyOptions
  /**
   * What becomes of what a key has used when the numbers of a policy of that name change: it stays the same number of
   * units (`'keep'`, the default), or the same part of the limit (`'scale'`), or is forgotten (`'reset'`).
   */
  onChange?: CarryRule
  /**
   * What happens to calls that the store cannot decide: `'deny'` rejects them with `HEADGATE_STORE_UNAVAILABLE`, `'allow'`
   * lets them through, `'local'` decides them in this process. Or a function that is told and may say. Default `'local'`.
   */
  onStoreError?: OnStoreError | undefined
  /** How many processes share the limits: a local decision is by that part of them. Default 1. */
  instances?: number | undefined
  /** How long a call may wait for the store. Default: what the store itself allows, or 100 ms. */
  storeTimeout?: Duration | undefined
}

const limiterOptions: readonly string[] = [
  'policies',
  'store',
  'name',
  'penalty',
  'onChange',
  ...failureOptions,
] as const satisfies (keyof RateLimiterOptions)[]

/**
 * Validates all but the policies.
 * @throws HeadgateError with the code of what is wrong
 */
export function readFamily<Limiter>(options: Omit<RateLimiterOptions, 'policies'>): Plans<Limiter> {
  if (typeof options !== 'object' || options === null) {
    throw new HeadgateError(
      'HEADGATE_OPTION',
      `RateLimiter takes an object, got ${shown(options)}. Write new RateLimiter({ policies: ['100/15m'] }).`,
    )
  }
  knownOptions('RateLimiter', options, limiterOptions)
  const { penalty: punishment, onChange = 'keep' } = options
  if (punishment !== undefined) penalty(punishment, defaultScope, false)
  const name = text(options.name ?? 'default', 'RateLimiter: name', 'HEADGATE_NAME')
  const store = options.store ?? memoryStore()
  if (typeof store.open !== 'function') {
    throw new HeadgateError(
      'HEADGATE_OPTION',
      `store must be a store, got ${shown(options.store)}. Give memoryStore(), or leave it out.`,
    )
  }
  if (!carryRules.includes(onChange)) {
    throw new HeadgateError(
      'HEADGATE_OPTION',
      `onChange must be 'keep', 'scale' or 'reset', got ${shown(onChange)}. Leave it out for 'keep'.`,
    )
  }
  const named = options.name !== undefined || !store.synchronous
  return new Plans({
    name,
    named,
    store,
    onChange,
    penalty: punishment,
    failure: readFailureOptions(options, 'RateLimiter'),
  })
}

/** @throws HeadgateError for a policy that is out of range, none, or two of one name */
export function policiesOf(likes: PolicyLikes, punishment: PenaltyOptions | undefined): readonly Policy[] {
  if (likes === undefined) {
    throw new HeadgateError('HEADGATE_POLICY', `A limiter needs policies. Give policies: ['100/15m'].`)
  }
  const policies = (Array.isArray(likes) ? (likes as readonly PolicyLike[]) : [likes as PolicyLike]).map(toPolicy)
  if (policies.length === 0) {
    throw new HeadgateError('HEADGATE_POLICY', `A limiter needs at least one policy. Give policies: ['100/15m'].`)
  }
  if (punishment !== undefined) policies.push(penaltyOf(punishment, policies))
  const names = policies.map((policy) => policy.name)
  const twice = names.find((name, n) => names.indexOf(name) !== n)
  if (twice !== undefined) {
    throw new HeadgateError(
      'HEADGATE_DUPLICATE_POLICY',
      `Two policies are named ${shown(twice)} (a policy without a name is named by its window). ` +
        `Give each its own: tokenBucket({ name: 'burst', ... }).`,
    )
  }
  return Object.freeze(policies)
}

/** It comes last, and punishes nobody where nobody is refused. */
function penaltyOf(options: PenaltyOptions, policies: readonly Policy[]): Policy {
  return penalty(
    options,
    (policies[0] as Policy).scope,
    policies.every(({ shadow }) => shadow),
  )
}
