import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { monotonicClock } from '../../src/clock.ts'
import {
  fixedWindow,
  gcra,
  memoryStore,
  type Policy,
  RateLimiter,
  segmentedWindow,
  slidingLog,
  slidingWindow,
  smoothBursty,
  tokenBucket,
} from '../../src/index.ts'
import { Pacer } from '../../src/pacer/index.ts'
import { asyncStore } from '../support/async-store.ts'
import { Timeline } from './timeline.ts'

/** `spacing: 'actual'`: calls that go late keep the policy by the times at which they went. */
const actual = { spacing: 'actual' } as const

describe('calls behind a late one', () => {
  const even = gcra({ limit: 10, window: '1s', burst: 1 })
  const bucket = tokenBucket({ limit: 10, window: '1s', burst: 3 })

  /** A to F come at 0, and no timer fires before 170 ms. */
  test.each([
    ['booked', 'a bucket, burst 1', even, 'A+0 B+170 C+200 D+300 E+400 F+500'],
    ['actual', 'a bucket, burst 1', even, 'A+0 B+170 C+270 D+370 E+470 F+570'],
    ['booked', 'a bucket, burst 3', bucket, 'A+0 B+0 C+0 D+170 E+200 F+300'],
    ['actual', 'a bucket, burst 3', bucket, 'A+0 B+0 C+0 D+170 E+200 F+300'],
    ['booked', 'Guava', smoothBursty({ rate: 10, maxStored: 0 }), 'A+0 B+170 C+200 D+300 E+400 F+500'],
    ['actual', 'Guava', smoothBursty({ rate: 10, maxStored: 0 }), 'A+0 B+170 C+270 D+370 E+470 F+570'],
    ['booked', 'a log', slidingLog({ limit: 2, window: '100ms' }), 'A+0 B+0 C+170 D+170 E+200 F+200'],
    ['actual', 'a log', slidingLog({ limit: 2, window: '100ms' }), 'A+0 B+0 C+170 D+170 E+270 F+270'],
    ['booked', 'clock windows', fixedWindow({ limit: 2, window: '100ms' }), 'A+0 B+0 C+170 D+170 E+200 F+200'],
    ['actual', 'clock windows', fixedWindow({ limit: 2, window: '100ms' }), 'A+0 B+0 C+170 D+170 E+200 F+200'],
  ] as const)('%s, %s', async (spacing, _, policy, expected) => {
    const timeline = new Timeline()
    const pacer = timeline.pacer(policy, { spacing })
    for (const name of 'ABCDEF') timeline.write(name, pacer.acquire())
    await timeline.pass(0)
    timeline.clock.set(timeline.start + 170)
    expect(await timeline.read()).toBe(expected)
    expect(timeline.sleeps.size).toBe(0)
    expect(timeline.mostSleeps).toBe(1)
  })

  test('a function that runs long before its first await goes when that ends', async () => {
    const timeline = new Timeline()
    const pacer = timeline.pacer(even, actual)
    timeline.write(
      'A',
      pacer.throttle(() => timeline.clock.set(timeline.start + 40)),
    )
    for (const name of 'BC')
      timeline.write(
        name,
        pacer.throttle(() => undefined),
      )
    expect(await timeline.read()).toBe('A+40 B+140 C+240')
  })

  test('a function that throws has gone too', async () => {
    const timeline = new Timeline()
    const pacer = timeline.pacer(even, actual)
    const fail = () => {
      throw new Error('no')
    }
    timeline.write('A', pacer.throttle(fail))
    timeline.write('B', pacer.throttle(fail))
    expect(await timeline.read()).toBe('A!no+0 B!no+100')
    await pacer.drain()
  })

  test.each([
    [true, 'A+0 B+190 C!left+250 D+290 E+390'],
    [false, 'A+0 B+190 C+290 D!HEADGATE_TIMEOUT+300 E+390'],
  ])('a call that leaves gives its place to those behind it (%s)', async (leaves, expected) => {
    const timeline = new Timeline()
    const pacer = timeline.pacer(even, actual)
    const controller = new AbortController()
    timeline.write('A', pacer.acquire())
    timeline.write('B', pacer.acquire())
    timeline.write('C', pacer.acquire(1, { signal: controller.signal }))
    timeline.write('D', pacer.acquire(1, { timeout: 300 }))
    timeline.write('E', pacer.acquire())
    await timeline.pass(0)
    timeline.clock.set(timeline.start + 190)
    await timeline.pass(60)
    if (leaves) controller.abort('left')
    expect(await timeline.read()).toBe(expected)
    expect(timeline.sleeps.size).toBe(0)
  })

  test('a call that must not wait is refused at once', async () => {
    const timeline = new Timeline()
    const pacer = timeline.pacer(tokenBucket({ limit: 10, window: '1s', burst: 2 }), actual)
    timeline.write('A', pacer.tryAcquire())
    timeline.write('B', pacer.tryAcquire())
    timeline.write('C', pacer.tryAcquire())
    timeline.write(
      'D',
      pacer.tryAcquire(3).catch(() => 'never'),
    )
    await timeline.pass(0)
    expect(timeline.events.toSorted()).toEqual(['A+0', 'B+0', 'C+0=false', 'D+0'])
  })

  test('pause, hold, a new rate and close keep no slot and no timer', async () => {
    const timeline = new Timeline()
    const pacer = timeline.pacer(even, actual)
    for (const name of 'ABCDEF') timeline.write(name, pacer.acquire())
    await timeline.pass(0)
    timeline.clock.set(timeline.start + 190)
    await timeline.pass(50)
    pacer.pause()
    expect(timeline.sleeps.size).toBe(0)
    await timeline.pass(10)
    pacer.resume()
    pacer.hold(60)
    await timeline.pass(65)
    pacer.setRate(20)
    await timeline.pass(100)
    pacer.close()
    expect(timeline.sleeps.size).toBe(0)
    expect(await timeline.read()).toBe('A+0 B+190 C+310 D+410 E!HEADGATE_CLOSED+415 F!HEADGATE_CLOSED+415')
  })
})

/* On the real clock, with an event loop that is busy for a third of the time: an exact limiter of the same policy judges each call. */

let lagging = true
/** Blocks the event loop for up to 8 ms, again and again. */
function lag(): void {
  const until = performance.now() + Math.random() * 8
  while (performance.now() < until);
  if (lagging) setTimeout(lag, 4 + Math.random() * 12)
}
beforeAll(() => lag())
afterAll(() => {
  lagging = false
})

const calls = 2000
const policies: readonly (readonly [string, Policy | readonly Policy[]])[] = [
  ['a bucket, burst 1', gcra({ limit: 1000, window: '1s', burst: 1 })],
  ['a bucket, burst 10', tokenBucket({ limit: 1000, window: '1s', burst: 10 })],
  ['clock windows', fixedWindow({ limit: 20, window: '20ms' })],
  ['a log', slidingLog({ limit: 20, window: '20ms' })],
  ['a sliding window', slidingWindow({ limit: 40, window: '40ms' })],
  ['a segmented window', segmentedWindow({ limit: 40, window: '40ms', segments: 4 })],
  [
    'two policies',
    [slidingLog({ name: 'a', limit: 20, window: '20ms' }), gcra({ name: 'b', limit: 1500, window: '1s' })],
  ],
]

/** An exact limiter that is told the time of each call, in microseconds. */
function judge(policies: Policy | readonly Policy[]) {
  let time = monotonicClock()
  const limiter = new RateLimiter({ policies, store: memoryStore({ clock: () => time }) })
  let refused = 0
  return {
    at(now: number) {
      time = now
      if (!limiter.consumeSync('caller').allowed) refused++
    },
    refused: () => refused,
  }
}

describe.concurrent('an exact limiter on the other side', { timeout: 120_000 }, () => {
  test.each(policies)('%s: 2,000 functions, none refused', async (_, policies) => {
    const pacer = new Pacer({ policies, ...actual })
    const other = judge(policies)
    await Promise.all(Array.from({ length: calls }, () => pacer.throttle(() => other.at(monotonicClock()))))
    expect(other.refused()).toBe(0)
  })

  test.each([
    ['a bucket', gcra({ limit: 1000, window: '1s', burst: 3 }), memoryStore()],
    ['a bucket in an asynchronous store', gcra({ limit: 1000, window: '1s', burst: 3 }), asyncStore(memoryStore())],
    ['a window in an asynchronous store', slidingWindow({ limit: 40, window: '40ms' }), asyncStore(memoryStore())],
  ])('%s: 2,000 calls of acquire, none refused', async (_, policies, store) => {
    const pacer = new Pacer(policies, { ...actual, store })
    const other = judge(policies)
    const call = async () => {
      await pacer.acquire()
      other.at(monotonicClock())
    }
    await Promise.all(Array.from({ length: calls }, call))
    expect(other.refused()).toBe(0)
  })

  test('an HTTP server that counts by the time of each call refuses none', async () => {
    const policies = gcra({ limit: 500, window: '1s', burst: 1 })
    const times: number[] = []
    const server = createServer((request, response) => {
      times.push(Number(request.headers['x-time']))
      response.end()
    }).listen(0)
    await new Promise((resolve) => server.once('listening', resolve))
    const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}/`
    const pacer = new Pacer(policies, actual)
    const call = () => fetch(url, { headers: { 'x-time': String(monotonicClock()) } })
    await Promise.all(Array.from({ length: calls }, () => pacer.throttle(call).then((response) => response.text())))
    server.closeAllConnections()
    server.close()
    const other = judge(policies)
    for (const time of times.sort((a, b) => a - b)) other.at(time)
    expect([times.length, other.refused()]).toEqual([calls, 0])
  })
})
