import { type Duration, milliseconds } from '../../duration.ts'
import { HeadgateError, invalidOption } from '../../errors.ts'
import { callback, knownOptions, type Names, text } from '../../options.ts'
import { costOf } from '../cost.ts'
import { Pace } from '../pace.ts'
import type { Pacer } from '../pacer.ts'
import type { Followed, RequestCost } from './server-quotas.ts'

type Fetch = typeof globalThis.fetch

export interface PacedFetchOptions {
  /** A pacer, or one key of it. Example: `new Pacer('10/1s')`. */
  pacer: Pacer | Pace
  /** Returns a request's key of the pacer. Default: all requests share one pace. Example: `({ host }) => host`. */
  key?: (url: URL) => string
  /**
   * How many permits a request takes: a whole number from 1, a record by the names of the policies, or a function of the
   * arguments of `fetch` that returns one of them. Default 1.
   * Example: `(url, init) => ({ requests: 1, tokens: estimate(init.body) })`.
   */
  cost?: RequestCost | ((...request: Parameters<Fetch>) => RequestCost)
  /**
   * The quota of the server that a policy follows, by the policy's name: a unit such as `'tokens'`, or the name of a limit
   * in `RateLimit`. Default: the quota that is named as the policy. Example: `{ daily: 'requests', budget: 'tokens' }`.
   */
  quotas?: Readonly<Record<string, string>>
  /** How often an idempotent request is sent again after 429 or 503. Default 3. Example: `0`. */
  retries?: number
  /**
   * The longest hold of the pace that a server can cause, in milliseconds or as text. If it names a longer time, the pace is
   * held for this one and the request is not sent again. Default `'5m'`. Example: `'30s'`.
   */
  maxHold?: Duration
  /**
   * How long the pace is held when nothing is left and the server names no time, in milliseconds or as text. After a
   * refusal it doubles with each retry. Default `'1s'`. Example: `'200ms'`.
   */
  backoff?: Duration
  /** Returns a number from 0 up to 1 that spreads retries. Default `Math.random`. Pass one in tests: `() => 0`. */
  random?: () => number
  /** Returns milliseconds since the epoch, to read dates by. Default `Date.now`. Pass one in tests. */
  now?: () => number
}

const known: Names<PacedFetchOptions> = [
  ...(['pacer', 'key', 'cost', 'quotas'] as const),
  ...(['retries', 'maxHold', 'backoff', 'random', 'now'] as const),
]

export interface Settings extends Required<Pick<PacedFetchOptions, 'retries' | 'random' | 'now'>> {
  readonly costOf: (...request: Parameters<Fetch>) => RequestCost
  readonly followed: readonly Followed[]
  /** Milliseconds. */
  readonly maxHold: number
  readonly backoff: number
}

/** @throws HeadgateError `HEADGATE_OPTION` or `HEADGATE_COST` if an option is invalid */
export function readSettings(options: PacedFetchOptions): Settings {
  if (!(options?.pacer instanceof Pace)) {
    throw new HeadgateError(
      'HEADGATE_OPTION',
      'pacedFetch needs a pacer. Write pacedFetch(fetch, { pacer: new Pacer(policy) }).',
    )
  }
  knownOptions('pacedFetch', options, known)
  const { pacer, cost = 1, retries = 3, random, now } = options
  if (!Number.isSafeInteger(retries) || retries < 0) {
    throw invalidOption('pacedFetch: retries', 'a whole number from 0', retries, 'Give 0 for no retries.')
  }
  if (typeof cost !== 'function') costOf(cost, pacer.policies)
  callback(options.key, 'pacedFetch: key', '({ host }) => host')
  return {
    costOf: typeof cost === 'function' ? (...request) => orOne(cost(...request)) : () => cost,
    followed: followedBy(pacer, options.quotas ?? {}),
    retries,
    maxHold: milliseconds(options.maxHold ?? '5m', 'pacedFetch: maxHold', 'HEADGATE_OPTION'),
    backoff: milliseconds(options.backoff ?? '1s', 'pacedFetch: backoff', 'HEADGATE_OPTION'),
    random: callback(random, 'pacedFetch: random', '() => 0') ?? Math.random,
    now: callback(now, 'pacedFetch: now', 'Date.now') ?? Date.now,
  }
}

/** A function that returns nothing leaves the cost out. */
function orOne(cost: RequestCost = 1): RequestCost {
  return cost
}

/** What each policy follows. Requests are followed in any case, because most servers count nothing else. */
function followedBy({ policies }: Pace, quotas: Readonly<Record<string, string>>): Followed[] {
  const names = policies.map(({ name }) => name)
  knownOptions('pacedFetch: quotas', quotas, names)
  const followed: Followed[] = names.map((policy) => {
    const quota = Object.hasOwn(quotas, policy) ? quotas[policy] : policy
    return { policy, quota: text(quota, `pacedFetch: quotas.${policy}`, 'HEADGATE_OPTION') }
  })
  if (!followed.some(({ quota }) => quota === 'requests')) followed.push({ quota: 'requests', policy: undefined })
  return followed
}
