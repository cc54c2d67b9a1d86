// One target in this process: node --expose-gc measure.mjs ns|bytes <target>. Prints one number.
import { performance } from 'node:perf_hooks'
import { expressTargets } from './express.mjs'
import { decisions, floors, holders } from './targets.mjs'
import { address } from './workloads.mjs'

const rounds = 9
/** How long a round and the warm-up take at least, in milliseconds. */
const roundTime = 60
const warmUpTime = 400

function time(loop, n) {
  const start = performance.now()
  kept.push(loop(n))
  return performance.now() - start
}

function median(numbers) {
  return numbers.sort((a, b) => a - b)[numbers.length >> 1]
}

/** Nanoseconds a call: the median of several rounds. */
function nanoseconds(build) {
  const loop = build()
  gc()
  let n = 1000
  for (let warm = 0; warm < warmUpTime; ) {
    const took = time(loop, n)
    warm += took
    if (took < roundTime) n *= 2
  }
  return median(Array.from({ length: rounds }, () => (time(loop, n) / n) * 1e6))
}

/** Bytes a key with its text, on the heap and beside it, at a million keys. */
function bytes(build) {
  const count = 1_000_000
  const used = () => {
    gc()
    const { heapUsed, external } = process.memoryUsage()
    return heapUsed + external
  }
  const before = used() // before the holder is made: lru-cache takes most of its memory then
  const hold = build()
  for (let n = 0; n < count; n++) hold(address(n))
  const after = used()
  kept.push(hold)
  return (after - before) / count
}

/** Nothing that was measured may be collected, or left out as unused, before the number is known. */
const kept = []
const [what, target] = process.argv.slice(2)
const number =
  what === 'bytes' ? bytes(holders[target]) : nanoseconds({ ...floors, ...decisions, ...expressTargets }[target])
console.log(kept.length > 0 ? number : 0)
