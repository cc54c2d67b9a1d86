/*
 * The soak: npm run soak [-- --minutes 10 --seed 1]. It runs everything at once for a long time. It ends with the counts of
 * the oracles, a flat heap and no open handle, or with an error and an exit code.
 */
import { spawnSync } from 'node:child_process'
import { setImmediate as nextTick } from 'node:timers/promises'
import { parseArgs } from 'node:util'
import { Heap } from './heap.mjs'
import { http } from './http.mjs'
import { memory } from './memory.mjs'
import { pacers } from './pacers.mjs'
import { random } from './random.mjs'
import { redis } from './redis.mjs'

const { values } = parseArgs({
  options: { minutes: { type: 'string', default: '10' }, seed: { type: 'string', default: `${Date.now() % 1e6}` } },
})
const minutes = Number(values.minutes)
const parts = { memory, pacers, http, redis }
if (spawnSync('redis-server', ['--version']).error) {
  console.log('redis-server is missing, so the Redis part is skipped. Run: apt-get install redis-server')
  delete parts.redis
}
console.log(`${minutes} minutes of ${Object.keys(parts).join(', ')}; seed ${values.seed}; Node ${process.version}`)
/** The handles that are open at the start: this program's own output. */
const own = process.getActiveResourcesInfo()

process.on('unhandledRejection', (reason) => fail(`unhandled rejection: ${reason}`))
const until = performance.now() + minutes * 60_000
const heap = new Heap(until)
const running = new Set(Object.keys(parts))
const runs = Object.entries(parts).map(async ([name, part], n) => {
  const counts = await part({ until, random: random(Number(values.seed) + n) }).finally(() => running.delete(name))
  console.log(`\n${name}:`, counts)
})
const tooLate = () => process.exit(fail(`a minute late and still running: ${[...running].join(', ')}`))
const watchdog = setTimeout(tooLate, (minutes + 1) * 60_000)
for (const run of await Promise.allSettled(runs)) {
  if (run.status === 'rejected') fail(run.reason?.stack ?? run.reason)
}
clearTimeout(watchdog)

const { early, late, most } = heap.end()
const megabytes = (bytes) => `${(bytes / 2 ** 20).toFixed(2)} MB`
console.log(`\nheap after gc: early ${megabytes(early)}, late ${megabytes(late)}, allowed ${megabytes(most)}`)
if (late > most) fail('the heap is not flat')

// Closed handles disappear a few ticks of the event loop later. Then nothing keeps this process alive.
for (let ticks = 0; ticks < 10; ticks++) await nextTick()
const open = process.getActiveResourcesInfo()
for (const resource of own) if (open.includes(resource)) open.splice(open.indexOf(resource), 1)
console.log(`open handles: ${open.length === 0 ? 'none' : open.join(', ')}`)
if (open.length > 0) fail('something is left open')
setTimeout(() => process.exit(fail('the process does not end by itself')), 5000).unref()

function fail(what) {
  console.error(`FAILED: ${what}`)
  process.exitCode = 1
  return 1
}
