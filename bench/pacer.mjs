/*
 * What pacing costs: npm run bench:pacer. Time stands still unless told, so that nothing is slept.
 */
import { gcra, memoryStore, slidingLog, slidingWindow, smoothBursty } from '../dist/src/index.js'
import { Pacer } from '../dist/src/pacer/index.js'

const calls = 100_000

let now = Date.UTC(2026, 0, 1) * 1000
const clock = () => now
/** The one sleep of a pacer. */
let sleep
const sleeper = (milliseconds, wake) => {
  const own = { at: now + milliseconds * 1000, wake }
  sleep = own
  return () => {
    if (sleep === own) sleep = undefined
  }
}
const wakeAll = () => {
  while (sleep !== undefined) {
    const { at, wake } = sleep
    sleep = undefined
    now = Math.max(now, at)
    wake()
  }
}
const pacerOf = (policy) => new Pacer(policy, { clock, sleeper, store: memoryStore({ clock }) })
const microseconds = (since) => ((performance.now() - since) * 1000) / calls
const row = (name, ...figures) => console.log(name.padEnd(34), ...figures.map((each) => each.toFixed(3).padStart(9)))

const policies = {
  smoothBursty: () => smoothBursty({ rate: 100 }),
  gcra: () => gcra({ limit: 100, window: '1s', burst: 10 }),
  slidingLog: () => slidingLog({ limit: 100, window: '1s' }),
  'slidingWindow (asked again)': () => slidingWindow({ limit: 100, window: '1s' }),
}

/** A turn at once: the policy never makes anyone wait. */
async function idle() {
  const pacer = pacerOf(gcra({ limit: 1_000_000, window: '1s' }))
  const since = performance.now()
  for (let n = 0; n < calls; n++) {
    await pacer.acquire()
    now += 10
  }
  return microseconds(since)
}

/** All come at once and wait; then all have their turns. */
async function crowd(policy) {
  const pacer = pacerOf(policy)
  const order = []
  const memory = process.memoryUsage().heapUsed
  let since = performance.now()
  const all = Array.from({ length: calls }, (_, n) => pacer.acquire().then(() => order.push(n)))
  const entering = microseconds(since)
  const bytes = (process.memoryUsage().heapUsed - memory) / calls
  since = performance.now()
  wakeAll()
  await Promise.all(all)
  const leaving = microseconds(since)
  if (order.some((n, at) => n !== at)) throw new Error('not in order')
  return [entering, leaving, bytes]
}

/** All come, all give up. */
async function abort(policy) {
  const pacer = pacerOf(policy)
  const controllers = Array.from({ length: calls }, () => new AbortController())
  const all = controllers.map(({ signal }) => pacer.acquire(1, { signal }).catch(() => undefined))
  const since = performance.now()
  for (const controller of controllers) controller.abort()
  const leaving = microseconds(since)
  await Promise.all(all)
  if (pacer.waiting !== 0) throw new Error('somebody waits')
  return leaving
}

for (let warm = 0; warm < 3; warm++) {
  await idle()
  for (const policy of Object.values(policies)) await crowd(policy())
}
console.log(`us a call, of ${calls} calls; Node ${process.version}\n`)
row('a turn at once, awaited', await idle())
console.log(
  `\n${'all wait at once'.padEnd(34)} ${'to enter'.padStart(9)} ${'to leave'.padStart(9)} ${'bytes'.padStart(9)}`,
)
for (const [name, policy] of Object.entries(policies)) row(name, ...(await crowd(policy())))
row('\nall give up (gcra)', await abort(policies.gcra()))
