import { flag, isPromise, type MaybePromise, readOptions, scopeOf, whole } from '../../common/index.ts'
import type { Decision } from '../../policy/index.ts'
import type { Booking } from '../../stores/contract/index.ts'
import { keyName, longestKey } from '../../stores/memory/index.ts'
import { CallSampler } from './call-sampler.ts'
import { SpaceSaving } from './space-saving.ts'

/** A key with many calls, as this process has counted them. */
export interface HeavyKey {
  /** The key. A key of more than 86 characters is kept as its hash: `hashed` says so. */
  readonly key: string
  readonly hashed: boolean
  /**
   * The calls of the key. While every call is counted, this number is too high by at most `error`, and never too low.
   * After many calls only a sample is counted, and the number may also be off by `standardError` in either direction.
   */
  readonly calls: number
  /** How many of `calls` other keys may have made: at most all calls divided by the number of counters. */
  readonly error: number
  /**
   * The standard error of sampling, in calls: 0 for the first 8,192 calls of a limiter, which are all counted. In 19 of
   * 20 cases, sampling changes `calls` by less than twice this number.
   */
  readonly standardError: number
  /** How many calls of the key were refused, by the same sample. Refusals before the key got a counter are left out. */
  readonly refused: number
  /** The part of all calls that this key made, from 0 to 1, computed from `calls`. */
  readonly share: number
}

/** The options of `top`. */
export interface TopOptions {
  /** The scope whose keys are returned. Default: the first scope of the limiter. */
  scope?: string
  /** True to set the counts to 0 after this answer, so that the next answer counts from now on. Default false. */
  reset?: boolean
}

export const mostCounters = 1_000_000

/** Counts the calls of each key of each scope, under every plan of a limiter. */
export class HeavyKeys {
  readonly #counters: number
  readonly #byScope = new Map<string, SpaceSaving>()
  readonly #sampler = new CallSampler()

  constructor(counters: number) {
    this.#counters = counters
  }

  /** The counters of these scopes, in the order of the scopes. A limiter looks them up once. */
  of(scopes: readonly string[]): readonly SpaceSaving[] {
    return scopes.map((scope) => {
      const known = this.#byScope.get(scope) ?? new SpaceSaving(this.#counters)
      this.#byScope.set(scope, known)
      return known
    })
  }

  /** How many calls this call stands for: 0 if it is not counted. */
  weigh(): number {
    return this.#sampler.weigh()
  }

  /** @throws HeadgateError `HEADGATE_OPTION` if the count or an option is invalid */
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

/** Counts a call by its decision. A call that the store could not decide counts as refused. */
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
