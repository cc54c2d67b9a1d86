import { type PenaltyOptions, penalty } from '../algorithms/bans/index.ts'
import { type CarryRule, carryRules, type Policy, type PolicyLike, toPolicy } from '../algorithms/index.ts'
import {
  anything,
  check,
  type Duration,
  HeadgateError,
  hook,
  knownOptions,
  type MaybePromise,
  oneOf,
  optional,
  ownText,
  type Reader,
  readOptions,
  shown,
  text,
  warnOnce,
  whole,
} from '../common/index.ts'
import { defaultScope } from '../policy/index.ts'
import {
  failureOptions,
  type OnStoreError,
  type OverrideExtent,
  type Store,
  type ThresholdEvent,
} from '../stores/contract/index.ts'
import { memoryStore } from '../stores/memory/index.ts'
import { checkCandidate } from './candidate/index.ts'
import { HeavyKeys, mostCounters } from './heaviest/index.ts'
import { tellerOf } from './limiter-events.ts'
import { type Candidate, isPlan, type Plan, type PlanLike, Plans, type PolicyLikes } from './plans.ts'
import { unlimited } from './unlimited.ts'

export type { Candidate, Plan, PlanLike, PolicyLikes } from './plans.ts'

/** The options of a `RateLimiter`. */
export interface RateLimiterOptions {
  /**
   * One policy or a list. A policy is a text such as `'100/15m'`, the options of a sliding window, or a constructor's result.
   * `'unlimited'` in place of policies admits every call, counts nothing and asks no store.
   */
  policies: PolicyLikes
  /** Where states are stored. Default: a memory store for this limiter only. Example: `redisStore({ client })`. */
  store?: Store
  /**
   * The name of the limiter, which is the namespace of its keys in the store. Each limiter of a store needs another name.
   * Required for a store with a prefix, because other programs may use that store. Default for other stores: `'default'`.
   * Example: `'login'`.
   */
  name?: string | undefined
  /**
   * Bans a key after repeated refusals, or when its quota is spent. Default: no bans. Example: `{ on: 'spent', ban: ['1h', '1d'] }`
   * bans for 1 hour, and later for 1 day.
   */
  penalty?: PenaltyOptions | undefined
  /**
   * Policies that are tried beside `policies`: a limiter named `name~candidate` decides each call too, by its own counts, and its decisions
   * change nothing. `health()` and the metrics compare both. A plan has a candidate of its own: `{ policies, candidate }`. Default: none.
   * Example: `'80/15m'`.
   */
  candidate?: Candidate | undefined
  /**
   * How the used units of a key change when the numbers of a policy with the same name change. `'keep'` keeps the number of used
   * units. `'scale'` keeps the fraction of the limit that is used. A policy with a new name starts with a full quota. Default
   * `'keep'`.
   */
  onChange?: CarryRule | undefined
  /**
   * How a call is decided if the store fails. `'closed'` rejects with `HEADGATE_STORE_UNAVAILABLE`. `'throw'` rejects with the
   * store's error. `'open'` allows the call. `'local'` lets this process decide by its own count. A function gets each failure, and
   * may return one of these words. Default `'local'`. Example: `({ error, key }) => 'closed'`.
   */
  onStoreError?: OnStoreError | undefined
  /** How many processes share the limits. While the store fails, each process uses the limits divided by this number. Default 1. */
  instances?: number | undefined
  /**
   * How long a call may wait for the store: milliseconds, or a text such as `'250ms'`. After this time, `onStoreError` decides
   * about the call. With Infinity, only the `timeout` of the store ends the wait. Default: the `timeout` of the store, or 100 ms if
   * the store has no `timeout`.
   */
  storeTimeout?: Duration | undefined
  /**
   * The number of counters for `limiter.top()`, which finds the keys with the most calls. At most 1,000,000 for each scope (such as
   * `user`). A counter takes about 300 bytes. All of the first 8,192 calls are counted, and later a sample of the calls. Default: no
   * counters, and `top()` throws. Example: `1000`.
   */
  top?: number | undefined
  /**
   * Called once for each key, window and threshold, in the process whose call reached the threshold of a policy with `thresholds`. If
   * the hook throws or rejects, the call is not affected, and a warning is given once. Default: none. Example:
   * `({ key, threshold, resetAt }) => webhooks.send(key, { threshold, resetAt })`.
   */
  onThreshold?: ((event: ThresholdEvent) => MaybePromise<unknown>) | undefined
}

const none: readonly Policy[] = Object.freeze([])

const isStore = (given: unknown) => typeof Reflect.get(Object(given), 'open') === 'function'
/** Reads and checks an option `store`. */
export const storeOption: Reader<Store | undefined> = optional(check(isStore, 'a store', 'redisStore({ client })'))

const readers = {
  policies: anything,
  store: storeOption,
  name: optional(text(undefined, 'HEADGATE_NAME')),
  penalty: anything,
  candidate: anything,
  onChange: oneOf(...carryRules),
  top: optional(whole(undefined, { most: mostCounters })),
  onThreshold: hook('({ key, threshold }) => ...'),
  ...failureOptions,
}

/** The options of a limiter for one plan: the policies of one caller, and the parts that the limiters of all plans share. */
export class PlanOptions<Limiter extends object> implements RateLimiterOptions {
  readonly policies: PolicyLikes
  readonly penalty?: PenaltyOptions
  /** The plan as it was passed to `withPlan`. */
  readonly plan: PlanLike
  readonly candidate: Candidate | undefined
  readonly plans: Plans<Limiter>
  /** Whether the override that gave the policies is for all keys or for some keys. Undefined if the policies come from no override. */
  readonly override: OverrideExtent | undefined

  /** @throws HeadgateError `HEADGATE_OPTION` if a plan (policies of one caller) has an unknown property */
  constructor(given: PlanLike, plans: Plans<Limiter>, override?: OverrideExtent) {
    const plan = typeof given === 'string' ? ownText(given) : given
    if (isPlan(plan)) knownOptions('a plan', plan, ['policies', 'penalty', 'candidate'])
    const { policies, penalty = plans.options.penalty, candidate }: Plan = isPlan(plan) ? plan : { policies: plan }
    this.policies = policies
    if (penalty !== undefined && penalty !== false) this.penalty = penalty
    this.plan = plan
    this.candidate = candidate
    this.plans = plans
    this.override = override
  }
}

/**
 * The plan of a candidate, with the penalty of the current policies if it has none of its own.
 * @throws HeadgateError `HEADGATE_CANDIDATE` if the candidate cannot be tried beside the current policies; the codes of invalid policies
 */
export function readCandidate(
  candidate: Candidate,
  current: readonly Policy[],
  standard: PenaltyOptions | undefined,
): Plan {
  if (isPlan(candidate)) knownOptions('a candidate', candidate, ['policies', 'penalty'])
  const plan: Plan = isPlan(candidate) ? candidate : { policies: candidate as PolicyLikes }
  const { policies, penalty = standard ?? false } = plan
  checkCandidate(policiesOfCandidate(policies, penalty || undefined), current)
  return { policies, penalty }
}

/** Does the same as `policiesOf`, but an error says that the option `candidate` is invalid. */
function policiesOfCandidate(policies: PolicyLikes, penalty: PenaltyOptions | undefined): readonly Policy[] {
  try {
    return policiesOf(policies, penalty)
  } catch (error) {
    throw error instanceof HeadgateError ? new HeadgateError(error.code, `candidate: ${error.message}`) : error
  }
}

/** Checks all options except the policies. @throws HeadgateError if an option is invalid */
export function readPlans<Limiter extends object>(options: Omit<RateLimiterOptions, 'policies'>): Plans<Limiter> {
  if (options instanceof PlanOptions) return options.plans
  const read = readOptions('RateLimiter', options as RateLimiterOptions, readers)
  warnOfNoStore(options)
  const {
    store = memoryStore(),
    name,
    top,
    onChange,
    penalty: punishment,
    onThreshold,
    policies: _,
    candidate: __,
    ...failure
  } = read
  if (punishment !== undefined) penalty(punishment, defaultScope, false)
  if (name === undefined && store.traits?.prefix !== undefined) throw unnamed(store.traits.prefix)
  return new Plans({
    name: name ?? 'default',
    // False for a limiter without a name on a synchronous store: several such limiters may have the name `'default'`, and do
    // not share their states.
    uniqueName: name !== undefined || !store.synchronous,
    store,
    onChange,
    penalty: punishment,
    failure,
    heavyKeys: top === undefined ? undefined : new HeavyKeys(top),
    onThreshold: tellerOf(onThreshold),
  })
}

/** Warns if the option `store` is present but undefined, as with a missing setting. Each process then counts only its own calls. */
export function warnOfNoStore(options: { readonly store?: Store | undefined }): void {
  if (!Object.hasOwn(options, 'store') || options.store !== undefined) return
  warnOnce(
    'HEADGATE_NO_STORE',
    'store is undefined, so this process counts alone, in its memory. Check what should make the store, such as a setting ' +
      'that is missing. If memory is meant, leave store out or write store: memoryStore().',
  )
}

/** The error for a missing name. Without names, two services could share a quota by mistake. */
function unnamed(prefix: string): HeadgateError {
  return new HeadgateError(
    'HEADGATE_NAME',
    `A limiter on a store that other programs reach (prefix ${shown(prefix)}) needs a name of its own. ` +
      "Write name: 'api' beside policies and store.",
  )
}

/**
 * The policies, including the penalty. Empty for `'unlimited'`.
 * @throws HeadgateError if a policy is invalid, if there is no policy, or if two policies have the same name
 */
export function policiesOf(likes: PolicyLikes, punishment: PenaltyOptions | undefined): readonly Policy[] {
  if (likes === unlimited) return none
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

/** Throws if two policies have the same label, because clients see a label as the name. Shadow policies (never refuse) are not checked. */
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

/** The penalty as the last policy of a limiter. If every other policy is a shadow (never refuses), the penalty is a shadow too. */
function penaltyOf(options: PenaltyOptions, policies: readonly Policy[]): Policy {
  const first = (policies[0] as Policy).scope
  const shadow = policies.every((policy) => policy.shadow)
  if (options?.on !== 'spent') return penalty(options, first, shadow)
  const { scope = first } = options
  const spent = policies.filter((policy) => policy.scope === scope && (shadow || !policy.shadow) && canBeSpent(policy))
  if (spent.length === 0) throw nothingToSpend(scope)
  return penalty(options, first, shadow, Math.max(...spent.map(({ algorithm }) => algorithm.span)))
}

function canBeSpent({ algorithm: { leases, paysLater } }: Policy): boolean {
  return !leases && !paysLater
}

function nothingToSpend(scope: string): HeadgateError {
  return new HeadgateError(
    'HEADGATE_PENALTY',
    `penalty: on: 'spent' needs a policy with the scope ${shown(scope)} whose units can be spent. Add one, such as '5/15m', or name another scope.`,
  )
}
