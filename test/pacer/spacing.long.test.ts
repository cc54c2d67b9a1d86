import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { monotonicClock } from '../../src/common/clock.ts'
import {
  fixedWindow,
  gcra,
  memoryStore,
  type Policy,
  RateLimiter,
  segmentedWindow,
  slidingLog,
  slidingWindow,
  tokenBucket,
} from '../../src/index.ts'
import { Pacer } from '../../src/pacer/index.ts'
import { asyncStore } from '../support/async-store.ts'

/** Calls that go late keep the policy by the times at which they went. */
const actual = { spacing: 'actual' } as const

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
    const pacer = new Pacer(policies, { ...actual, name: 'pacer', store })
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
