/*
 * A fetch that keeps a pace and obeys the server. When the server refuses a request, all requests of the pace wait until
 * the time that it names. A refused request that can be repeated is sent again, a few times.
 */
import { type Duration, milliseconds } from '../../duration.ts'
import { HeadgateError, invalidOption, shown } from '../../errors.ts'
import { knownOptions, type Names } from '../../options.ts'
import { Pace } from '../pace.ts'
import { Pacer } from '../pacer.ts'
import { parseRateLimit } from './parse-headers.ts'

type Fetch = typeof globalThis.fetch
type Input = Parameters<Fetch>[0]
type Init = Parameters<Fetch>[1]

export interface PacedFetchOptions {
  /** A pacer, or one key of it. Example: `new Pacer('10/1s')`. */
  pacer: Pacer | Pace
  /** Returns a request's key of the pacer. Default: all requests share one pace. Example: `({ host }) => host`. */
  key?: (url: URL) => string
  /** How often an idempotent request is sent again after 429 or 503. Default 3. Example: `0`. */
  retries?: number
  /**
   * The longest hold of the pace that a server can cause, in milliseconds or as text. If it names a longer time, the pace is
   * held for this one and the request is not sent again. Default `'5m'`. Example: `'30s'`.
   */
  maxHold?: Duration
  /**
   * How long the pace is held when a refusal names no time, in milliseconds or as text. It doubles with each retry.
   * Default `'1s'`. Example: `'200ms'`.
   */
  backoff?: Duration
  /** Returns a number from 0 up to 1 that spreads retries. Default `Math.random`. Pass one in tests: `() => 0`. */
  random?: () => number
  /** Returns milliseconds since the epoch, to read dates by. Default `Date.now`. Pass one in tests. */
  now?: () => number
}

const known: Names<PacedFetchOptions> = ['pacer', 'key', 'retries', 'maxHold', 'backoff', 'random', 'now']

interface Settings {
  readonly retries: number
  readonly maxHold: number
  readonly backoff: number
  readonly random: () => number
  readonly now: () => number
}

/** Methods that may be sent again: RFC 9110, 9.2.2. */
const idempotent = new Set(['GET', 'HEAD', 'OPTIONS', 'TRACE', 'PUT', 'DELETE'])
/** A retry comes later than the server said by at most this part of the wait, and this many milliseconds. */
const jitterPart = 0.1
const maxJitter = 5000

/**
 * Returns a `fetch` that takes one permit for every request. It obeys `Retry-After` and the RateLimit fields of any dialect.
 * The request's signal ends its wait.
 *
 * Its promise rejects as `fetch` does, or as `acquire` of the pacer does, for example with `HEADGATE_QUEUE_FULL`. It
 * resolves with a 429 or 503 if the request cannot be repeated or all retries are spent.
 *
 * Example: `const get = pacedFetch(fetch, { pacer: new Pacer('10/1s'), key: ({ host }) => host })`.
 * @throws HeadgateError `HEADGATE_OPTION` if an option is invalid
 */
export function pacedFetch(fetch: Fetch, options: PacedFetchOptions): Fetch {
  if (typeof fetch !== 'function') {
    throw new HeadgateError(
      'HEADGATE_OPTION',
      `pacedFetch takes fetch, got ${shown(fetch)}. Write pacedFetch(fetch, { pacer }).`,
    )
  }
  const settings = readSettings(options)
  const { pacer, key } = options
  return async (input: Input, init?: Init) => {
    const request = { input, init }
    const pace = key && pacer instanceof Pacer ? pacer.key(key(urlOf(input))) : pacer
    for (let attempt = 0; ; attempt++) {
      const again = attempt < settings.retries && repeatable(request)
      // `obey` is part of the run, so that the pace is held before the next request gets its slot.
      const send = async () => {
        const response = await fetch(again && input instanceof Request ? input.clone() : input, init)
        return { response, retry: obey(pace, response, attempt, settings) }
      }
      const { response, retry } = await pace.throttle(send, { signal: signalOf(request) })
      if (!retry || !again) return response
      await response.body?.cancel().catch(() => undefined) // the body may have failed already
    }
  }
}

function readSettings(options: PacedFetchOptions): Settings {
  if (!(options?.pacer instanceof Pace)) {
    throw new HeadgateError(
      'HEADGATE_OPTION',
      'pacedFetch needs a pacer. Write pacedFetch(fetch, { pacer: new Pacer(policy) }).',
    )
  }
  knownOptions('pacedFetch', options, known)
  const { retries = 3, random = Math.random, now = Date.now } = options
  if (!Number.isSafeInteger(retries) || retries < 0) {
    throw invalidOption('pacedFetch: retries', 'a whole number from 0', retries, 'Give 0 for no retries.')
  }
  return {
    retries,
    maxHold: milliseconds(options.maxHold ?? '5m', 'pacedFetch: maxHold', 'HEADGATE_OPTION'),
    backoff: milliseconds(options.backoff ?? '1s', 'pacedFetch: backoff', 'HEADGATE_OPTION'),
    random,
    now,
  }
}

/** Holds the pace for as long as the server asks. Returns true if the request was refused and is worth sending again. */
function obey(pace: Pace, response: Response, attempt: number, settings: Settings): boolean {
  const { status } = response
  const refused = status === 429 || status === 503
  const named = namedWait(response.headers, refused, settings.now())
  if (named === 0) return refused
  const wait = named ?? settings.backoff * 2 ** attempt
  const jitter = settings.random() * (named === undefined ? wait : Math.min(maxJitter, wait * jitterPart))
  pace.hold(Math.ceil(Math.min(settings.maxHold, refused ? wait + jitter : wait)))
  return refused && wait <= settings.maxHold
}

/** The wait that the server names, in milliseconds. 0 if no wait is needed, undefined if a refusal names none. */
function namedWait(headers: Headers, refused: boolean, now: number): number | undefined {
  // The RateLimit fields of a cached response are about another time (section 5 of the draft).
  const { retryAfter, quotas } = parseRateLimit(headers.has('age') ? retryAfterOf(headers) : headers, now)
  const spent = quotas.filter(({ unit, remaining }) => unit === 'requests' && remaining === 0)
  const resetAfter = Math.max(0, ...spent.map((quota) => quota.resetAfter ?? 0))
  if (!refused) return resetAfter
  return retryAfter ?? (resetAfter > 0 ? resetAfter : undefined)
}

function retryAfterOf(headers: Headers): Headers {
  const retryAfter = headers.get('retry-after')
  return new Headers(retryAfter === null ? {} : { 'retry-after': retryAfter })
}

interface Sent {
  readonly input: Input
  readonly init: Init
}

/** True if the request is idempotent and its body can be sent twice. */
function repeatable({ input, init }: Sent): boolean {
  const method = init?.method ?? (input instanceof Request ? input.method : 'GET')
  const body: unknown = init?.body
  const streams =
    typeof body === 'object' && body !== null && (Symbol.asyncIterator in body || body instanceof ReadableStream)
  return idempotent.has(method.toUpperCase()) && !streams
}

function signalOf({ input, init }: Sent): AbortSignal | undefined {
  if (init?.signal !== undefined) return init.signal ?? undefined
  return input instanceof Request ? input.signal : undefined
}

function urlOf(input: Input): URL {
  return new URL(input instanceof Request ? input.url : input)
}
