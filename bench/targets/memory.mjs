import { createRequire } from 'node:module'
import { MemoryStore as ExpressStore } from 'express-rate-limit'
import { fixedWindow, gcra, memoryStore, RateLimiter, segmentedWindow, slidingWindow, tokenBucket } from 'headgate'
import { MemoryStore as HonoStore } from 'hono-rate-limiter'
import { RateLimiter as Limiter } from 'limiter'
import { LRUCache } from 'lru-cache'
import { RateLimiterMemory, RateLimiterUnion } from 'rate-limiter-flexible'
import { asyncLoop, rejectingLoop, sink, syncLoop } from '../lib/timing.mjs'

/*
 * Limiters in this process's memory. Each is made for a `limit` in an hour (or `windowMs`) and a number of keys, and returns a
 * loop over keys. The loop reads every figure of the result. Peers have what their documentation recommends for speed: a cache
 * as large as the keys, no validation, no headers.
 */

const load = createRequire(import.meta.url)
const FastifyStore = load('@fastify/rate-limit/store/LocalStore')
const KoaLimiter = load('koa-ratelimit/limiter/memory')

const anHour = 3_600_000

const algorithms = { slidingWindow, tokenBucket, fixedWindow }

/** headgate with the whole decision: the loop reads `remaining`, `retryAfter` and `resetAfter`. */
function headgate(algorithm) {
  return (order, { limit, windowMs = anHour, keys }) => {
    const policies = algorithms[algorithm]({ limit, window: windowMs })
    const limiter = new RateLimiter({ policies, store: memoryStore({ maxKeys: keys }) })
    return syncLoop(order, (key) => read(limiter.consumeSync(key)))
  }
}

export function read({ allowed, remaining, retryAfter, resetAfter }) {
  sink.total += remaining + retryAfter + resetAfter
  return allowed
}

function headgateAwaited(order, { limit, windowMs = anHour, keys }) {
  const policies = slidingWindow({ limit, window: windowMs })
  const limiter = new RateLimiter({ policies, store: memoryStore({ maxKeys: keys }) })
  return asyncLoop(order, (key) => limiter.consume(key), read)
}

/** Limiters of several algorithms in one process, called alternately, as in a service. */
export function inTurns(order, { limit, windowMs = anHour }) {
  const all = [slidingWindow, tokenBucket, fixedWindow, segmentedWindow, gcra]
  const limiters = all.map((algorithm) => new RateLimiter({ policies: algorithm({ limit, window: windowMs }) }))
  let next = 0
  return syncLoop(order, (key) => {
    next = next + 1 < limiters.length ? next + 1 : 0
    return read(limiters[next].consumeSync(key))
  })
}

function readFlexible({ remainingPoints, msBeforeNext }) {
  sink.total += remainingPoints + msBeforeNext
}

/** The store of hits below the middleware of express-rate-limit and hono-rate-limiter. */
function hits(Store) {
  return (order, { limit, windowMs = anHour }) => {
    const store = new Store()
    store.init({ windowMs })
    return asyncLoop(
      order,
      (key) => store.increment(key),
      ({ totalHits, resetTime }) => {
        sink.total += resetTime.getTime()
        return totalHits <= limit
      },
    )
  }
}

export const floors = {
  'clock read': (order) =>
    syncLoop(order, () => {
      sink.total += performance.now()
      return true
    }),
  'Map get + set': (order) => {
    const map = new Map()
    return syncLoop(order, (key) => {
      const count = map.get(key) ?? 0
      map.set(key, count + 1)
      return count >= 0
    })
  },
  'lru-cache get + set': (order, { keys }) => {
    /** @type {LRUCache<string, number>} */
    const cache = new LRUCache({ max: keys })
    return syncLoop(order, (key) => {
      const count = cache.get(key) ?? 0
      cache.set(key, count + 1)
      return count >= 0
    })
  },
}

export const ours = {
  'headgate slidingWindow': headgate('slidingWindow'),
  'headgate tokenBucket': headgate('tokenBucket'),
  'headgate fixedWindow': headgate('fixedWindow'),
  'headgate slidingWindow, awaited': headgateAwaited,
}

export const peers = {
  'rate-limiter-flexible': (order, { limit, windowMs = anHour }) => {
    const limiter = new RateLimiterMemory({ points: limit, duration: windowMs / 1000 })
    return rejectingLoop(order, (key) => limiter.consume(key), readFlexible)
  },
  'express-rate-limit store': hits(ExpressStore),
  'hono-rate-limiter store': hits(HonoStore),
  '@fastify/rate-limit store': (order, { limit, windowMs = anHour, keys }) => {
    const store = new FastifyStore(false, false, keys)
    let admitted = false
    const done = (_error, { current, ttl }) => {
      sink.total += ttl
      admitted = current <= limit
    }
    return syncLoop(order, (key) => {
      store.incr(key, done, windowMs, limit)
      return admitted
    })
  },
  'koa-ratelimit limiter': (order, { limit, windowMs = anHour }) => {
    const db = new Map()
    return asyncLoop(
      order,
      // Its middleware makes a limiter for each request too.
      (id) => new KoaLimiter({ id, db, max: limit, duration: windowMs }).get(),
      ({ remaining, reset }) => {
        sink.total += reset
        return remaining > 0
      },
    )
  },
  'limiter, one for each key': (order, { limit, windowMs = anHour }) => {
    const limiters = new Map()
    return syncLoop(order, (key) => {
      let own = limiters.get(key)
      if (own === undefined) {
        own = new Limiter({ tokensPerInterval: limit, interval: windowMs })
        limiters.set(key, own)
      }
      return own.tryRemoveTokens(1)
    })
  },
}

/** Several limits at once on one key: `count` of them, each with its own window. */
export const several = {
  'headgate slidingWindow': (order, { limit, count }) => {
    const policies = lengths(count).map((window) => slidingWindow({ name: `w${window}`, limit, window }))
    const limiter = new RateLimiter({ policies })
    return syncLoop(order, (key) => read(limiter.consumeSync(key)))
  },
  'rate-limiter-flexible union': (order, { limit, count }) => {
    const limiters = lengths(count).map(
      (window) => new RateLimiterMemory({ keyPrefix: `w${window}`, points: limit, duration: window / 1000 }),
    )
    if (count === 1) return rejectingLoop(order, (key) => limiters[0].consume(key), readFlexible)
    const union = new RateLimiterUnion(...limiters)
    return rejectingLoop(
      order,
      (key) => union.consume(key),
      (all) => {
        for (const name in all) readFlexible(all[name])
      },
    )
  },
}

function lengths(count) {
  return Array.from({ length: count }, (_, n) => anHour * (n + 1))
}
