import {
  anything,
  atOnce,
  callback,
  check,
  type Duration,
  duration,
  HeadgateError,
  hook,
  knownOptions,
  readOptions,
  type Settled,
  shown,
  text,
  unbounded,
  whole,
} from '../../common/index.ts'
import { Pacer } from '../pacer.ts'
import { callCost } from '../pacer-cost.ts'
import { Pace } from '../pacer-methods.ts'
import type { Followed, RequestCost } from './server-quotas.ts'

type Fetch = typeof globalThis.fetch
type Chosen = PacedFetchOptions['pacer']

/** The options of `pacedFetch`. */
export interface PacedFetchOptions {
  /**
   * A pacer, one key of a pacer, or a function of the request's URL that returns a pacer or a key. If the function returns anything else,
   * the request rejects with `HEADGATE_OPTION`. Examples: `new Pacer('10/1s')`, `({ host }) => paces.get(host) ?? others.key(host)`.
   */
  pacer: Pacer | Pace | ((url: URL) => Pacer | Pace)
  /** Returns a request's key in the pacer. Default: one queue for all requests. Example: `({ host }) => host`. */
  key?: ((url: URL) => string) | undefined
  /**
   * The priority of a request: any number, or a function of the arguments of `fetch` that returns a number. Requests with a higher priority
   * are sent first. Default 0. Example: `(url, init) => (String(url).endsWith('/payments') ? 1 : 0)`.
   */
  priority?: number | ((...request: Parameters<Fetch>) => number) | undefined
  /**
   * How many units a request takes: a whole number from 1, a record of numbers by policy name, or a function of the
   * arguments of `fetch` that returns a number or a record. Default 1. Example: `(url, init) => ({ requests: 1, tokens:
   * estimate(init.body) })`.
   */
  cost?: RequestCost | ((...request: Parameters<Fetch>) => RequestCost) | undefined
  /**
   * Says which quota of the server each policy follows. A field's name is the name of a policy. The field's value is a unit such as
   * `'tokens'`, or the name of a limit in the header field `RateLimit`. Default: each policy follows the quota that has the policy's own
   * name. Example: `{ daily: 'requests', budget: 'tokens' }`.
   */
  quotas?: Readonly<Record<string, string>> | undefined
  /** How often a request that can be repeated is sent again after a response 429 or 503. Default 3. Example: `0`. */
  retries?: number | undefined
  /**
   * The methods of requests that can be repeated. A request with the header field `Idempotency-Key` can be repeated too, whatever its
   * method. A request whose body is a stream cannot be repeated, and its response 429 or 503 is returned. Default: the idempotent methods
   * GET, HEAD, OPTIONS, TRACE, PUT and DELETE. Example: `['GET', 'POST']`.
   */
  retryMethods?: readonly string[] | undefined
  /**
   * The longest time for which a response can stop the pacer, in milliseconds or as text. If the server names a longer
   * time, the pacer stops for `maxHold` and the refused request is not sent again. Default `'5m'`. Example: `'30s'`.
   */
  maxHold?: Duration | undefined
  /**
   * How long the pacer stops when the server has no units left and names no time, in milliseconds or as text. After a
   * refusal this time doubles with each retry. Default `'1s'`. Example: `'200ms'`.
   */
  backoff?: Duration | undefined
  /**
   * How long an attempt may wait for the response, in milliseconds or as text. After this time, the attempt is aborted, the next request may
   * start, and the promise rejects with `HEADGATE_RUN_TIMEOUT`. The time ends with the headers of the response, so it does not limit the
   * body. Default: no limit. Example: `'10s'`.
   */
  runTimeout?: Duration | undefined
  /** Returns a number from 0 up to 1, to randomize waits before retries. Default `Math.random`. In tests: `() => 0`. */
  random?: (() => number) | undefined
  /**
   * Returns the time in milliseconds since the epoch, to compare with dates in responses. The waits follow the clock of the pacer. Default
   * `Date.now`. Example, in a test with a `ManualClock`: `() => clock.milliseconds`.
   */
  now?: (() => number) | undefined
}

const isPace = (given: unknown): given is Pace => given instanceof Pace
const isNumber = (given: unknown) => typeof given === 'number' && !Number.isNaN(given)
/** The HTTP methods that may be sent again, because they are idempotent: RFC 9110, section 9.2.2. */
const idempotent: readonly string[] = ['GET', 'HEAD', 'OPTIONS', 'TRACE', 'PUT', 'DELETE']

function areMethods(given: unknown): boolean {
  return Array.isArray(given) && given.every((method) => typeof method === 'string' && /^[A-Za-z-]+$/.test(method))
}

const readers = {
  pacer: check<Chosen>(
    (given) => isPace(given) || typeof given === 'function',
    'a pacer or a function that returns one',
    'new Pacer(policy)',
  ),
  key: hook('({ host }) => host'),
  priority: check<PacedFetchOptions['priority'] & {}>(
    (given) => isNumber(given) || typeof given === 'function',
    'a number or a function that returns one',
    '5',
    0,
  ),
  cost: anything,
  quotas: anything,
  retries: whole(3, { least: 0 }),
  retryMethods: check<readonly string[]>(areMethods, 'a list of HTTP methods', "['GET', 'POST']", idempotent),
  maxHold: duration('5m', { usual: 1000 }),
  backoff: duration('1s'),
  runTimeout: unbounded(duration(undefined, { usual: 100 }), Infinity),
  random: callback('() => 0', Math.random),
  now: callback('Date.now', Date.now),
}

type Own = 'pacer' | 'key' | 'cost' | 'quotas' | 'priority' | 'retryMethods'

export interface PacedFetchSettings extends Settled<Omit<PacedFetchOptions, Own>> {
  /** The pace of a request. Throws HeadgateError `HEADGATE_OPTION` if the function of the option `pacer` returns no pacer. */
  readonly paceOf: (url: () => URL) => Pace
  readonly costOf: (...request: Parameters<Fetch>) => RequestCost
  readonly priorityOf: (...request: Parameters<Fetch>) => number
  /** Which quotas of the server the policies of a pacer follow. Throws HeadgateError `HEADGATE_OPTION` for an unknown policy. */
  readonly followedBy: (pacer: Pace) => readonly Followed[]
  /** The methods of requests that can be repeated, in capital letters. */
  readonly methods: ReadonlySet<string>
}

/** @throws HeadgateError `HEADGATE_OPTION` or `HEADGATE_COST` if an option is invalid */
export function readSettings(options: PacedFetchOptions): PacedFetchSettings {
  const { pacer, key, cost = 1, quotas = {}, ...read } = readOptions('pacedFetch', options, readers)
  const { priority, retryMethods, ...settings } = read
  if (typeof pacer !== 'function') {
    if (typeof cost !== 'function') callCost(cost, pacer.policies)
    followedBy(pacer, quotas)
  }
  return {
    paceOf(url) {
      const pace = typeof pacer === 'function' ? paceFor(url(), pacer) : pacer
      return key !== undefined && pace instanceof Pacer ? pace.key(atOnce(key(url()), 'key')) : pace
    },
    costOf: typeof cost === 'function' ? (...request) => orOne(atOnce(cost(...request), 'cost')) : () => cost,
    priorityOf:
      typeof priority === 'function' ? (...request) => atOnce(priority(...request), 'priority') : () => priority,
    followedBy: (pace) => followedBy(pace, quotas),
    methods: new Set(retryMethods.map((method) => method.toUpperCase())),
    ...settings,
  }
}

function paceFor(url: URL, choose: (url: URL) => Pace): Pace {
  const pace: unknown = atOnce<unknown>(choose(url), 'pacer')
  if (isPace(pace)) return pace
  throw new HeadgateError(
    'HEADGATE_OPTION',
    `pacedFetch: pacer must return a pacer for each URL, got ${shown(pace)} for ${url.host}. ` +
      'Write pacer: ({ host }) => paces.get(host) ?? others.key(host).',
  )
}

/** The cost that the function in the option `cost` returned, or 1 if the function returned undefined. */
function orOne(cost: RequestCost = 1): RequestCost {
  return cost
}

/**
 * The quota that each policy follows. If no policy follows the quota `'requests'`, that quota is added, because many servers report no
 * other.
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
