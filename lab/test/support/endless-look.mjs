/* `top` on a store in which a look at all keys never ends: each 20 ms the look finds another key. Every fifth key is refused. */
import { setTimeout as sleep } from 'node:timers/promises'
import { watch } from '../../store/watch.mjs'

const minute = 60_000
const banned = new Set()

function stored(n) {
  const at = Date.now()
  const key = `key-${n}`
  const retryAfter = banned.has(key) ? 60 * minute : n % 5 === 4 ? minute : 0
  const policy = { name: '1m', kind: 'slidingWindow', used: n % 10, limit: 10, burst: 10, retryAfter, words: '' }
  const ban = banned.has(key) ? { until: at + 60 * minute, scope: 'default', reason: undefined } : undefined
  const inspection = { refused: retryAfter > 0, retryAfter, policies: [policy], ban, at, lastUsedAt: at, words: '' }
  return { storeKey: key, limiter: 'api', scope: 'default', key, hash: undefined, bytes: 1, inspection }
}

const store = {
  server: 'a store',
  inspector: {
    async *list() {
      for (let n = 0; ; n++) {
        yield stored(n)
        await sleep(20)
      }
    },
    read: async (storeKey) => stored(Number(storeKey.slice('key-'.length))),
  },
  limiterOf: () => ({ ban: async ({ default: key }) => void banned.add(key), close() {} }),
}

await watch(store, {
  filter: {},
  interval: 2000,
  frames: Infinity,
  most: 20,
  order: 'refused',
  refused: false,
  json: false,
})
