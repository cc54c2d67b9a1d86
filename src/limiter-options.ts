import type { Policy } from './algorithms/algorithm.ts'
import { type PolicyLike, toPolicy } from './algorithms/shorthand.ts'
import { HeadgateError, shown } from './errors.ts'
import { knownOptions, text } from './policy.ts'
import { memoryStore } from './stores/memory.ts'
import type { Store } from './stores/store.ts'

export interface RateLimiterOptions {
  /** One policy or several: text, the options of a sliding window, or what a constructor made. */
  policies: PolicyLike | readonly PolicyLike[]
  /** Where states are kept. Default: a memory store of its own. */
  store?: Store
  /** The namespace in the store, no other limiter's on this store. Default `'default'`. */
  name?: string
}

/** What a limiter is made of, validated. */
export interface LimiterParts {
  readonly name: string
  readonly policies: readonly Policy[]
  readonly store: Store
}

/**
 * Validates what a user wrote, and claims the name on the store.
 * @throws HeadgateError with the code of what is wrong
 */
export function readLimiterOptions(options: RateLimiterOptions): LimiterParts {
  if (typeof options !== 'object' || options === null) {
    throw new HeadgateError(
      'HEADGATE_OPTION',
      `RateLimiter takes an object, got ${shown(options)}. Write new RateLimiter({ policies: ['100/15m'] }).`,
    )
  }
  knownOptions('RateLimiter', options, ['policies', 'store', 'name'])
  const name = text(options.name ?? 'default', 'RateLimiter: name', 'HEADGATE_NAME')
  const policies = policiesOf(options.policies)
  const store = options.store ?? memoryStore()
  if (typeof store.open !== 'function') {
    throw new HeadgateError(
      'HEADGATE_OPTION',
      `store must be a store, got ${shown(options.store)}. Give memoryStore(), or leave it out.`,
    )
  }
  if (options.name !== undefined) claimName(store, name)
  return { name, policies, store }
}

/** The names that were given to limiters, by the store that they are on: two of one name would share their states. */
const namesOn = new WeakMap<Store, Set<string>>()

function claimName(store: Store, name: string): void {
  const names = namesOn.get(store) ?? new Set()
  if (names.has(name)) {
    throw new HeadgateError(
      'HEADGATE_DUPLICATE_LIMITER',
      `Another limiter on this store is named ${shown(name)}. Give each its own name, or one limiter to all that share a quota.`,
    )
  }
  namesOn.set(store, names.add(name))
}

/** @throws HeadgateError for a policy that is out of range, none, or two of one name */
export function policiesOf(likes: PolicyLike | readonly PolicyLike[]): readonly Policy[] {
  if (likes === undefined) {
    throw new HeadgateError('HEADGATE_POLICY', `A limiter needs policies. Give policies: ['100/15m'].`)
  }
  const policies = (Array.isArray(likes) ? (likes as readonly PolicyLike[]) : [likes as PolicyLike]).map(toPolicy)
  if (policies.length === 0) {
    throw new HeadgateError('HEADGATE_POLICY', `A limiter needs at least one policy. Give policies: ['100/15m'].`)
  }
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
