import { LRUCache } from 'lru-cache'
import { getOrInsert, HeadgateError, isPromise, ownText, wallClock } from '../../../src/common/index.ts'
import type { RateLimiter } from '../../../src/limiter/index.ts'
import { memoryStore } from '../../../src/stores/memory/index.ts'
import { countersIn, countersOn, hit, isHeadgateStore, read, type WindowCount } from '../counters.ts'
import type { Counting, Settings } from './settings.ts'
import type { FastifyRateLimitStore, FastifyRateLimitStoreCtor } from './types.ts'

/**
 * Throws the cause of `error` if `error` is a HeadgateError with a cause, because a store of @fastify/rate-limit throws the error of
 * its client. Else throws `error`.
 */
function clientError(error: unknown): never {
  throw error instanceof HeadgateError && error.cause instanceof Error ? error.cause : error
}

/** Returns the counter of hits for one limit of the plugin. A limit of a route has its own hits, and in memory also a limit that the application makes. */
export type CountingOf = (settings: Settings) => Counting

/**
 * Counts hits in a store of headgate, with one limiter for each length of the windows.
 * @param make returns the limiter for windows of the given length in milliseconds
 */
function inStore(make: (window: number) => RateLimiter): Counting {
  const byWindow = new LRUCache<number, RateLimiter>({ max: 1000 })
  return {
    hit(key, window) {
      const count = hit(getOrInsert(byWindow, window, make), key)
      return isPromise(count) ? count.catch(clientError) : count
    },
    read: (key, window) => read(getOrInsert(byWindow, window, make), key).catch(clientError),
  }
}

function inMemory(settings: Settings): Counting {
  if (changesWindows(settings)) return changingInMemory(settings)
  const { cache } = settings
  return inStore((window) => countersIn(window, memoryStore({ maxKeys: cache, clock: wallClock })))
}

/** True if refusals make windows longer, or if a function returns the length of each window. */
function changesWindows(settings: Settings): boolean {
  return extendsWindows(settings) || typeof settings.timeWindow === 'function'
}

function extendsWindows({ continueExceeding, exponentialBackoff }: Settings): boolean {
  return Boolean(continueExceeding || exponentialBackoff)
}

interface ChangingWindow {
  used: number
  readonly start: number
  end: number
}

/**
 * Counts hits in memory. With `continueExceeding`, a refusal starts the window of a key again; with `exponentialBackoff`, a
 * refusal makes the window longer. Without both options, the function `timeWindow` gives the length of the window for each
 * call.
 */
function changingInMemory(settings: Settings): Counting {
  const windows = new LRUCache<string, ChangingWindow>({ max: settings.cache })
  const extended = extendsWindows(settings)
  const live = (key: string, window: number, now: number): ChangingWindow | undefined => {
    const entry = windows.get(key)
    if (entry === undefined) return undefined
    const end = extended ? entry.end : entry.start + window
    return end > now ? { ...entry, end } : undefined
  }
  return {
    hit(key, window, max) {
      const now = Date.now()
      const entry = live(key, window, now) ?? { used: 0, start: now, end: now + window }
      const isNew = entry.used++ === 0
      const over = entry.used - max
      const longer = () => Math.min(window * 2 ** (over - 1), Number.MAX_SAFE_INTEGER)
      if (extended && !isNew && over > 0) entry.end = now + (settings.continueExceeding ? window : longer())
      windows.set(isNew ? ownText(key) : key, entry)
      return { used: entry.used, resetAfter: entry.end - now }
    },
    read(key, window) {
      const now = Date.now()
      const { used = 0, end = now } = live(key, window, now) ?? {}
      return { used, resetAfter: end - now }
    },
  }
}

/** Counts hits in Redis, by a script, under the keys of the original. The first hit of a window says when the window ends. */
async function inRedis({ redis, nameSpace }: Settings): Promise<CountingOf> {
  const { connectionOf } = await import('../../../src/stores/redis/client/index.ts')
  const { countsInRedis } = await import('./counts-in-redis.ts')
  connectionOf(redis, '@fastify/rate-limit: redis', 'Write redis: new Redis().')
  return (settings) => {
    const { routeInfo } = settings
    const prefix = routeInfo === undefined ? nameSpace : `${nameSpace}${routeInfo.method}${routeInfo.url}-`
    return countsInRedis(redis, prefix, settings)
  }
}

/** The name of a limit in a store that all limits of the plugin share: the namespace, with the route if the limit has one. */
function nameIn(nameSpace: string, { routeInfo }: Settings): string {
  if (routeInfo === undefined) return nameSpace
  const { method, url } = routeInfo
  return `${nameSpace}:${url === undefined ? 'handlers' : `${[method].flat().join()}${url}`}`
}

export class CannotRead extends Error {}

/** Counts hits in a store that was written for @fastify/rate-limit. */
function inForeign(store: FastifyRateLimitStore): Counting {
  const ask = async (method: 'incr' | 'read', key: string, window: number, max: number): Promise<WindowCount> => {
    const { current, ttl } = await new Promise<{ current: number; ttl: number }>((resolve, reject) => {
      store[method]?.(key, (error, hits) => (error ? reject(error) : resolve(hits!)), window, max)
    })
    return { used: current, resetAfter: ttl }
  }
  return {
    hit: (key, window, max) => ask('incr', key, window, max),
    async read(key, window, max) {
      if (typeof store.read === 'function') return ask('read', key, window, max)
      throw new CannotRead('The store of this rate limit has no read, which { increment: false } needs.')
    },
  }
}

/** Returns a function that makes the counter of hits for each limit of the plugin. */
export async function countingOf(settings: Settings): Promise<CountingOf> {
  const { store, redis, nameSpace } = settings
  if (isHeadgateStore(store)) {
    return (own) => {
      if (extendsWindows(own)) throw needsOtherStore()
      const name = nameIn(nameSpace, own)
      // A store that cannot count this way, or a name that the store has already, is an error when the limit is made.
      if (typeof own.timeWindow === 'number') countersOn(store, name, own.timeWindow)
      return inStore((window) => countersOn(store, name, window))
    }
  }
  if (store) {
    const root = new (store as FastifyRateLimitStoreCtor)(settings)
    return (own) => inForeign(own.routeInfo === undefined ? root : root.child(own as never))
  }
  return redis ? inRedis(settings) : inMemory
}

function needsOtherStore(): TypeError {
  return new TypeError(
    'continueExceeding and exponentialBackoff need counts in memory, or the option redis. Leave store out, or use a penalty.',
  )
}
