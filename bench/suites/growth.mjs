import { addresses, uniform } from '../lib/keys.mjs'
import { defineSuite } from '../lib/suite.mjs'
import { timed } from '../lib/timing.mjs'
import { floors, ours, peers, several } from '../targets/memory.mjs'
import { ours as pacers, peers as peerPacers } from '../targets/pacers.mjs'
import { anyClient, floors as bareRedis, ours as onRedis } from '../targets/redis.mjs'
import { filteredLog, fullLog } from './core.mjs'
import { crowd } from './pacer.mjs'
import { traffic } from './redis.mjs'

/*
 * How cost grows: one curve for each target over each size, on logarithmic scales. A flat curve is a cost that does not depend
 * on the size, and a slope of one is a cost that is proportional to it.
 */

const open = 1_000_000_000
const hot = ['203.0.113.7']
const calls = 2 ** 21

/** Calls each key once before the measurement, then all keys in random order. */
async function among(make, keys) {
  const all = addresses(keys)
  const order = uniform(all, calls)
  const asked = Array.from({ length: calls }, () => '')
  const loop = make(asked, { limit: open, keys })
  for (let from = 0; from < keys; from += calls) {
    for (let n = 0; n < calls; n++) asked[n] = all[(from + n) % keys]
    await loop(calls)
  }
  for (let n = 0; n < calls; n++) asked[n] = order[n]
  return timed(loop)
}

/** @param most the largest size for this target. Beyond it, a run would take minutes or too much memory */
function line(workload, target, kind, xs, measure, { most = Infinity, flags = [] } = {}) {
  return xs.filter((x) => x <= most).map((x) => ({ workload, target, kind, x, flags, measure: () => measure(x) }))
}

function decades(from, to) {
  const xs = []
  for (let x = from; x <= to; x *= 10) xs.push(x)
  return xs
}

const keys = decades(10, 10_000_000)
const large = { flags: ['--max-old-space-size=12000'] }
const keyed = [
  ...amongKeys('Map get + set', 'floor', floors['Map get + set']),
  ...amongKeys('lru-cache get + set', 'floor', floors['lru-cache get + set']),
  ...amongKeys('headgate slidingWindow', 'headgate', ours['headgate slidingWindow']),
  ...amongKeys('express-rate-limit store', 'peer', peers['express-rate-limit store']),
  ...amongKeys('rate-limiter-flexible', 'peer', peers['rate-limiter-flexible'], 1_000_000),
]

function amongKeys(target, kind, make, most = Infinity) {
  return line('keys', target, kind, keys, (x) => among(make, x), { ...large, most })
}

const policies = Object.entries(several).flatMap(([target, make]) =>
  line('policies', target, target.startsWith('headgate') ? 'headgate' : 'peer', [1, 2, 3, 4, 6, 8], (count) =>
    timed(make(hot, { limit: open, count })),
  ),
)

const limits = decades(10, 1_000_000)
const limited = [
  ...line('limit', 'headgate slidingLog, full', 'headgate', limits, fullLog),
  ...line('limit', 'headgate slidingWindow', 'headgate', limits, (limit) =>
    refusedBy(ours['headgate slidingWindow'], limit),
  ),
  ...line('limit', 'an array of times, filtered', 'floor', limits, filteredLog, { most: 100_000 }),
]

async function refusedBy(make, limit) {
  const loop = make(hot, { limit, keys: 1 })
  if ((await loop(limit + 1)) !== limit) throw new Error('not as many as are allowed')
  return timed(loop, false)
}

const crowds = decades(1, 1_000_000)
const waiting = [
  ...crowded('headgate slidingLog', 'headgate', pacers['headgate slidingLog']),
  ...crowded('headgate gcra', 'headgate', pacers['headgate gcra']),
  ...crowded('p-throttle', 'peer', peerPacers['p-throttle']),
  ...crowded('p-queue', 'peer', peerPacers['p-queue']),
  ...crowded('limiter', 'peer', peerPacers.limiter),
  ...crowded('bottleneck', 'peer', peerPacers.bottleneck, 1_000),
]

function crowded(target, kind, make, most = Infinity) {
  return line('waiters', target, kind, crowds, (x) => crowd(make, x), { most })
}

const flights = [1, 4, 16, 64, 256, 1024]
const flying = [
  ['INCR', 'floor', bareRedis.INCR],
  ['EVALSHA of a bare bucket', 'floor', bareRedis['EVALSHA of a bare bucket']],
  ['headgate tokenBucket', 'headgate', onRedis['headgate tokenBucket']],
  ['rate-limiter-flexible', 'peer', anyClient['rate-limiter-flexible']],
].flatMap(([target, kind, make]) =>
  line('calls in flight', target, kind, flights, (flight) =>
    traffic(make, { flight, calls: flight === 1 ? 5_000 : 30_000 }),
  ),
)

const cpu = [{ metric: 'cpuNs', label: 'CPU ns a decision' }]

export default defineSuite({
  name: 'growth',
  title: 'How cost grows',
  rounds: 3,
  redis: true,
  workloads: [
    { name: 'keys', x: 'keys', metric: 'cpuNs', columns: cpu, plot: true },
    { name: 'policies', x: 'policies', metric: 'cpuNs', columns: cpu, plot: true },
    { name: 'limit', x: 'limit', metric: 'cpuNs', columns: cpu, plot: true },
    {
      name: 'waiters',
      x: 'waiters',
      metric: 'cpuUs',
      columns: [{ metric: 'cpuUs', label: 'CPU us a call' }],
      plot: true,
    },
    {
      name: 'calls in flight',
      x: 'calls in flight',
      metric: 'perSecond',
      columns: [{ metric: 'perSecond', label: 'decisions a second' }],
      plot: true,
    },
  ],
  cases: [...keyed, ...policies, ...limited, ...waiting, ...flying],
})
