import { flag, isPromise, type MaybePromise, readOptions, scopeOf, whole } from '../../common/index.ts'
import type { Decision } from '../../policy/index.ts'
import type { Booking } from '../../stores/contract/index.ts'
import { keyName, longestKey } from '../../stores/memory/index.ts'
import { CallSampler } from './call-sampler.ts'
import { SpaceSaving } from './space-saving.ts'

/** A key with many calls, and its counts in this process. */
export interface HeavyKey {
  /** The key. A key with more than 86 characters is replaced by its hash, and `hashed` is true. */
  readonly key: string
  readonly hashed: boolean
  /**
   * The number of calls of the key. This number may be too high by at most `error`, and is never too low. After the first 8,192
   * calls of the limiter, only a sample of the calls is counted, so the number may also be wrong by about `standardError` in both
   * directions.
   */
  readonly calls: number
  /** How many of `calls` may be calls of other keys. At most the number of all calls divided by the number of counters. */
  readonly error: number
  /**
   * The standard error of `calls` because of the sampling, in calls. 0 for the first 8,192 calls of a limiter, because all these
   * calls are counted. In 19 of 20 cases, the sampling error is less than twice this number.
   */
  readonly standardError: number
  /**
   * How many of the key's calls were refused, estimated from the same sample as `calls`. Refusals before the key got a counter
   * are missing.
   */
  readonly refused: number
  /** The fraction of all calls that this key made, from 0 to 1: `calls` divided by the number of all calls. */
  readonly share: number
}

/** The options of `limiter.top()`. */
export interface TopOptions {
  /** The scope (such as `user`) whose keys `top` returns. Default: the first scope of the limiter. */
  scope?: string | undefined
  /** True to set the counts to 0 after this result, so that the next result counts only later calls. Default false. */
  reset?: boolean | undefined
}

export const mostCounters = 1_000_000

/** Counts the calls of each key, separately for each scope (such as `user`), under all plans (policy lists) of a limiter. */
export class HeavyKeys {
  readonly #counters: number
  readonly #byScope = new Map<string, SpaceSaving>()
  readonly #sampler = new CallSampler()

  constructor(counters: number) {
    this.#counters = counters
  }

  /** The counters of these scopes (such as `user`), in the order of the scopes. Called once for each limiter. */
  of(scopes: readonly string[]): readonly SpaceSaving[] {
    return scopes.map((scope) => {
      const known = this.#byScope.get(scope) ?? new SpaceSaving(this.#counters)
      this.#byScope.set(scope, known)
      return known
    })
  }

  /** How many calls to add to a counter for the current call: more than 1 if earlier calls were skipped. 0 if the call is not counted. */
  weigh(): number {
    return this.#sampler.weigh()
  }

  /** The keys with the most calls. @throws HeadgateError `HEADGATE_OPTION` if `count` or an option is invalid */
  top(count: number, options: TopOptions): readonly HeavyKey[] {
    whole()(count, 'top: count')
    const { scope, reset } = readOptions('top', options, { scope: scopeOf([...this.#byScope.keys()]), reset: flag() })
    const counted = this.#byScope.get(scope) as SpaceSaving
    const { total } = counted
    const keys = counted.top(count).map(({ key, calls, error, variance, refused }) => {
      const standardError = Math.ceil(Math.sqrt(variance))
      return { key, hashed: key.length > longestKey, calls, error, standardError, refused, share: calls / total }
    })
    if (reset) {
      counted.clear()
      this.#sampler.restart()
    }
    return keys
  }
}

/** Counts a call and whether it was refused. A call that the store could not decide counts as refused. */
export function countHeavy(
  counts: readonly SpaceSaving[],
  keys: readonly string[],
  weight: number,
  result: MaybePromise<Decision | Booking>,
): void {
  if (isPromise(result)) {
    result.then(
      (later) => add(counts, keys, weight, isRefused(later)),
      () => add(counts, keys, weight, true),
    )
  } else add(counts, keys, weight, isRefused(result))
}

function isRefused(result: Decision | Booking): boolean {
  return !('decision' in result ? result.decision.allowed : result.allowed)
}

function add(counts: readonly SpaceSaving[], keys: readonly string[], weight: number, refused: boolean): void {
  for (let n = 0; n < counts.length; n++) (counts[n] as SpaceSaving).add(keyName(keys[n] as string), refused, weight)
}

/** How many calls a call stands for in the counters. 0 if the call is not counted, or if there are no counters. */
export function weightOf(heavyKeys: HeavyKeys | undefined): number {
  return heavyKeys === undefined ? 0 : heavyKeys.weigh()
}
