import { address } from '../lib/keys.mjs'
import { median } from '../lib/statistics.mjs'
import { defineSuite } from '../lib/suite.mjs'
import { floors, ours, peers } from '../targets/memory.mjs'

const count = 1_000_000
const limit = 1000

/** Heap and external memory after a full collection. */
function used() {
  gc()
  gc()
  const { heapUsed, external } = process.memoryUsage()
  return heapUsed + external
}

/** At a million keys: the bytes for a key with its text, and how long a full collection stops the process. */
async function hold(make) {
  // The next key, in an array of one. The loop reads its keys from there and keeps none itself.
  const asked = [address(count)]
  const before = used() // before the holder is made: lru-cache takes most of its memory then
  const loop = make(asked, { limit, keys: count })
  await loop(1)
  for (let n = 0; n < count - 1; n++) {
    asked[0] = address(n)
    if ((await loop(1)) !== 1) throw new Error('a new key was refused')
  }
  const bytes = (used() - before) / count
  const pauses = Array.from({ length: 5 }, () => {
    const start = performance.now()
    gc()
    return performance.now() - start
  })
  asked[0] = address(0)
  await loop(1) // it is still there
  return { bytes, pause: median(pauses) }
}

async function nothing() {
  const pauses = Array.from({ length: 5 }, () => {
    const start = performance.now()
    gc()
    return performance.now() - start
  })
  return { bytes: 0, pause: median(pauses) }
}

const workload = 'a million IPv4 keys'
const bounded = ['headgate', 'lru-cache', '@fastify']

function cases(kind, makers) {
  return Object.entries(makers).map(([target, make]) => ({
    workload,
    target: bounded.some((each) => target.startsWith(each)) ? `${target}, bounded` : target,
    kind,
    quick: target === 'headgate slidingWindow' || target === 'lru-cache get + set',
    measure: () => hold(make),
  }))
}

export default defineSuite({
  name: 'memory',
  title: 'Memory',
  rounds: 3,
  workloads: [
    {
      name: workload,
      about: 'The bytes include the text of the key. A full garbage collection stops the process for the time shown.',
      metric: 'bytes',
      columns: [
        { metric: 'bytes', label: 'bytes a key' },
        { metric: 'pause', label: 'full collection, ms' },
      ],
      ratio: { to: 'headgate slidingWindow, bounded', label: 'bytes, to headgate' },
      plot: true,
    },
  ],
  cases: [
    { workload, target: 'an empty process', kind: 'floor', measure: nothing },
    ...cases('floor', {
      'Map get + set': floors['Map get + set'],
      'lru-cache get + set': floors['lru-cache get + set'],
    }),
    ...cases('headgate', {
      'headgate slidingWindow': ours['headgate slidingWindow'],
      'headgate tokenBucket': ours['headgate tokenBucket'],
      'headgate fixedWindow': ours['headgate fixedWindow'],
    }),
    ...cases('peer', peers),
  ],
  aims: [
    { workload, target: 'headgate slidingWindow, bounded', metric: 'bytes', most: 125 },
    { workload, target: 'headgate slidingWindow, bounded', metric: 'pause', most: 50 },
  ],
})
