import { fork } from 'node:child_process'
import { once } from 'node:events'
import { Redis } from 'ioredis'
import { afterAll, describe, expect, test } from 'vitest'
import { gcra, HeadgateError, slidingLog, smoothBursty } from '../../src/index.ts'
import { Pacer } from '../../src/pacer/index.ts'
import { redisStore } from '../../src/stores/redis/index.ts'
import { startRedis } from '../support/redis-server.ts'
import { useServer } from '../support/use-server.ts'

const worker = new URL('../support/pacer-worker.mjs', import.meta.url)
const processes = 8
const calls = 40
const limit = 50
/** A second, and room for starts that come later than their turns: see docs/pacing.md. */
const window = 1250

const server = await useServer(startRedis())
const clients: Redis[] = []

afterAll(() => {
  for (const client of clients) client.disconnect()
})

interface Result {
  /** When its calls began, and no later than when their turns were, in milliseconds of one clock; in order. */
  starts: number[]
  turns: number[]
}

async function fleet(): Promise<Result[]> {
  const task = JSON.stringify({ port: server.port, limit, window, calls })
  const children = Array.from({ length: processes }, () => fork(worker, [task]))
  await Promise.all(children.map((child) => once(child, 'message')))
  const results = children.map((child) => once(child, 'message'))
  for (const child of children) child.send('go')
  return (await Promise.all(results)).map(([result]) => result as Result)
}

/** The most of these times that lie in any half-open span of that length. */
function mostIn(span: number, times: readonly number[]): number {
  let most = 0
  for (let first = 0, last = 0; last < times.length; last++) {
    while ((times[last] as number) - (times[first] as number) >= span) first++
    most = Math.max(most, last - first + 1)
  }
  return most
}

/*
 * The store promises turns: never more than 50 in any 1250 ms. A call starts at its turn or later, by up to `late`, which
 * is a matter of the machine. So 51 starts in a span s have their turns in a span of s + late, and s + late >= 1250.
 * That is a second as long as nothing is later than 250 ms; on a machine that is, the test looks at so much shorter spans.
 */
test('8 processes on Redis: never more than 50 calls in any second', async () => {
  const began = performance.now()
  const results = await fleet()
  const all = results.flatMap(({ starts }) => starts).sort((a, b) => a - b)
  expect(results.map(({ starts }) => starts.length)).toEqual(Array(processes).fill(calls))
  // The turns of a process go to its calls in order.
  const delays = results.flatMap(({ starts, turns }) => starts.map((start, n) => start - (turns[n] as number)))
  const late = Math.max(...delays)
  expect(Math.min(...delays)).toBeGreaterThan(-1)
  expect(late).toBeLessThan(window / 2)
  expect(mostIn(Math.min(1000, window - late), all)).toBe(limit)
  // 320 calls are 50 at once and six windows more; without need nobody waits.
  const took = (all.at(-1) as number) - (all[0] as number)
  expect(took).toBeGreaterThanOrEqual(6 * window - late)
  expect(took).toBeLessThan(6 * window + late + 50)
  expect(performance.now() - began).toBeLessThan(15_000)
}, 30_000)

/** How a call ended, and after how many milliseconds. */
async function ending(call: Promise<unknown>): Promise<{ code: string; after: number }> {
  const started = performance.now()
  const error = await call.then(
    () => undefined,
    (reason: unknown) => reason,
  )
  const code = error === undefined ? 'done' : error instanceof HeadgateError ? error.code : `${error}`
  return { code, after: performance.now() - started }
}

function pacerOn(port: number, policy = gcra({ limit: 10, window: '1s', burst: 1 })): Pacer {
  const client = new Redis(port)
  client.on('error', () => {})
  clients.push(client)
  const store = redisStore({ client, timeout: 300 })
  return new Pacer(policy, { store, storeTimeout: 600, onStoreError: 'deny' })
}

describe.each([
  ['stopped', 'is gone'],
  ['frozen', 'does not answer'],
])('Redis that was %s', (how) => {
  test('every call ends in time, with a code; turns that were booked come', async () => {
    const own = await startRedis()
    const pacer = pacerOn(own.port)
    await pacer.acquire()
    const up = await pacer.reserve()
    const down = await pacer.reserve()
    const booked = [pacer.acquire(), pacer.acquire()].map(ending)
    while (pacer.waiting < 2) await new Promise((resolve) => setTimeout(resolve, 1))
    if (how === 'stopped') await own.stop()
    else process.kill(own.pid, 'SIGSTOP')

    const fresh = [pacer.acquire(), pacer.tryAcquire(), pacer.acquire(1, { timeout: '1h' }), pacer.reserve()]
    const settled = [up.settle(5), pacer.throttle(() => 1)]
    for (const { code, after } of await Promise.all([...fresh, ...settled].map(ending))) {
      expect(code).toBe('HEADGATE_STORE_UNAVAILABLE')
      expect(after).toBeLessThan(1500) // 300 ms, on a busy machine
    }
    // What is given back is kept by a store that fails: nobody need know.
    expect(await ending(down.cancel())).toMatchObject({ code: 'done' })
    expect((await Promise.all(booked)).map(({ code }) => code)).toEqual(['done', 'done'])
    await pacer.drain()
    expect([pacer.waiting, pacer.running]).toEqual([0, 0])
    pacer.close()
    if (how === 'frozen') process.kill(own.pid, 'SIGCONT')
    await own.stop()
  })
})

test.each([
  ['smoothBursty', smoothBursty({ rate: 10 })],
  ['slidingLog', slidingLog({ limit: 1, window: '100ms' })],
])('%s: two pacers on Redis are one pace', async (_, policy) => {
  await server.command('FLUSHALL')
  const pacers = [pacerOn(server.port, policy), pacerOn(server.port, policy)]
  const began = performance.now()
  await Promise.all(pacers.flatMap((pacer) => [pacer.acquire(), pacer.acquire(), pacer.acquire()]))
  expect(performance.now() - began).toBeGreaterThan(499)
})
