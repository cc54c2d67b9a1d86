import type { RouteOptions } from 'fastify'
import { LRUCache } from 'lru-cache'
import { getOrInsert, HeadgateError, isPromise, type MaybePromise, wallClock } from '../../../src/common/index.ts'
import type { RateLimiter } from '../../../src/limiter/index.ts'
import { memoryStore } from '../../../src/stores/memory/index.ts'
import { countersIn, countersOn, hit, isHeadgateStore, read, type WindowCount } from '../counters.ts'
import type { Counting, Settings } from './settings.ts'
import type { FastifyRateLimitStore, FastifyRateLimitStoreCtor } from './types.ts'

/** Throws the error of the store's client, as a store of @fastify/rate-limit does. */
function clientError(error: unknown): never {
  throw error instanceof HeadgateError && error.cause instanceof Error ? error.cause : error
}

/** Returns where a limit of the plugin counts. A limit of a route or a handler has `routeInfo`, and its own counts. */
export type CountingOf = (settings: Settings) => Counting

class StoreCounting implements Counting {
  readonly #byWindow = new LRUCache<number, RateLimiter>({ max: 1000 })
  readonly #make: (window: number) => RateLimiter

  constructor(make: (window: number) => RateLimiter) {
    this.#make = make
  }

  hit(key: string, window: number): MaybePromise<WindowCount> {
    const count = hit(getOrInsert(this.#byWindow, window, this.#make), key)
    return isPromise(count) ? count.catch(clientError) : count
  }

  read(key: string, window: number): Promise<WindowCount> {
    return read(getOrInsert(this.#byWindow, window, this.#make), key).catch(clientError)
  }
}

function inMemory(settings: Settings): Counting {
  if (changesWindows(settings)) return new ChangingInMemory(settings)
  const { cache } = settings
  return new StoreCounting((window) => countersIn(window, memoryStore({ maxKeys: cache, clock: wallClock })))
}

/** True if refusals make windows longer, or if each call says how long its window is. */
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

/** Counts in memory, in windows that refusals begin anew or make longer, or that are as long as the last call says. */
class ChangingInMemory implements Counting {
  readonly #windows: LRUCache<string, ChangingWindow>
  readonly #continues: boolean
  readonly #extends: boolean

  constructor(settings: Settings) {
    this.#windows = new LRUCache({ max: settings.cache })
    this.#continues = Boolean(settings.continueExceeding)
    this.#extends = extendsWindows(settings)
  }

  hit(key: string, window: number, max: number): WindowCount {
    const now = Date.now()
    const entry = this.#live(key, window, now) ?? { used: 0, start: now, end: now + window }
    const isNew = entry.used++ === 0
    const over = entry.used - max
    const longer = () => Math.min(window * 2 ** (over - 1), Number.MAX_SAFE_INTEGER)
    if (this.#extends && !isNew && over > 0) entry.end = now + (this.#continues ? window : longer())
    this.#windows.set(key, entry)
    return { used: entry.used, resetAfter: entry.end - now }
  }

  read(key: string, window: number): WindowCount {
    const now = Date.now()
    const { used = 0, end = now } = this.#live(key, window, now) ?? {}
    return { used, resetAfter: end - now }
  }

  #live(key: string, window: number, now: number): ChangingWindow | undefined {
    const entry = this.#windows.get(key)
    if (entry === undefined) return undefined
    const end = this.#extends ? entry.end : entry.start + window
    return end > now ? { ...entry, end } : undefined
  }
}

/** Counts in Redis: by `redisStore`, or by a script if refusals make windows longer. */
async function inRedis({ redis, nameSpace }: Settings): Promise<CountingOf> {
  const { redisStore } = await import('../../../src/stores/redis/index.ts')
  const { connectionOf } = await import('../../../src/stores/redis/client/index.ts')
  const { ChangingInRedis } = await import('./changing-in-redis.ts')
  connectionOf(redis, '@fastify/rate-limit: redis', 'Write redis: new Redis().')
  const store = redisStore({ client: redis, prefix: 'fastify-rate-limit', timeout: '1s' })
  return (settings) => {
    const { routeInfo } = settings
    const name = nameIn(nameSpace, routeInfo)
    if (!changesWindows(settings)) return new StoreCounting((window) => countersOn(store, name, window))
    const prefix = routeInfo === undefined ? nameSpace : `${nameSpace}${routeInfo.method}${routeInfo.url}-`
    return new ChangingInRedis(redis, prefix, settings)
  }
}

let unnamed = 0

/** The name of a limit on a store that all limits of the plugin share. */
function nameIn(nameSpace: string, route: Partial<RouteOptions> | undefined): string {
  if (route === undefined) return nameSpace
  const { method, url } = route
  return `${nameSpace}:${url === undefined ? `handler ${++unnamed}` : `${[method].flat().join()}${url}`}`
}

export class CannotRead extends Error {}

class ForeignCounting implements Counting {
  readonly #store: FastifyRateLimitStore

  constructor(store: FastifyRateLimitStore) {
    this.#store = store
  }

  hit(key: string, window: number, max: number): Promise<WindowCount> {
    return this.#ask('incr', key, window, max)
  }

  async read(key: string, window: number, max: number): Promise<WindowCount> {
    if (typeof this.#store.read === 'function') return this.#ask('read', key, window, max)
    throw new CannotRead('The store of this rate limit has no read, which { increment: false } needs.')
  }

  async #ask(method: 'incr' | 'read', key: string, window: number, max: number): Promise<WindowCount> {
    const { current, ttl } = await new Promise<{ current: number; ttl: number }>((resolve, reject) => {
      this.#store[method]?.(key, (error, hits) => (error ? reject(error) : resolve(hits!)), window, max)
    })
    return { used: current, resetAfter: ttl }
  }
}

/** Makes the function that returns where each limit of the plugin counts. */
export async function countingOf(settings: Settings): Promise<CountingOf> {
  const { store, redis, nameSpace } = settings
  if (isHeadgateStore(store)) {
    return (own) => {
      if (extendsWindows(own)) throw needsOtherStore()
      const name = nameIn(nameSpace, own.routeInfo)
      return new StoreCounting((window) => countersOn(store, name, window))
    }
  }
  if (store) {
    const root = new (store as FastifyRateLimitStoreCtor)(settings)
    return (own) => new ForeignCounting(own.routeInfo === undefined ? root : root.child(own as never))
  }
  return redis ? inRedis(settings) : inMemory
}

function needsOtherStore(): TypeError {
  return new TypeError(
    'continueExceeding and exponentialBackoff need counts in memory, or the option redis. Leave store out, or use a penalty.',
  )
}
