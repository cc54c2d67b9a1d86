/*
 * A `fetch` that sends requests at the rate of a pacer, and obeys the limits that a server reports. When the server refuses a request, all
 * requests of the same key wait until the time that the server names. The refused request is sent again if it can be repeated.
 */
import { getOrInsert, HeadgateError, shown } from '../../common/index.ts'
import { KeyMap } from '../key-map.ts'
import type { Pace } from '../pacer-methods.ts'
import { again } from '../queue/index.ts'
import { type PacedFetchOptions, type PacedFetchSettings, readSettings } from './paced-fetch-options.ts'
import { parseRateLimit } from './parse-headers.ts'
import type { ParsedRateLimit } from './quota.ts'
import { ServerDate } from './server-date.ts'
import { type Followed, follows, type RequestCost, ServerQuotas } from './server-quotas.ts'

type Fetch = typeof globalThis.fetch
type Input = Parameters<Fetch>[0]
type Init = Parameters<Fetch>[1]

/** The random delay of a retry is at most this fraction of the wait that the server names, and at most `maxJitter` ms. */
const jitterPart = 0.1
const maxJitter = 5000

/**
 * Returns a `fetch` that takes units from the pacer for every request. The returned `fetch` obeys `Retry-After` and the rate limit fields
 * of every dialect (draft or legacy). When the server has fewer units left than a request takes, the requests of the key wait until the
 * server gives units back. If the request's signal is aborted, the wait ends. The promise rejects with the errors of `fetch`, and with
 * those of `acquire` of the pacer, such as `HEADGATE_QUEUE_FULL`. The promise resolves with a response 429 or 503 if the request cannot
 * be repeated, or if all retries are used.
 * Example: `const get = pacedFetch(fetch, { pacer: new Pacer('10/1s'), key: ({ host }) => host })`.
 * @throws HeadgateError `HEADGATE_OPTION` or `HEADGATE_COST` if an option is invalid
 */
export function pacedFetch(fetch: Fetch, options: PacedFetchOptions): Fetch {
  if (typeof fetch !== 'function') {
    throw new HeadgateError(
      'HEADGATE_OPTION',
      `pacedFetch takes fetch, got ${shown(fetch)}. Write pacedFetch(fetch, { pacer }).`,
    )
  }
  const settings = readSettings(options)
  const { followedBy, maxHold } = settings
  /** The quotas of each pacer, by the keys of the pacer. */
  const knownOf = (pacer: Pace) => ({ followed: followedBy(pacer), byKey: new KeyMap<ServerQuotas>() })
  const known = new WeakMap<Pace, ReturnType<typeof knownOf>>()
  const dates = new KeyMap<ServerDate>()
  return async (input: Input, init?: Init) => {
    const pace = settings.paceOf(() => urlOf(input))
    const { pacer, key, clock } = pace.place
    const { followed, byKey } = getOrInsert(known, pacer, () => knownOf(pacer))
    const quotas = () => byKey.of(key, () => new ServerQuotas(followed, maxHold, clock))
    const date = () => dates.of(hostOf(input), () => new ServerDate(settings.now))
    const [cost, priority] = [settings.costOf(input, init), settings.priorityOf(input, init)]
    return exchange(fetch, { input, init, pace, cost, priority, followed, quotas, date }, settings)
  }
}

/** Sends a request when the pacer admits the request. Sends the request again if the server refuses the request. */
function exchange(fetch: Fetch, request: Sent, settings: PacedFetchSettings): Promise<Response> {
  const { input, init, pace, cost, priority } = request
  let attempt = 0
  // The response is read inside `throttle`, so that a refusal stops the pacer before the next request gets its slot (start time).
  const run = async (signal?: AbortSignal) => {
    const repeatable = attempt < settings.retries && isRepeatable(request, settings.methods)
    // React answers the second of two equal requests in a page by the first response, unless it has a signal.
    if (attempt > 0) signal ??= signalOf(request) ?? new AbortController().signal
    const limited = signal === undefined ? init : { ...init, signal }
    const send = () => fetch((repeatable && requestIn(input)?.clone()) || input, limited)
    const outcome = await sendIfLeft(send, request, attempt, settings)
    if (outcome === undefined) return again
    const { response, retry } = outcome
    if (!retry || !repeatable) return response
    discard(response)
    attempt++
    return again
  }
  const { runTimeout } = settings
  return pace.throttle(run, { cost, signal: signalOf(request), priority, runTimeout }) as Promise<Response>
}

/** Gives up the body of a response. Nobody waits for that: the body may have a clone that nobody reads. */
function discard({ body }: Response): void {
  if (body?.cancel)
    body.cancel().catch(() => undefined) // reading may have failed already
  else (body as { resume?(): void } | null)?.resume?.() // node-fetch has a stream of Node, whose connection waits until it is read
}

/**
 * Sends the request, unless the server has fewer units left than the request takes. In that case, stops the pacer for the key and
 * returns undefined: the pacer has to admit the request again. `retry` in the result is true if the server refused the request and
 * the request should be sent again.
 */
async function sendIfLeft(
  send: () => Promise<Response>,
  { pace, cost, followed, quotas, date }: Sent,
  attempt: number,
  settings: PacedFetchSettings,
): Promise<{ response: Response; retry: boolean } | undefined> {
  const { now, backoff } = settings
  const server = quotas()
  const wait = server.wait(cost)
  if (wait > 0) {
    pace.hold(`${wait}ms`, { shared: false }) // a smaller request of another process need not wait
    return undefined
  }
  const flight = server.send(cost)
  try {
    const response = await send()
    const info = infoOf(response.headers, now(), date())
    server.note(flight, info.quotas, backoff)
    return { response, retry: obey({ pace, followed }, response.status, info, attempt, settings) }
  } finally {
    server.end(flight)
  }
}

/** Stops the pacer for as long as the response asks. Returns true if the refused request should be sent again. */
function obey(
  { pace, followed }: Pick<Sent, 'pace' | 'followed'>,
  status: number,
  info: ParsedRateLimit,
  attempt: number,
  settings: PacedFetchSettings,
): boolean {
  const refused = status === 429 || status === 503
  const named = refused ? refusalWait(info) : spentWait(info, followed, settings.backoff)
  if (named === 0) return refused
  const wait = named ?? settings.backoff * 2 ** attempt
  const jitter = settings.random() * (named === undefined ? wait : Math.min(maxJitter, wait * jitterPart))
  pace.hold(`${Math.ceil(Math.min(settings.maxHold, refused ? wait + jitter : wait))}ms`)
  return refused && wait <= settings.maxHold
}

/** The wait that a refusal names, in milliseconds. 0: no wait is needed. Undefined: the refusal names no time. */
function refusalWait({ retryAfter, quotas }: ParsedRateLimit): number | undefined {
  if (retryAfter !== undefined) return retryAfter
  const spent = quotas.filter(({ remaining }) => remaining === 0)
  return Math.max(0, ...spent.map(({ resetAfter, window }) => resetAfter ?? window ?? 0)) || undefined
}

/**
 * How many milliseconds to wait if a quota that a policy follows (see the option `quotas`) has no units left. The wait lasts until the
 * quota's reset. If the server names no reset, the wait is the quota's window, or else `backoff`.
 */
function spentWait({ quotas }: ParsedRateLimit, followed: readonly Followed[], backoff: number): number {
  const spent = quotas.filter((quota) => quota.remaining === 0 && followed.some((each) => follows(each)(quota)))
  return Math.max(0, ...spent.map(({ resetAfter, window }) => resetAfter ?? window ?? backoff))
}

/**
 * The limits in the fields of a response. No limits for a response from a cache, because such fields are out of date (section 5 of
 * the IETF draft of the RateLimit fields).
 */
function infoOf(headers: Headers, now: number, date: ServerDate): ParsedRateLimit {
  const info = parseRateLimit(headers, now)
  return headers.has('age') || date.isOld(headers) ? { ...info, quotas: [] } : info
}

interface Sent {
  readonly input: Input
  readonly init: Init
  readonly pace: Pace
  readonly cost: RequestCost
  readonly priority: number
  readonly followed: readonly Followed[]
  /**
   * The units that the server has left for the key. Call `quotas` at each use, and do not store the result, because the numbers of
   * a key are removed when the key is idle.
   */
  readonly quotas: () => ServerQuotas
  /** The newest `Date` of the host. Call `date` at each use too. */
  readonly date: () => ServerDate
}

/** True if the method or an `Idempotency-Key` allows a second send, and the body can be sent twice. */
function isRepeatable({ input, init }: Sent, methods: ReadonlySet<string>): boolean {
  const given = requestIn(input)
  const body: unknown = init?.body
  const streams =
    typeof body === 'object' && body !== null && (Symbol.asyncIterator in body || body instanceof ReadableStream)
  if (streams || 'pipe' in Object(given?.body)) return false // node-fetch cannot copy a body again
  const method = init?.method ?? given?.method ?? 'GET'
  return methods.has(method.toUpperCase()) || new Headers(init?.headers ?? given?.headers).has('idempotency-key')
}

function signalOf({ input, init }: Sent): AbortSignal | undefined {
  if (init?.signal !== undefined) return init.signal ?? undefined
  return requestIn(input)?.signal
}

function addressOf(input: Input): string {
  return requestIn(input)?.url ?? String(input)
}

function urlOf(input: Input): URL {
  return new URL(addressOf(input))
}

/** Undefined for a relative address, which some kinds of `fetch` accept. */
function hostOf(input: Input): string | undefined {
  const address = addressOf(input)
  return URL.canParse(address) ? new URL(address).host : undefined
}

/** The request, also one of another `fetch`, such as that of undici. Undefined for a URL. */
function requestIn(input: Input): Request | undefined {
  return typeof input === 'object' && 'method' in input ? input : undefined
}
