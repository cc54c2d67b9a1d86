import { lruStore, memoryStore, RateLimiter } from 'headgate'
import { compareAndSetStore } from 'headgate/store'

/** The stores that a simulated fleet can use, and where each keeps its states. */
export const stores = {
  memory: 'each process has its own memory store, so it gives its own full limit',
  lru: 'each process has its own lruStore',
  shared: 'all processes share one store, as Redis, Postgres and Memcached are shared',
}

/**
 * The limiters of a fleet, one for each process. Requests go to them in turn.
 * @param {import('headgate').Policy} policy
 * @param {{ now: () => number }} clock
 * @param {{ store?: 'memory' | 'lru' | 'shared', processes?: number }} [options]
 * @returns {(key: string) => import('headgate').MaybePromise<import('headgate').Decision>}
 */
export function fleetOf(policy, clock, { store = 'memory', processes = 1 } = {}) {
  const texts = new Map()
  const create = {
    memory: () => memoryStore({ clock: clock.now }),
    lru: () => lruStore({ clock: clock.now }),
    shared: () => sharedStore(texts, clock),
  }
  const limiters = Array.from(
    { length: processes },
    () => new RateLimiter({ name: 'simulated', policies: policy, store: create[store]() }),
  )
  let turn = 0
  return (key) => {
    const limiter = limiters[turn++ % processes]
    return limiter.store.synchronous ? limiter.consumeSync(key) : limiter.consume(key)
  }
}

/** One connection to a simulated database: a table of texts with versions. */
function sharedStore(texts, clock) {
  return compareAndSetStore({
    read: async (key) => texts.get(key),
    swap: async (key, text, expected) => {
      if (texts.get(key)?.version !== expected) return false
      texts.set(key, { text, version: (expected ?? 0) + 1 })
      return true
    },
    clock: clock.now,
  })
}
