import { performance } from 'node:perf_hooks'
import { LRUCache } from 'lru-cache'
import {
  fixedWindow,
  gcra,
  leakyBucket,
  RateLimiter,
  segmentedWindow,
  slidingLog,
  slidingWindow,
  tokenBucket,
} from '../dist/src/index.js'
import { addresses, uniform, zipf } from './workloads.mjs'

/*
 * What is measured. A target makes its state and returns a loop of `n` calls; the loop returns something that depends on
 * each call, so that none can be left out by the compiler. Each runs in a process of its own.
 */

/** So large that nothing is refused, however long a target runs. */
const open = { limit: 1_000_000_000, window: '1h' }
const hot = '203.0.113.7'
const calls = 2 ** 21

function performanceNow() {
  return (n) => {
    let sum = 0
    for (let i = 0; i < n; i++) sum += performance.now()
    return sum
  }
}

function mapGet(order) {
  const map = new Map(order.map((key, n) => [key, n]))
  const mask = order.length - 1
  return (n) => {
    let sum = 0
    for (let i = 0; i < n; i++) sum += map.get(order[i & mask])
    return sum
  }
}

/** A bare counter in lru-cache, without any arithmetic of time: the least that a bounded limiter on it would cost. */
function lruGetSet(keys, order) {
  /** @type {LRUCache<string, number>} */
  const cache = new LRUCache({ max: keys.length })
  for (const key of keys) cache.set(key, 0)
  const mask = order.length - 1
  return (n) => {
    let sum = 0
    for (let i = 0; i < n; i++) {
      const key = order[i & mask]
      const count = cache.get(key)
      cache.set(key, count + 1)
      sum += count
    }
    return sum
  }
}

function oneKey(policies) {
  const limiter = new RateLimiter({ policies })
  return (n) => {
    let sum = 0
    for (let i = 0; i < n; i++) sum += limiter.consumeSync(hot).remaining
    return sum
  }
}

function manyKeys(policies, keys, order) {
  const limiter = new RateLimiter({ policies })
  for (const key of keys) limiter.consumeSync(key)
  const mask = order.length - 1
  return (n) => {
    let sum = 0
    for (let i = 0; i < n; i++) sum += limiter.consumeSync(order[i & mask]).remaining
    return sum
  }
}

function tenThousand(build) {
  const keys = addresses(10_000)
  return build(keys, uniform(keys, calls))
}

function million(build) {
  const keys = addresses(1_000_000)
  return build(keys, zipf(keys, calls))
}

export const floors = {
  'performance.now()': performanceNow,
  'Map get, one key': () => mapGet([hot]),
  'Map get, 10,000 keys': () => tenThousand((_, order) => mapGet(order)),
  'Map get, 1,000,000 keys, Zipf': () => million((_, order) => mapGet(order)),
  'lru-cache get + set, one key': () => lruGetSet([hot], [hot]),
  'lru-cache get + set, 10,000 keys': () => tenThousand(lruGetSet),
  'lru-cache get + set, 1,000,000 keys, Zipf': () => million(lruGetSet),
}

export const decisions = {
  'one key, fixedWindow': () => oneKey(fixedWindow(open)),
  'one key, slidingWindow': () => oneKey(slidingWindow(open)),
  'one key, segmentedWindow': () => oneKey(segmentedWindow(open)),
  'one key, slidingLog': () => oneKey(slidingLog({ ...open, window: '10ms' })),
  'one key, tokenBucket': () => oneKey(tokenBucket(open)),
  'one key, tokenBucket by interval': () => oneKey(tokenBucket({ ...open, refill: 'interval' })),
  'one key, leakyBucket': () => oneKey(leakyBucket(open)),
  'one key, gcra': () => oneKey(gcra(open)),
  'one key, refused, slidingWindow': () => oneKey(slidingWindow({ ...open, limit: 1 })),
  'one key, refused, tokenBucket': () => oneKey(tokenBucket({ ...open, limit: 1 })),
  'one key, four policies': () =>
    oneKey([
      tokenBucket({ ...open, window: '1s' }),
      slidingWindow({ ...open, window: '1m' }),
      fixedWindow(open),
      slidingWindow({ ...open, window: '1d' }),
    ]),
  '10,000 keys, slidingWindow': () => tenThousand((keys, order) => manyKeys(slidingWindow(open), keys, order)),
  '10,000 keys, tokenBucket': () => tenThousand((keys, order) => manyKeys(tokenBucket(open), keys, order)),
  '1,000,000 keys, Zipf, slidingWindow': () => million((keys, order) => manyKeys(slidingWindow(open), keys, order)),
  '1,000,000 keys, Zipf, tokenBucket': () => million((keys, order) => manyKeys(tokenBucket(open), keys, order)),
}

/** How to hold a key, for the bytes that it takes: called once for each of a million addresses. */
export const holders = {
  'lru-cache, a number': () => {
    const cache = new LRUCache({ max: 1_000_000 })
    return (key) => cache.set(key, 1)
  },
  slidingWindow: () => holder(slidingWindow(open)),
  fixedWindow: () => holder(fixedWindow(open)),
  tokenBucket: () => holder(tokenBucket(open)),
}

function holder(policies) {
  const limiter = new RateLimiter({ policies })
  return (key) => limiter.consumeSync(key)
}
