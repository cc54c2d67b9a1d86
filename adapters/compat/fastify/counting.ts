import type { RouteOptions } from 'fastify'
import { LRUCache } from 'lru-cache'
import { HeadgateError, memoryStore, type Store, wallClock } from '../../../src/index.ts'
import { isPromise, type MaybePromise } from '../../../src/maybe-promise.ts'
import { type Count, Counters, isHeadgateStore } from '../counters.ts'
import type { Counting, Settings } from './settings.ts'
import type { FastifyRateLimitStore, FastifyRateLimitStoreCtor, Hits } from './types.ts'

function hitsOf({ used, resetAfter }: Count): Hits {
  return { current: used, ttl: resetAfter }
}

/** Throws the error of the store's client, as a store of @fastify/rate-limit does. */
function clientError(error: unknown): never {
  throw error instanceof HeadgateError && error.cause instanceof Error ? error.cause : error
}

/** Counts on a store of headgate. A window of another length has counters of its own. */
class StoreCounting implements Counting {
  readonly #byWindow = new LRUCache<number, Counters>({ max: 1000 })
  readonly #make: (window: number) => Counters
  readonly #child: (settings: Settings) => Counting

  constructor(make: (window: number) => Counters, child: (settings: Settings) => Counting) {
    this.#make = make
    this.#child = child
  }

  #of(window: number): Counters {
    let counters = this.#byWindow.get(window)
    if (counters === undefined) {
      counters = this.#make(window)
      this.#byWindow.set(window, counters)
    }
    return counters
  }

  hit(key: string, window: number): MaybePromise<Hits> {
    const count = this.#of(window).hit(key)
    return isPromise(count) ? count.then(hitsOf, clientError) : hitsOf(count)
  }

  read(key: string, window: number): Promise<Hits> {
    return this.#of(window).read(key).then(hitsOf, clientError)
  }

  child(settings: Settings): Counting {
    return this.#child(settings)
  }
}

function inMemory({ cache }: Settings): Counting {
  return new StoreCounting(
    (window) => new Counters(window, memoryStore({ maxKeys: cache, clock: wallClock })),
    countingInMemory,
  )
}

function countingInMemory(settings: Settings): Counting {
  return extendsWindows(settings) ? new Extending(settings) : inMemory(settings)
}

function extendsWindows({ continueExceeding, exponentialBackoff }: Settings): boolean {
  return Boolean(continueExceeding || exponentialBackoff)
}

/** Counts in memory, in windows that refusals begin anew or make longer. */
class Extending implements Counting {
  readonly #windows: LRUCache<string, { current: number; end: number }>
  readonly #continues: boolean

  constructor({ cache, continueExceeding }: Settings) {
    this.#windows = new LRUCache({ max: cache })
    this.#continues = Boolean(continueExceeding)
  }

  hit(key: string, window: number, max: number): Hits {
    const now = Date.now()
    const entry = this.#live(key, now) ?? { current: 0, end: now + window }
    const isNew = entry.current++ === 0
    const over = entry.current - max
    const longer = () => Math.min(window * 2 ** (over - 1), Number.MAX_SAFE_INTEGER)
    if (!isNew && over > 0) entry.end = now + (this.#continues ? window : longer())
    this.#windows.set(key, entry)
    return { current: entry.current, ttl: entry.end - now }
  }

  read(key: string): Hits {
    const now = Date.now()
    const { current = 0, end = now } = this.#live(key, now) ?? {}
    return { current, ttl: end - now }
  }

  #live(key: string, now: number): { current: number; end: number } | undefined {
    const entry = this.#windows.get(key)
    return entry !== undefined && entry.end > now ? entry : undefined
  }

  child(settings: Settings): Counting {
    return countingInMemory(settings)
  }
}

/** Counts on a store of headgate that all limits of the plugin share: each has a name of its own. */
function onStore(store: Store, name: string, settings: Settings): Counting {
  if (extendsWindows(settings)) throw needsOtherStore()
  return new StoreCounting(
    (window) => new Counters(window, store, `${name}:${window}`),
    (own) => onStore(store, `${name}:${nameOf(own.routeInfo)}`, own),
  )
}

/** Counts in Redis: by `redisStore`, or by a script if refusals make windows longer. */
async function onRedis({ redis, nameSpace = 'fastify-rate-limit-', ...settings }: Settings): Promise<Counting> {
  const { redisStore } = await import('../../../src/stores/redis/index.ts')
  const { ExtendingInRedis } = await import('./extending-in-redis.ts')
  const store = redisStore({ client: redis, prefix: 'fastify-rate-limit', timeout: '1s' })
  const counting = (own: Settings, name: string, prefix: string): Counting => {
    const child = (nested: Settings) => {
      const { method, url } = nested.routeInfo ?? {}
      return counting(nested, `${name}:${nameOf(nested.routeInfo)}`, `${prefix}${method}${url}-`)
    }
    if (extendsWindows(own)) return new ExtendingInRedis(redis, prefix, own, child)
    return new StoreCounting((window) => new Counters(window, store, `${name}:${window}`), child)
  }
  return counting(settings, nameSpace, nameSpace)
}

let unnamed = 0

/** Limiters have printable names of at most 128 characters. */
function nameOf(route: Partial<RouteOptions> = {}): string {
  const text = route.url === undefined ? `handler ${++unnamed}` : `${[route.method].flat().join()}${route.url}`
  return encodeURI(text).slice(-80)
}

/** The error of a store without `read`. */
export class CannotRead extends Error {}

/** Counts by a class of @fastify/rate-limit. */
class ForeignCounting implements Counting {
  readonly #store: FastifyRateLimitStore

  constructor(store: FastifyRateLimitStore) {
    this.#store = store
  }

  hit(key: string, window: number, max: number): Promise<Hits> {
    return this.#ask('incr', key, window, max)
  }

  async read(key: string, window: number, max: number): Promise<Hits> {
    if (typeof this.#store.read === 'function') return this.#ask('read', key, window, max)
    throw new CannotRead('The store of this rate limit has no read, which { increment: false } needs.')
  }

  #ask(method: 'incr' | 'read', key: string, window: number, max: number): Promise<Hits> {
    return new Promise((resolve, reject) => {
      this.#store[method]?.(key, (error, hits) => (error ? reject(error) : resolve(hits as Hits)), window, max)
    })
  }

  child(settings: Settings): Counting {
    return new ForeignCounting(this.#store.child(settings as never))
  }
}

/** Where the limits of a plugin count. */
export async function countingOf(settings: Settings): Promise<Counting> {
  const { store, redis, nameSpace = 'fastify-rate-limit-' } = settings
  if (isHeadgateStore(store)) return onStore(store, nameSpace, settings)
  if (store) return new ForeignCounting(new (store as FastifyRateLimitStoreCtor)(settings))
  return redis ? onRedis(settings) : countingInMemory(settings)
}

function needsOtherStore(): TypeError {
  return new TypeError(
    'continueExceeding and exponentialBackoff need counts in memory, or the option redis. Leave store out, or use a penalty.',
  )
}
