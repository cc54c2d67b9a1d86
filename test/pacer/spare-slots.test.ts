import { describe, expect, test } from 'vitest'
import { gcra, type PolicyLike, slidingLog, smoothBursty } from '../../src/index.ts'
import type { Pacer, PacerOptions } from '../../src/pacer/index.ts'
import type { Ledger } from '../../src/store.ts'
import { LateStore } from './late-store.ts'
import { Timeline } from './timeline.ts'

/* A start time that its call needs no more is used by the next call, or given back. Ten calls start in a second. */
const even = gcra({ limit: 10, window: '1s', burst: 1 })
const bursty = smoothBursty({ rate: 10 })

/** Pacers of one fleet, whose requests take `latency` milliseconds. */
function fleet(
  timeline: Timeline,
  policy: PolicyLike,
  size: number,
  latency: number,
  options: PacerOptions = {},
): Pacer[] {
  const server = new Map<string, Ledger>()
  return Array.from({ length: size }, () =>
    timeline.pacer(policy, { store: new LateStore(timeline, latency, server), ...options }),
  )
}

describe('calls at three times the rate', () => {
  /** Returns how many calls have started in ten seconds. */
  async function started(timeline: Timeline, pacers: readonly Pacer[], leaves: (n: number) => number): Promise<number> {
    const starts: number[] = []
    for (let n = 0; timeline.now < 10_000; n++) {
      const controller = new AbortController()
      const call = pacers[n % pacers.length]?.acquire(1, { signal: controller.signal })
      call?.then(
        () => starts.push(timeline.now),
        () => {},
      )
      timeline.sleeper(leaves(n), () => controller.abort('gone'))
      await timeline.pass(n % 3 === 0 ? 34 : 33)
    }
    const count = starts.length
    for (const pacer of pacers) pacer.close()
    await timeline.pass(5000)
    return count
  }

  const aborted = (n: number) => 70 + ((n * 37) % 180)
  test.each<[string, PolicyLike, number, number]>([
    ['gcra', even, 1, 4],
    ['gcra', even, 1, 30],
    ['gcra', even, 2, 10],
    ['smoothBursty', bursty, 1, 4],
    ['smoothBursty', bursty, 1, 30],
    ['smoothBursty', bursty, 2, 10],
    ['a log', slidingLog({ limit: 10, window: '1s' }), 2, 10],
  ])('%s: callers that abort leave the rate to the others (%#)', async (_, policy, size, latency) => {
    const timeline = new Timeline()
    const count = await started(timeline, fleet(timeline, policy, size, latency), aborted)
    expect(count).toBeGreaterThanOrEqual(95)
    expect(count).toBeLessThanOrEqual(111)
  })

  test.each<[string, 'newest' | 'oldest', PolicyLike]>([
    ['gcra', 'newest', even],
    ['gcra', 'oldest', even],
    ['smoothBursty', 'newest', bursty],
    ['smoothBursty', 'oldest', bursty],
  ])('%s: a full queue does not lower the rate, order: %s', async (_, order, policy) => {
    const timeline = new Timeline()
    const pacers = fleet(timeline, policy, 1, 40, { maxQueue: 3, order })
    expect(await started(timeline, pacers, () => 1e6)).toBeGreaterThanOrEqual(99)
  })
})

test.each([
  ['gcra', even],
  ['smoothBursty', bursty],
])('%s: a new call gets the time of a call that has left, without a request', async (_, policy) => {
  const timeline = new Timeline()
  const store = new LateStore(timeline, 10)
  const pacer = timeline.pacer(policy, { store, spacing: 'booked' })
  const controller = new AbortController()
  timeline.write('A', pacer.acquire())
  timeline.write('B', pacer.acquire(1, { signal: controller.signal }))
  await timeline.pass(40)
  controller.abort('gone')
  const { calls } = store
  timeline.write('C', pacer.acquire())
  expect(store.calls).toBe(calls)
  expect(await timeline.read()).toMatch(/^A\+10 B!gone\+40 C\+1\d\d$/)
})

test('a new call does not get a time after its timeout, or of another cost', async () => {
  const timeline = new Timeline()
  const [pacer] = fleet(timeline, even, 1, 10) as [Pacer]
  const controller = new AbortController()
  timeline.write('A', pacer.acquire())
  timeline.write('B', pacer.acquire(1, { signal: controller.signal }))
  await timeline.pass(20)
  controller.abort('gone')
  timeline.write('C', pacer.acquire(1, { timeout: 20 }))
  timeline.write('D', pacer.tryAcquire())
  expect(await timeline.read()).toBe('A+10 B!gone+20 C!HEADGATE_TIMEOUT+30 D+30=false')
})

test.each([
  ['gcra', even],
  ['smoothBursty', bursty],
])('%s: if no call comes, another process gets the time', async (_, policy) => {
  const timeline = new Timeline()
  const [one, other] = fleet(timeline, policy, 2, 10) as [Pacer, Pacer]
  const controller = new AbortController()
  const signal = { signal: controller.signal }
  timeline.write('A', one.acquire())
  for (const name of 'BCD') timeline.write(name, one.acquire(1, signal))
  await timeline.pass(30)
  controller.abort('gone')
  await timeline.pass(40)
  timeline.write('E', other.acquire())
  expect(await timeline.read()).toMatch(/ E\+1\d\d$/)
})

test('a queue with a time that nobody uses is removed after this time', async () => {
  const timeline = new Timeline()
  const [whole] = fleet(timeline, even, 1, 10) as [Pacer]
  const pacer = whole.key('ann')
  const controller = new AbortController()
  timeline.write('A', pacer.acquire())
  timeline.write('B', pacer.acquire(1, { signal: controller.signal }))
  timeline.write('C', pacer.acquire(1, { signal: controller.signal }))
  await timeline.pass(15)
  controller.abort('gone')
  await timeline.read()
  expect([whole.keys, timeline.sleeps.size]).toEqual([0, 0])
})

test.each([
  ['a log', slidingLog({ limit: 10, window: '1s' }), 1],
  ['a log without a queue', slidingLog({ limit: 10, window: '1m' }), 0],
  ['even calls', even, 1],
])('%s: calls that find the queue full are refused while the store fails', async (_, policy, maxQueue) => {
  const timeline = new Timeline()
  const store = new LateStore(timeline, 10)
  const pacer = timeline.pacer(policy, { store, maxQueue })
  for (let n = 0; n < 10; n++) pacer.acquire().catch(() => {})
  await timeline.pass(2000)
  for (let n = 0; n < 10; n++) pacer.acquire().catch(() => {})
  await timeline.pass(20)
  store.failing = true
  const calls = [1, 2, 3, 4].map((n) => timeline.write(`${n}`, pacer.acquire()))
  await timeline.pass(50)
  const full = timeline.events.filter((event) => event.includes('HEADGATE_QUEUE_FULL'))
  expect(full.length).toBeGreaterThanOrEqual(calls.length - maxQueue)
})
