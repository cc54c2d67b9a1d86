/*
 * The interface of koa-ratelimit 6: change the import, and keep the options and the drivers. Clients get the same responses.
 *
 * What differs, and why:
 *
 * - The reset time and `Retry-After` are in whole seconds, rounded up: a client that waits until that time is admitted.
 * - A Map in the option `db` gets one entry for all counts together. In koa-ratelimit, the Map has an entry for each key. The number of
 *   counted keys is bounded. `db.clear()` removes all counts.
 * - With the driver `'memory'`, `db` may be left out.
 * - With the driver `'redis'`, `redisStore` stores the request times of each client under a Redis key that koa-ratelimit does not use.
 *   So after the change of the import, each client starts with an empty log.
 * - If Redis does not answer within a second, the request fails.
 * - A window lasts from 1 ms to 366 days.
 * - An `id` that is an object, such as a promise, is an error. In koa-ratelimit, all objects share one count.
 * - If a client has disconnected and its request has no id, the status is 403. In koa-ratelimit, the request fails.
 * - A promise of `onLimited` is awaited, so the request fails if the promise rejects. In koa-ratelimit, the rejection ends the process.
 * - The new option `store`, a store of headgate, replaces `driver` and `db`.
 */
import assert from 'node:assert'
import type { Context, Middleware } from 'koa'
import ms from 'ms'
import { slidingLog } from '../../src/algorithms/logs/index.ts'
import { getOrInsert, ignoreRejection, isPromise, longestWindow, shown, wallClock } from '../../src/common/index.ts'
import { decide, RateLimiter } from '../../src/limiter/index.ts'
import type { Store } from '../../src/stores/contract/index.ts'
import { memoryStore } from '../../src/stores/memory/index.ts'
import { countersOn, hit, isHeadgateStore, type WindowCount } from './counters.ts'
import { hasLeft } from './network.ts'
import { hashOf, largestLog, numberFor } from './option-values.ts'

/** The names of the response fields. */
export interface HeaderNameOptions {
  /** The name of the field with the number of remaining requests. Default `'X-RateLimit-Remaining'`. */
  remaining?: string
  /** The name of the field with the reset time, in seconds since 1970. Default `'X-RateLimit-Reset'`. */
  reset?: string
  /** The name of the field with the limit. Default `'X-RateLimit-Limit'`. */
  total?: string
}

/** The options of the middleware. */
export interface MiddlewareOptions {
  /** Where requests are counted: in Redis, or in the memory of this process. Default `'redis'`. */
  driver?: 'redis' | 'memory'
  /** A client of Redis for the driver `'redis'`, or a Map for `'memory'`. */
  // biome-ignore lint/suspicious/noExplicitAny: the type of a client depends on its package
  db?: any
  /** A store of headgate, in place of `driver` and `db`. Limits with the same `namespace` and `duration` share their counts. */
  store?: Store
  /** The length of a window in milliseconds. Default an hour. */
  duration?: number
  /** How many requests a client may make in one window. Default 2500. */
  max?: number
  /** Returns the key of the client, or false for a request that is not limited. Default: the address of the client. */
  id?: (context: Context) => string | false
  /** The prefix of the keys. Default `'limit'`. */
  namespace?: string
  headers?: HeaderNameOptions
  /** True to set no response fields, except `Retry-After` on a refusal. Default false. */
  disableHeader?: boolean
  /** The body of the response to a refused request. Default: an English sentence that tells how long to wait. */
  errorMessage?: string | object
  /** The status of the response to a refused request. Default 429. */
  status?: number
  /** True to refuse a request with `ctx.throw`. Default false: the middleware sets the status and the body. */
  throw?: boolean
  /** Returns true for a request that is not limited. Default: never. */
  whitelist?: (context: Context) => boolean | Promise<boolean>
  /** Returns true for a request that is refused with status 403. Default: never. */
  blacklist?: (context: Context) => boolean | Promise<boolean>
  /** Called for each refused request. */
  onLimited?: (context: Context) => void
}

type Settings = MiddlewareOptions & Required<Pick<MiddlewareOptions, 'duration' | 'max' | 'id' | 'namespace'>>

/** How many requests a client may still make now, and the milliseconds until the client may make more. */
interface Answer {
  readonly allowed: boolean
  readonly remaining: number
  readonly resetAfter: number
}

type Limit = (id: string) => Answer | Promise<Answer>

/** The key of the entry that contains the counts of all clients in the Map `db`. */
const countsOf: unique symbol = Symbol('headgate.counts')

function countersInMap(db: Map<unknown, unknown>, { duration, namespace }: Settings): RateLimiter {
  const store = getOrInsert(db as Map<unknown, Store>, countsOf, () => memoryStore({ clock: wallClock }))
  return countersOn(store, idOf(namespace, duration), duration)
}

/** The id of a counter. Limits with the same namespace and duration have the same id, so they share their counts. */
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

/**
 * Limits requests with a log in Redis, which contains the times of each client's requests. A time is removed from the log when it is
 * older than the window.
 */
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

/** The prefix of the keys in Redis: the namespace, or a hash of a namespace with characters that a prefix must not have. */
function prefixOf(namespace: string): string {
  if (/^[\w.-]{1,128}$/.test(namespace)) return namespace
  return `limit/${hashOf(namespace)}`
}

const storeFix = 'Give a store of headgate, such as redisStore({ client }), or leave it out and give db.'

function limitOf(given: Settings): Limit | Promise<Limit> {
  if (given.driver === 'redis' && given.store === undefined) {
    assert(given.max, 'max required')
    assert(given.duration, 'duration required')
  }
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

/** On Redis, koa-ratelimit takes them also for options that are there and undefined. */
const defaults = { duration: 60 * 60 * 1000, max: 2500 }

/**
 * Koa middleware that refuses the requests beyond `max` in a window. After an error, the promise of the middleware rejects, so Koa's
 * error handling gets the error.
 * @throws TypeError if the option `store` is present, and `store`, `max` or `duration` is invalid
 */
export function ratelimit(options: MiddlewareOptions = {}): Middleware {
  const settings: Settings = {
    driver: 'redis',
    ...defaults,
    id: ({ ip }) => ip,
    namespace: 'limit',
    ...options,
  }
  if (settings.driver === 'redis') {
    for (const name of ['duration', 'max'] as const) if (settings[name] === undefined) settings[name] = defaults[name]
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

/** The key of a client as text. A number becomes text, and an object is an error. */
function keyOf(id: unknown): string {
  if (typeof id !== 'object' && typeof id !== 'symbol') return String(id)
  ignoreRejection(id)
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
  if (settings.onLimited) await settings.onLimited(context)
  if (!settings.throw) return
  Object.assign(headers, { 'Retry-After': after })
  context.throw(context.status, context.body as string, { headers })
}

/** The function is also the default export, as in koa-ratelimit. @alias */
export default ratelimit
/** `require` of this module returns the function `ratelimit`. The other exports are properties of the function. */
Object.assign(ratelimit, { default: ratelimit, ratelimit })

export { ratelimit as 'module.exports' }
