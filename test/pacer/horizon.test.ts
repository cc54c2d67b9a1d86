import { beforeEach, describe, expect, test } from 'vitest'
import {
  fixedWindow,
  gcra,
  type Policy,
  segmentedWindow,
  slidingLog,
  slidingWindow,
  smoothBursty,
  smoothWarmingUp,
  tokenBucket,
} from '../../src/index.ts'
import type { Pacer } from '../../src/pacer/index.ts'
import type { Ledger } from '../../src/store.ts'
import { LateStore } from './late-store.ts'
import { Timeline } from './timeline.ts'

let timeline: Timeline
let shared: Map<string, Ledger>
beforeEach(() => {
  timeline = new Timeline()
  shared = new Map()
})
const even = gcra({ limit: 100, window: '1s', burst: 1 })

/** A pacer as each of several processes has it. */
function pacerOf(policy = even, options: object = {}) {
  return timeline.pacer(policy, { store: new LateStore(timeline, 2, shared), ...options })
}

/** Ends a pacer as SIGKILL does: its turns stay booked. */
function kill(pacer: Pacer, store: LateStore): void {
  store.failing = true
  pacer.close()
}

/** When each call went, in milliseconds after now. */
async function times(calls: readonly Promise<unknown>[]): Promise<number[]> {
  const began = timeline.clock.milliseconds
  const at = calls.map((call) => call.then(() => timeline.clock.milliseconds - began))
  await timeline.pass(60_000)
  return Promise.all(at)
}

test.each([
  [undefined, 2000],
  ['500ms', 500],
  [Infinity, 9900],
])(
  'the turns of a process that is gone hold the others up for the horizon %s and no longer',
  async (horizon, longest) => {
    const store = new LateStore(timeline, 2, shared)
    const gone = pacerOf(even, { store, ...(horizon === undefined ? {} : { horizon }) })
    for (let n = 0; n < 1000; n++) void gone.acquire().catch(() => undefined)
    await timeline.pass(100)
    kill(gone, store)
    const [waited] = await times([pacerOf().acquire()])
    expect(waited).toBeGreaterThan(longest - 150)
    expect(waited).toBeLessThan(longest + 150)
  },
)

const pace = { limit: 100, window: '1s' } as const
/** Each with how long a process waits for others at most: the horizon, and what the policy gives at once, or its window. */
const everyPolicy: readonly (readonly [name: string, policy: Policy, longest: number])[] = [
  ['gcra', gcra({ ...pace, burst: 1 }), 2000],
  ['tokenBucket', tokenBucket({ ...pace, burst: 300 }), 2000],
  ['tokenBucket by intervals', tokenBucket({ ...pace, refill: 'interval' }), 3000],
  ['fixedWindow', fixedWindow(pace), 3000],
  ['slidingWindow', slidingWindow(pace), 3000],
  ['segmentedWindow', segmentedWindow({ ...pace, segments: 4 }), 3000],
  ['slidingLog', slidingLog(pace), 3000],
  ['smoothBursty', smoothBursty({ rate: 100 }), 2000],
  ['smoothBursty, slow', smoothBursty({ rate: 2 }), 2000],
  // A cold limiter gives units at a third of the rate.
  ['smoothWarmingUp', smoothWarmingUp({ rate: 100, warmup: '1s' }), 3000],
]

describe.each(['a new key', 'a key that has given all'])('%s', (state) => {
  test.each(everyPolicy)(
    '%s: no process waits longer for one that is gone with 1,000 calls',
    async (_, policy, longest) => {
      const store = new LateStore(timeline, 2, shared)
      const perSecond = (1000 * policy.limit) / policy.window
      const [gone, ...others] = [pacerOf(policy, { store }), pacerOf(policy), pacerOf(policy), pacerOf(policy)]
      if (state !== 'a new key') {
        void others[0]?.acquire(Math.min(policy.burst, perSecond))
        await timeline.pass(50)
      }
      for (let n = 0; n < 1000; n++) void gone?.acquire().catch(() => undefined)
      await timeline.pass(500)
      kill(gone as Pacer, store)
      const waited = await times(others.map((pacer) => pacer.acquire()))
      const forOthers = (1000 * others.length) / perSecond
      const taken = state === 'a new key' ? 0 : 1000
      expect(Math.max(...waited)).toBeLessThan(longest + taken + forOthers + 150)
    },
  )
})

test('what a key has may go at once, however long the policy needs to give it', async () => {
  const pacer = pacerOf(tokenBucket({ limit: 400, window: '1d' }))
  const at = await times(Array.from({ length: 400 }, () => pacer.acquire()))
  expect(Math.max(...at)).toBeLessThan(10)
})

test('all calls behind the horizon go, in order, at the full rate', async () => {
  const pacer = pacerOf()
  const order: number[] = []
  const calls = Array.from({ length: 1000 }, (_, n) => pacer.acquire().then(() => order.push(n)))
  const at = await times(calls)
  expect(order).toEqual(Array.from({ length: 1000 }, (_, n) => n))
  expect(Math.max(...at)).toBeLessThan(9990 + 20)
  expect(Math.max(...at)).toBeGreaterThanOrEqual(9990)
})

test('two processes with many calls each share the rate, and none waits for the other to end', async () => {
  const [a, b] = [pacerOf(), pacerOf()]
  const calls = [a, b].map((pacer) => Array.from({ length: 400 }, () => pacer.acquire()))
  const at = await times(calls.flat())
  const [first, second] = [at.slice(0, 400), at.slice(400)]
  expect(Math.max(...at)).toBeLessThan(8000 + 50)
  const early = (part: number[]) => part.filter((ms) => ms < 4000).length
  expect(early(first)).toBeGreaterThan(130)
  expect(early(second)).toBeGreaterThan(130)
})

test('a slow pace books one turn at a time, and the calls behind it still go', async () => {
  const pacer = pacerOf(gcra({ limit: 6, window: '60s', burst: 1 }))
  const at = await times(Array.from({ length: 4 }, () => pacer.acquire()))
  expect(at.map((ms) => Math.round(ms / 1000))).toEqual([0, 10, 20, 30])
})

test('a call with a short timeout is told at once that there is no turn in time', async () => {
  const pacer = pacerOf()
  for (let n = 0; n < 1000; n++) void pacer.acquire()
  await timeline.pass(50)
  timeline.write('A', pacer.tryAcquire())
  timeline.write('B', pacer.tryAcquire(1, { timeout: 500 }))
  await timeline.pass(20)
  expect(await timeline.read()).toMatch(/^A\+5\d=false B\+5\d=false/)
})

test('a call of a higher priority goes before those that have a slot', async () => {
  const pacer = pacerOf()
  const others = Array.from({ length: 500 }, () => pacer.acquire())
  await timeline.pass(50)
  const [urgent] = await times([pacer.acquire(1, { priority: 5 }), ...others])
  expect(urgent).toBeLessThan(40)
})

test('a call behind the horizon that is aborted leaves, and the rest go', async () => {
  const pacer = pacerOf()
  const controller = new AbortController()
  const first = Array.from({ length: 300 }, () => pacer.acquire())
  const left = pacer.acquire(1, { signal: controller.signal }).catch(() => 'left')
  const last = pacer.acquire()
  await timeline.pass(50)
  controller.abort()
  expect(await left).toBe('left')
  const at = await times([...first, last])
  expect(Math.max(...at)).toBeLessThan(3050)
  expect(pacer.waiting).toBe(0)
})

test('pause and resume keep the order behind the horizon', async () => {
  const pacer = pacerOf()
  const order: number[] = []
  const calls = Array.from({ length: 400 }, (_, n) => pacer.acquire().then(() => order.push(n)))
  await timeline.pass(1000)
  pacer.pause()
  await timeline.pass(3000)
  pacer.resume()
  await times(calls)
  expect(order).toEqual(Array.from({ length: 400 }, (_, n) => n))
})

test('reset forgets what was booked by all, and books the waiting calls again', async () => {
  const policy = tokenBucket({ limit: 1, window: '60s' })
  const store = new LateStore(timeline, 2, shared)
  const [gone, pacer] = [pacerOf(policy, { store }), pacerOf(policy)]
  for (let n = 0; n < 3; n++) void gone.acquire().catch(() => undefined)
  await timeline.pass(50)
  kill(gone, store)
  const call = pacer.acquire()
  await timeline.pass(50)
  await Promise.all([pacer.reset(), timeline.pass(20)])
  const [waited] = await times([call])
  expect(waited).toBeLessThan(20)
})

test('as many calls wait as maxQueue allows, which is finite by default', async () => {
  const pacer = pacerOf(gcra({ limit: 1, window: '1h', burst: 1 }))
  const codes: string[] = []
  for (let n = 0; n < 100_010; n++) pacer.acquire().catch(({ code }) => codes.push(code))
  await timeline.pass(50)
  expect(pacer.waiting).toBe(100_000)
  expect(codes).toEqual(Array(9).fill('HEADGATE_QUEUE_FULL'))
})

test('each urgent call uses the next slot of a less urgent one, also behind other urgent calls', async () => {
  const timeline = new Timeline()
  const store = new LateStore(timeline, 10)
  const pacer = timeline.pacer(gcra({ limit: 10, window: '1s', burst: 1 }), { store, horizon: '1s' })
  const starts: string[] = []
  const started = (name: string) => () => starts.push(`${name}+${timeline.now}`)
  for (let n = 0; n < 30; n++) void pacer.acquire().then(started('low'))
  await timeline.pass(65)
  for (const name of 'ABCD') {
    void pacer.acquire(1, { priority: 1 }).then(started(name))
    await timeline.pass(70)
  }
  await timeline.pass(10_000)
  expect(starts.slice(0, 7).join(' ')).toBe('low+10 A+110 B+210 C+310 D+410 low+510 low+610')
  expect(starts).toHaveLength(34)
  expect(Number(starts.at(-1)?.split('+')[1])).toBeLessThanOrEqual(3310)
})
