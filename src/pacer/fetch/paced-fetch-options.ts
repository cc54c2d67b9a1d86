import {
  anything,
  callback,
  check,
  type Duration,
  duration,
  hook,
  knownOptions,
  readOptions,
  type Settled,
  text,
  whole,
} from '../../common/index.ts'
import { Pace } from '../pace.ts'
import type { Pacer } from '../pacer.ts'
import { callCost } from '../pacer-cost.ts'
import type { Followed, RequestCost } from './server-quotas.ts'

type Fetch = typeof globalThis.fetch

/** The options of `pacedFetch`. */
export interface PacedFetchOptions {
  /** A pacer, or one key of a pacer. Example: `new Pacer('10/1s')`. */
  pacer: Pacer | Pace
  /** Returns the pacer's key for a request. Default: all requests share one queue. Example: `({ host }) => host`. */
  key?: (url: URL) => string
  /**
   * How many units a request takes: a whole number from 1, a record by the names of the policies, or a function of
   * the arguments of `fetch` that returns such a cost. Default 1. Example: `(url, init) => ({ requests: 1, tokens:
   * estimate(init.body) })`.
   */
  cost?: RequestCost | ((...request: Parameters<Fetch>) => RequestCost)
  /**
   * For each policy, by its name, the quota of the server that the policy follows: a unit such as `'tokens'`, or the
   * name of a limit in `RateLimit`. Default: the quota with the policy's own name. Example: `{ daily: 'requests',
   * budget: 'tokens' }`.
   */
  quotas?: Readonly<Record<string, string>>
  /** How often an idempotent request is sent again after 429 or 503. Default 3. Example: `0`. */
  retries?: number
  /**
   * The longest hold of the pace that a server can cause, in milliseconds or as text. If the server names a longer
   * time, the pace is held for `maxHold` and the request is not sent again. Default `'5m'`. Example: `'30s'`.
   */
  maxHold?: Duration
  /**
   * How long the pace is held when nothing is left and the server names no time, in milliseconds or as text. After a
   * refusal the time doubles with each retry. Default `'1s'`. Example: `'200ms'`.
   */
  backoff?: Duration
  /** Returns a number from 0 up to 1 that spreads retries. Default `Math.random`. Pass one in tests: `() => 0`. */
  random?: () => number
  /** Returns milliseconds since the epoch, to read dates by. Default `Date.now`. Pass one in tests. */
  now?: () => number
}

const isPace = (given: unknown) => given instanceof Pace

const readers = {
  pacer: check(isPace, 'a pacer', 'new Pacer(policy)'),
  key: hook('({ host }) => host'),
  cost: anything,
  quotas: anything,
  retries: whole(3, { least: 0 }),
  maxHold: duration('5m'),
  backoff: duration('1s'),
  random: callback('() => 0', Math.random),
  now: callback('Date.now', Date.now),
}

export interface PacedFetchSettings extends Settled<Omit<PacedFetchOptions, 'pacer' | 'key' | 'cost' | 'quotas'>> {
  readonly costOf: (...request: Parameters<Fetch>) => RequestCost
  readonly followed: readonly Followed[]
}

/** @throws HeadgateError `HEADGATE_OPTION` or `HEADGATE_COST` if an option is invalid */
export function readSettings(options: PacedFetchOptions): PacedFetchSettings {
  const { pacer, cost = 1, quotas = {}, ...settings } = readOptions('pacedFetch', options, readers)
  if (typeof cost !== 'function') callCost(cost, pacer.policies)
  return {
    costOf: typeof cost === 'function' ? (...request) => orOne(cost(...request)) : () => cost,
    followed: followedBy(pacer, quotas),
    ...settings,
  }
}

/** The cost that a function returned, or 1 if it returned nothing. */
function orOne(cost: RequestCost = 1): RequestCost {
  return cost
}

/** The quota that each policy follows. `'requests'` is followed in any case: most servers count nothing else. */
function followedBy({ policies }: Pace, quotas: Readonly<Record<string, string>>): Followed[] {
  const names = policies.map(({ name }) => name)
  knownOptions('pacedFetch: quotas', quotas, names)
  const followed: Followed[] = names.map((policy) => {
    const quota = Object.hasOwn(quotas, policy) ? quotas[policy] : policy
    return { policy, quota: text()(quota, `pacedFetch: quotas.${policy}`) }
  })
  if (!followed.some(({ quota }) => quota === 'requests')) followed.push({ quota: 'requests', policy: undefined })
  return followed
}
