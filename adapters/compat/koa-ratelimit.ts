/*
 * The interface of koa-ratelimit 6: change the import, and keep the options, the drivers and what clients see.
 *
 * What differs, and why:
 *
 * - The reset time and `Retry-After` are in whole seconds, rounded up: a client that waits so long is admitted.
 * - A Map that is given as `db` has all counts, which are bounded, in one entry. `db.clear()` forgets them. The Map has
 *   no entries for single keys.
 * - The driver `'memory'` counts without a `db` too.
 * - In Redis, the log of a key is kept by `redisStore`, in other keys than those of koa-ratelimit. So each key starts
 *   once with an empty log.
 * - A call of Redis takes at most a second; then the request fails.
 * - A window lasts from 1 ms to 366 days.
 * - An `id` that is an object, such as a promise, is an error. In koa-ratelimit, all objects are one key.
 * - A request without an id gets 403 if its client has left. There, it is an error.
 * - A promise of `onLimited` is awaited, so its rejection is an error of the request. There, it ends the process.
 * - `store` takes a store of headgate in place of `driver` and `db`.
 */
import assert from 'node:assert'
import type { Context, Middleware } from 'koa'
import ms from 'ms'
import { slidingLog } from '../../src/algorithms/logs/index.ts'
import { getOrInsert, isPromise, longestWindow, shown, wallClock } from '../../src/common/index.ts'
import { decide, RateLimiter } from '../../src/limiter/index.ts'
import type { Store } from '../../src/stores/contract/index.ts'
import { memoryStore } from '../../src/stores/memory/index.ts'
import { countersOn, hit, isHeadgateStore, type WindowCount } from './counters.ts'
import { hasLeft } from './network.ts'
import { hashOf, largestLog, numberFor } from './option-values.ts'

/** Names of the fields. */
export interface HeaderNameOptions {
  /** Default `'X-RateLimit-Remaining'`. */
  remaining?: string
  /** Default `'X-RateLimit-Reset'`. */
  reset?: string
  /** Default `'X-RateLimit-Limit'`. */
  total?: string
}

/** The options of the middleware. */
export interface MiddlewareOptions {
  /** Default `'redis'`. */
  driver?: 'redis' | 'memory'
  /** A client of Redis, or a Map. */
  // biome-ignore lint/suspicious/noExplicitAny: each library has a client of its own
  db?: any
  /** A store of headgate, in place of `driver` and `db`. Limits of one `namespace` and one `duration` share their counts on it. */
  store?: Store
  /** The length of a window in milliseconds. Default an hour. */
  duration?: number
  /** How many requests a window admits. Default 2500. */
  max?: number
  /** Who is limited; false for no limit. Default: the address. */
  id?: (context: Context) => string | false
  /** The beginning of the keys. Default `'limit'`. */
  namespace?: string
  headers?: HeaderNameOptions
  /** True for no fields, except on refusals `Retry-After`. Default false. */
  disableHeader?: boolean
  /** The body of a refusal. Default: how long to wait. */
  errorMessage?: string | object
  /** The status of a refusal. Default 429. */
  status?: number
  /** True to refuse by `ctx.throw`. Default false. */
  throw?: boolean
  /** True for a request that is not limited. */
  whitelist?: (context: Context) => boolean | Promise<boolean>
  /** True for a request that gets 403. */
  blacklist?: (context: Context) => boolean | Promise<boolean>
  /** Called for every refusal. */
  onLimited?: (context: Context) => void
}

type Settings = MiddlewareOptions & Required<Pick<MiddlewareOptions, 'duration' | 'max' | 'id' | 'namespace'>>

/** How many requests are left, and in how many milliseconds the next one comes back. */
interface Answer {
  readonly allowed: boolean
  readonly remaining: number
  readonly resetAfter: number
}

type Limit = (id: string) => Answer | Promise<Answer>

/** The key of the entry of a Map that has the counts of this module. */
const countsOf: unique symbol = Symbol('headgate.counts')

function countersInMap(db: Map<unknown, unknown>, { duration, namespace }: Settings): RateLimiter {
  const store = getOrInsert(db as Map<unknown, Store>, countsOf, () => memoryStore({ clock: wallClock }))
  return countersOn(store, idOf(namespace, duration), duration)
}

/** Limits of one namespace and one duration share their counts. */
function idOf(namespace: string, duration: number): string {
  return `${namespace}:${duration}`
}

function byCounters(find: () => RateLimiter, max: number): Limit {
  const answer = ({ used, resetAfter }: WindowCount): Answer => {
    return { allowed: used <= max, remaining: Math.max(0, max - used), resetAfter }
  }
  return (id) => {
    const count = hit(find(), id)
    return isPromise(count) ? count.then(answer) : answer(count)
  }
}

/** Limits by a log in Redis: a request leaves the log one window after it came. */
async function byRedis({ db, duration, max, namespace }: Settings): Promise<Limit> {
  assert(db, 'db required')
  const { redisStore } = await import('../../src/stores/redis/index.ts')
  const { connectionOf } = await import('../../src/stores/redis/client/index.ts')
  connectionOf(db, 'koa-ratelimit: db', 'Write db: new Redis().')
  const policies = slidingLog({ limit: max, window: `${duration}ms` })
  const store = redisStore({ client: db, prefix: prefixOf(namespace), timeout: '1s' })
  const limiter = new RateLimiter({ policies, store, name: 'koa', onStoreError: 'throw' })
  return async (id) => {
    const { allowed, remaining, policies } = await decide(limiter, id, 1, { details: { nextAfter: true } })
    return { allowed, remaining, resetAfter: policies[0]?.nextAfter ?? 0 }
  }
}

/** The prefix for a namespace. If the namespace has characters that no prefix may have, its hash is the prefix. */
function prefixOf(namespace: string): string {
  if (/^[\w.-]{1,128}$/.test(namespace)) return namespace
  return `limit/${hashOf(namespace)}`
}

const storeFix = 'Give a store of headgate, such as redisStore({ client }), or leave it out and give db.'

function limitOf(given: Settings): Limit | Promise<Limit> {
  const settings: Settings = {
    ...given,
    duration: numberFor('koa-ratelimit: duration', given.duration, 1, longestWindow),
    max: numberFor('koa-ratelimit: max', given.max ?? 0, 0, largestLog),
    namespace: String(given.namespace),
  }
  const { driver, db, store, duration, max, namespace } = settings
  if (store !== undefined) {
    if (!isHeadgateStore(store)) throw new TypeError(`koa-ratelimit: store cannot be ${shown(store)}. ${storeFix}`)
    const counters = countersOn(store, idOf(namespace, duration), duration)
    return byCounters(() => counters, max)
  }
  if (driver === 'redis') return byRedis(settings)
  if (driver !== 'memory') throw new Error(`invalid driver. Expecting memory or redis, got ${driver}`)
  const map = db ?? new Map()
  assert(map instanceof Map, 'for memory driver, .db must be Map instance')
  return byCounters(() => countersInMap(map, settings), max)
}

/**
 * Koa middleware that refuses the requests beyond `max` in a window. Its errors go to Koa's error handling.
 * @throws TypeError if `store` is given, and `store`, `max` or `duration` is invalid
 */
export function ratelimit(options: MiddlewareOptions = {}): Middleware {
  const settings: Settings = {
    driver: 'redis',
    duration: 60 * 60 * 1000,
    max: 2500,
    id: ({ ip }) => ip,
    namespace: 'limit',
    ...options,
  }
  let limit = settings.store === undefined ? undefined : limitOf(settings)
  return async function ratelimit(context, next) {
    const id = settings.id(context)
    const { whitelist, blacklist } = settings
    const whitelisted = typeof whitelist === 'function' && (await whitelist(context))
    if (typeof blacklist === 'function' && (await blacklist(context))) context.throw(403, 'Forbidden')
    if (id === false || whitelisted) return next()
    if (!id && hasLeft(context.req)) context.throw(403, 'Forbidden')
    limit ??= limitOf(settings)
    if (isPromise(limit)) limit = await limit
    assert(id, '.id required')
    const asked = limit(keyOf(id))
    const answer = isPromise(asked) ? await asked : asked
    const headers = setHeaders(context, settings, answer)
    if (answer.allowed) return next()
    await refuse(context, settings, id, answer.resetAfter, headers)
  }
}

/** The key as a text. A number is converted to text. */
function keyOf(id: unknown): string {
  if (typeof id !== 'object' && typeof id !== 'symbol') return String(id)
  throw new TypeError(`koa-ratelimit: id must return a text or false, got ${shown(id)}.`)
}

type Fields = Record<string, number>

function setHeaders(context: Context, { headers = {}, max, disableHeader }: Settings, answer: Answer): Fields {
  if (disableHeader) return {}
  const { remaining = 'X-RateLimit-Remaining', reset = 'X-RateLimit-Reset', total = 'X-RateLimit-Limit' } = headers
  const fields = {
    [remaining]: answer.remaining,
    [reset]: Math.ceil((Date.now() + answer.resetAfter) / 1000),
    [total]: max,
  }
  context.set(fields as unknown as Record<string, string>)
  return fields
}

async function refuse(context: Context, settings: Settings, id: string, wait: number, headers: Fields): Promise<void> {
  const after = Math.ceil(wait / 1000)
  const message = settings.errorMessage || `Rate limit exceeded, retry in ${ms(wait, { long: true })}.`
  context.body = message
  context.set('Retry-After', String(after))
  context.state.rateLimit = { after, headers, id, message } as never
  context.status = settings.status || 429
  await settings.onLimited?.(context)
  if (!settings.throw) return
  Object.assign(headers, { 'Retry-After': after })
  context.throw(context.status, context.body as string, { headers })
}

/** @alias */
export default ratelimit
/** What `require` returns: the function, with the other exports as its properties. */
Object.assign(ratelimit, { default: ratelimit, ratelimit })

export { ratelimit as 'module.exports' }
