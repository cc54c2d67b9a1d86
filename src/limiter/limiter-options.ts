import { type PenaltyOptions, penalty } from '../algorithms/bans/index.ts'
import { type CarryRule, carryRules, type Policy, type PolicyLike, toPolicy } from '../algorithms/index.ts'
import {
  anything,
  check,
  type Duration,
  HeadgateError,
  knownOptions,
  oneOf,
  optional,
  type Reader,
  readOptions,
  shown,
  text,
  warnOnce,
  whole,
} from '../common/index.ts'
import { defaultScope } from '../policy/index.ts'
import { failureOptions, type OnStoreError, type Store } from '../stores/contract/index.ts'
import { memoryStore } from '../stores/memory/index.ts'
import { HeavyKeys, mostCounters } from './heaviest/index.ts'
import { isPlan, type Plan, type PlanLike, Plans, type PolicyLikes } from './plans.ts'

export type { Plan, PlanLike, PolicyLikes } from './plans.ts'

/** The options of a `RateLimiter`. */
export interface RateLimiterOptions {
  /** One policy or several: each a text, the options of a sliding window, or the result of a policy's constructor. */
  policies: PolicyLikes
  /** Where states are kept. Default: a memory store of the limiter's own. Example: `redisStore({ client })`. */
  store?: Store
  /**
   * The limiter's namespace in the store, unique on this store. Example: `'login'`. Required on a store with a prefix,
   * because other programs may share that store. On other stores the default is `'default'`.
   */
  name?: string
  /**
   * Bans a key that keeps being refused, each time for longer. Default: no bans.
   * Example: `{ after: 5, within: '1h', ban: ['1h', '1d'] }`.
   */
  penalty?: PenaltyOptions
  /**
   * What happens to the units that a key has used when the numbers of a policy of that name change. `'keep'` (default)
   * keeps the number of units, `'scale'` keeps their part of the limit. A policy with a new name is a new quota.
   */
  onChange?: CarryRule
  /**
   * What happens to calls that the store cannot decide. `'closed'` (fail closed) rejects them with
   * `HEADGATE_STORE_UNAVAILABLE`, `'throw'` with the store's own error, `'open'` (fail open) lets them through, `'local'`
   * (default) decides them in this process. A function gets each failure and may return one of these:
   * `({ error, key }) => 'closed'`.
   */
  onStoreError?: OnStoreError | undefined
  /** How many processes share the limits. While the store fails, a process divides the limits by this. Default 1. */
  instances?: number | undefined
  /**
   * How long a call may wait for the store: milliseconds, or a text such as `'250ms'`. After that, `onStoreError`
   * decides. Default: the store's own `timeout`, or 100 ms. Infinity waits as long as the store does.
   */
  storeTimeout?: Duration | undefined
  /**
   * How many counters find the keys with the most calls, for `limiter.top()`: at most 1,000,000 for each scope, at
   * about 300 bytes each. The first 8,192 calls are all counted; after that, a sample of the calls. Default: none.
   * Example: `1000`.
   */
  top?: number
}

const isStore = (given: unknown) => typeof Reflect.get(Object(given), 'open') === 'function'
/** The reader of an option `store`. */
export const storeOption: Reader<Store | undefined> = optional(check(isStore, 'a store', 'memoryStore()'))

const readers = {
  policies: anything,
  store: storeOption,
  name: optional(text(undefined, 'HEADGATE_NAME')),
  penalty: anything,
  onChange: oneOf(...carryRules),
  top: optional(whole(undefined, { most: mostCounters })),
  ...failureOptions,
}

/** The options of a limiter for one plan: its policies, and what it shares with the limiters of other plans. */
export class PlanOptions<Limiter extends object> implements RateLimiterOptions {
  readonly policies: PolicyLikes
  readonly penalty?: PenaltyOptions
  readonly plans: Plans<Limiter>

  /** @throws HeadgateError `HEADGATE_OPTION` for a plan with a member other than `policies` and `penalty` */
  constructor(plan: PlanLike, plans: Plans<Limiter>) {
    if (isPlan(plan)) knownOptions('a plan', plan, ['policies', 'penalty'])
    const { policies, penalty = plans.options.penalty }: Plan = isPlan(plan) ? plan : { policies: plan }
    this.policies = policies
    if (penalty !== undefined && penalty !== false) this.penalty = penalty
    this.plans = plans
  }
}

/**
 * Validates all options but the policies.
 * @throws HeadgateError with the code of the option that is invalid
 */
export function readPlans<Limiter extends object>(options: Omit<RateLimiterOptions, 'policies'>): Plans<Limiter> {
  if (options instanceof PlanOptions) return options.plans
  const read = readOptions('RateLimiter', options as RateLimiterOptions, readers)
  warnOfNoStore(options)
  const { store = memoryStore(), name, top, onChange, penalty: punishment, policies: _, ...failure } = read
  if (punishment !== undefined) penalty(punishment, defaultScope, false)
  if (name === undefined && store.traits?.prefix !== undefined) throw unnamed(store.traits.prefix)
  return new Plans({
    name: name ?? 'default',
    // On a synchronous store, each limiter without a name has its own states.
    uniqueName: name !== undefined || !store.synchronous,
    store,
    onChange,
    penalty: punishment,
    failure,
    heavyKeys: top === undefined ? undefined : new HeavyKeys(top),
  })
}

/** Warns of a store that is given as undefined, because a missing setting does so: then the limit is of this process alone. */
export function warnOfNoStore(options: { readonly store?: Store | undefined }): void {
  if (!Object.hasOwn(options, 'store') || options.store !== undefined) return
  warnOnce(
    'HEADGATE_NO_STORE',
    'store is undefined, so this process counts alone, in its memory. Check what should make the store, such as a setting ' +
      'that is missing. If memory is meant, leave store out or write store: memoryStore().',
  )
}

/** The error for a missing name. Two services that forget it would share a quota. */
function unnamed(prefix: string): HeadgateError {
  return new HeadgateError(
    'HEADGATE_NAME',
    `A limiter on a store that other programs reach (prefix ${shown(prefix)}) needs a name of its own. ` +
      "Write name: 'api' beside policies and store.",
  )
}

/** @throws HeadgateError for an invalid policy, for an empty list, or for two policies of one name */
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
  checkLabels(policies)
  return Object.freeze(policies)
}

/** Labels must differ, because clients know policies by them. Shadow policies are never sent to clients. */
function checkLabels(policies: readonly Policy[]): void {
  const labels = policies.filter(({ shadow }) => !shadow).map(({ name, label = name }) => label)
  const twice = labels.find((label, n) => labels.indexOf(label) !== n)
  if (twice !== undefined) {
    throw new HeadgateError(
      'HEADGATE_DUPLICATE_POLICY',
      `Two policies are labelled ${shown(twice)} (a policy without a label shows its name). Give each its own label.`,
    )
  }
}

/** The penalty as a policy, the last of a limiter. If every other policy is a shadow, the penalty is a shadow too. */
function penaltyOf(options: PenaltyOptions, policies: readonly Policy[]): Policy {
  return penalty(
    options,
    (policies[0] as Policy).scope,
    policies.every(({ shadow }) => shadow),
  )
}
