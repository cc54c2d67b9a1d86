import { addresses } from '../lib/keys.mjs'
import { defineSuite } from '../lib/suite.mjs'
import { ours, peers } from '../targets/memory.mjs'

const live = 10_000
const capacity = 5_000
const limit = 10
const calls = 100

/**
 * 10,000 clients call a hundred times each, one after the other, on a store that holds 5,000. The figure is the number of
 * admitted calls for each allowed call. 1 is right. More means that the limit was exceeded, less that calls were refused wrongly.
 */
async function overfull(make) {
  const keys = addresses(live)
  let admitted = 0
  const one = ['']
  const loop = make(one, { limit, keys: capacity })
  for (let round = 0; round < calls; round++) {
    for (const key of keys) {
      one[0] = key
      admitted += await loop(1)
    }
  }
  return { ratio: admitted / (live * limit) }
}

const workload = '10,000 live keys on a store of 5,000'

export default defineSuite({
  name: 'full',
  title: 'A full store',
  rounds: 1,
  workloads: [
    {
      name: workload,
      about: `Each key calls ${calls} times in a window that allows ${limit} calls. A figure is the number of admitted calls divided by the number of allowed calls, so a figure above 1 means that the store has forgotten keys. Libraries without a maximum store all 10,000 keys, and need more memory for more keys.`,
      metric: 'ratio',
      columns: [{ metric: 'ratio', label: 'admitted / allowed' }],
    },
  ],
  cases: [
    { target: 'headgate slidingWindow, maxKeys', kind: 'headgate', make: ours['headgate slidingWindow'] },
    { target: 'headgate tokenBucket, maxKeys', kind: 'headgate', make: ours['headgate tokenBucket'] },
    { target: '@fastify/rate-limit store, cache', kind: 'peer', make: peers['@fastify/rate-limit store'] },
    { target: 'rate-limiter-flexible, unbounded', kind: 'peer', make: peers['rate-limiter-flexible'] },
    { target: 'express-rate-limit store, unbounded', kind: 'peer', make: peers['express-rate-limit store'] },
    { target: 'hono-rate-limiter store, unbounded', kind: 'peer', make: peers['hono-rate-limiter store'] },
    { target: 'koa-ratelimit limiter, unbounded', kind: 'peer', make: peers['koa-ratelimit limiter'] },
  ].map(({ target, kind, make }) => ({ workload, target, kind, measure: () => overfull(make) })),
  aims: [{ workload, target: 'headgate slidingWindow, maxKeys', metric: 'ratio', most: 1 }],
})
