import { Redis } from 'ioredis'
import { afterAll, describe, expect, test } from 'vitest'
import { gcra, HeadgateError, slidingLog, smoothBursty } from '../../src/index.ts'
import { Pacer } from '../../src/pacer/index.ts'
import { redisStore } from '../../src/stores/redis/index.ts'
import { startRedis } from '../support/redis-server.ts'
import { useServer } from '../support/use-server.ts'
import { expectOnePace } from './fleet.ts'

const server = await useServer(startRedis())
const clients: Redis[] = []

afterAll(() => {
  for (const client of clients) client.disconnect()
})

test('8 processes on Redis make 120 calls, never more than 50 in any second', async () => {
  await expectOnePace(server.port, 15)
}, 30_000)

/** How a call ends, and after how many milliseconds. */
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
  return new Pacer(policy, { name: 'pacer', store, storeTimeout: 600, onStoreError: 'closed' })
}

describe.each(['stopped', 'frozen'])('when Redis is %s', (how) => {
  test('every new call is refused in time with a code, and booked slots come', async () => {
    const own = await startRedis()
    const pacer = pacerOn(own.port)
    await pacer.acquire()
    const up = await pacer.reserve()
    const down = await pacer.reserve()
    const booked = [pacer.acquire(), pacer.acquire()].map(ending)
    while (pacer.waiting < 2) await new Promise((resolve) => setTimeout(resolve, 1))
    if (how === 'stopped') await own.stop()
    else process.kill(own.pid, 'SIGSTOP')

    const later = [pacer.acquire(), pacer.tryAcquire(), pacer.acquire(1, { timeout: '1h' }), pacer.reserve()]
    const settled = [up.settle(5), pacer.throttle(() => 1)]
    for (const { code, after } of await Promise.all([...later, ...settled].map(ending))) {
      expect(code).toBe('HEADGATE_STORE_UNAVAILABLE')
      expect(after).toBeLessThan(1500) // 300 ms, on a busy machine
    }
    // Units that cannot be given back stay spent, without an error.
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
])('%s: two pacers on Redis keep one pace', async (_, policy) => {
  await server.command('FLUSHALL')
  const pacers = [pacerOn(server.port, policy), pacerOn(server.port, policy)]
  const began = performance.now()
  await Promise.all(pacers.flatMap((pacer) => [pacer.acquire(), pacer.acquire(), pacer.acquire()]))
  expect(performance.now() - began).toBeGreaterThan(499)
})
