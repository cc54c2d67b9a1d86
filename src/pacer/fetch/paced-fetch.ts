/*
 * A fetch that keeps a pace, and listens to the server: when that says it has had enough, nobody goes until the time it
 * named. A refusal that can be repeated is, so many times.
 */
import { type Duration, milliseconds } from '../../duration.ts'
import { HeadgateError, shown } from '../../errors.ts'
import { knownOptions } from '../../options.ts'
import { Pace } from '../pace.ts'
import { Pacer } from '../pacer.ts'
import { parseRateLimit } from './parse-headers.ts'

type Fetch = typeof globalThis.fetch
type Input = Parameters<Fetch>[0]
type Init = Parameters<Fetch>[1]

export interface PacedFetchOptions {
  /** A pacer, or one key of it. */
  pacer: Pacer | Pace
  /** Gives each request its key of the pacer, such as `(url) => url.host`. Default: all share one pace. */
  key?: (url: URL) => string
  /** How often an idempotent request is sent again after 429 or 503. Default 3. */
  retries?: number
  /** The longest that a server may hold everyone up; who names more gets this, and no retry. Default `'5m'`. */
  maxHold?: Duration
  /** How long to hold when a refusal names no time, twice as long each time. Default `'1s'`. */
  backoff?: Duration
  /** From 0 up to 1: spreads retries, so that clients do not come back together. Default `Math.random`. */
  random?: () => number
  /** Milliseconds since the epoch, to read dates by. Default `Date.now`. */
  now?: () => number
}

const known = [
  'pacer',
  'key',
  'retries',
  'maxHold',
  'backoff',
  'random',
  'now',
] as const satisfies (keyof PacedFetchOptions)[]

/** RFC 9110, 9.2.2. */
const idempotent = new Set(['GET', 'HEAD', 'OPTIONS', 'TRACE', 'PUT', 'DELETE'])
/** How much later than it was told to a retry comes at most, as a part of that time, and in milliseconds. */
const spread = 0.1
const mostSpread = 5000

interface Manners {
  readonly retries: number
  readonly maxHold: number
  readonly backoff: number
  readonly random: () => number
  readonly now: () => number
}

/**
 * `fetch` under a pace. Takes a turn for every request that is sent, obeys `Retry-After` (seconds or a date) and the
 * RateLimit fields of any dialect, and gives up waiting when the request's signal is aborted.
 * @throws HeadgateError `HEADGATE_OPTION`
 */
export function pacedFetch(fetch: Fetch, options: PacedFetchOptions): Fetch {
  if (typeof fetch !== 'function') {
    throw new HeadgateError(
      'HEADGATE_OPTION',
      `pacedFetch takes fetch, got ${shown(fetch)}. Write pacedFetch(fetch, { pacer }).`,
    )
  }
  const manners = readManners(options)
  const { pacer, key } = options
  return async (input: Input, init?: Init) => {
    const request = { input, init }
    const pace = key && pacer instanceof Pacer ? pacer.key(key(urlOf(input))) : pacer
    for (let attempt = 0; ; attempt++) {
      const again = attempt < manners.retries && repeatable(request)
      // Listening is part of the run: who comes next finds the pace held already.
      const send = async () => {
        const response = await fetch(again && input instanceof Request ? input.clone() : input, init)
        return { response, refused: listen(pace, response, attempt, manners) }
      }
      const { response, refused } = await pace.throttle(send, { signal: signalOf(request) })
      if (!refused || !again) return response
      await response.body?.cancel().catch(() => undefined) // it may have broken off
    }
  }
}

function readManners(options: PacedFetchOptions): Manners {
  if (!(options?.pacer instanceof Pace)) {
    throw new HeadgateError(
      'HEADGATE_OPTION',
      'pacedFetch needs a pacer. Write pacedFetch(fetch, { pacer: new Pacer(policy) }).',
    )
  }
  knownOptions('pacedFetch', options, known)
  const { retries = 3, random = Math.random, now = Date.now } = options
  if (!Number.isSafeInteger(retries) || retries < 0) {
    throw new HeadgateError(
      'HEADGATE_OPTION',
      `pacedFetch: retries must be a whole number from 0, got ${shown(retries)}.`,
    )
  }
  return {
    retries,
    maxHold: milliseconds(options.maxHold ?? '5m', 'pacedFetch: maxHold', 'HEADGATE_OPTION'),
    backoff: milliseconds(options.backoff ?? '1s', 'pacedFetch: backoff', 'HEADGATE_OPTION'),
    random,
    now,
  }
}

/** Holds the pace as the server wants it; tells whether the request was refused and may be sent again. */
function listen(pace: Pace, response: Response, attempt: number, manners: Manners): boolean {
  const { status, headers } = response
  const refused = status === 429 || status === 503
  // What a cache kept tells of another time (the draft, section 5).
  const { retryAfter, quotas } = parseRateLimit(headers.has('age') ? without(headers) : headers, manners.now())
  const spent = quotas.filter(({ unit, remaining }) => unit === 'requests' && remaining === 0)
  const resetAfter = Math.max(0, ...spent.map((quota) => quota.resetAfter ?? 0))
  const told = refused ? (retryAfter ?? (resetAfter > 0 ? resetAfter : undefined)) : resetAfter
  if (told === 0) return refused
  const wait = told ?? manners.backoff * 2 ** attempt
  const jitter = manners.random() * (told === undefined ? wait : Math.min(mostSpread, wait * spread))
  pace.hold(Math.ceil(Math.min(manners.maxHold, refused ? wait + jitter : wait)))
  return refused && wait <= manners.maxHold
}

function without(headers: Headers): Headers {
  const retryAfter = headers.get('retry-after')
  return new Headers(retryAfter === null ? {} : { 'retry-after': retryAfter })
}

interface Sent {
  readonly input: Input
  readonly init: Init
}

/** Whether sending it twice does what sending it once does, and its body is still there then. */
function repeatable({ input, init }: Sent): boolean {
  const method = init?.method ?? (input instanceof Request ? input.method : 'GET')
  const body: unknown = init?.body
  const flows =
    typeof body === 'object' && body !== null && (Symbol.asyncIterator in body || body instanceof ReadableStream)
  return idempotent.has(method.toUpperCase()) && !flows
}

function signalOf({ input, init }: Sent): AbortSignal | undefined {
  if (init?.signal !== undefined) return init.signal ?? undefined
  return input instanceof Request ? input.signal : undefined
}

function urlOf(input: Input): URL {
  return new URL(input instanceof Request ? input.url : input)
}
