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
  /** Returns a request's key in the pacer. Default: one queue for all requests. Example: `({ host }) => host`. */
  key?: (url: URL) => string
  /**
   * How many units a request takes: a whole number from 1, a record of numbers by policy name, or a function of the
   * arguments of `fetch` that returns a number or a record. Default 1. Example: `(url, init) => ({ requests: 1, tokens:
   * estimate(init.body) })`.
   */
  cost?: RequestCost | ((...request: Parameters<Fetch>) => RequestCost)
  /**
   * Says which quota of the server each policy follows. A field is the name of a policy; its value is a unit such as
   * `'tokens'`, or the name of a limit in the header field `RateLimit`. Default: each policy follows the quota that has
   * the policy's own name. Example: `{ daily: 'requests', budget: 'tokens' }`.
   */
  quotas?: Readonly<Record<string, string>>
  /** How often an idempotent request is sent again after a response 429 or 503. Default 3. Example: `0`. */
  retries?: number
  /**
   * The longest time for which a response can stop the pacer, in milliseconds or as text. If the server names a longer
   * time, the pacer stops for `maxHold` and the refused request is not sent again. Default `'5m'`. Example: `'30s'`.
   */
  maxHold?: Duration
  /**
   * How long the pacer stops when the server has no units left and names no time, in milliseconds or as text. After a
   * refusal this time doubles with each retry. Default `'1s'`. Example: `'200ms'`.
   */
  backoff?: Duration
  /** Returns a number from 0 up to 1, to randomize waits before retries. Default `Math.random`. In tests: `() => 0`. */
  random?: () => number
  /** Returns the time in milliseconds since the epoch, to compare dates with. Default `Date.now`. Tests may pass another function. */
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

/** The cost that the function in the option `cost` returned, or 1 if the function returned undefined. */
function orOne(cost: RequestCost = 1): RequestCost {
  return cost
}

/**
 * The quota that each policy follows. The quota `'requests'` is added if no policy follows it, because many servers report only
 * this quota.
 */
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
