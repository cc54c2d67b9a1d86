/* The exchanges of each store with its real server. */
import { channel } from 'node:diagnostics_channel'
import { Redis } from 'ioredis'
import { afterAll, expect, test, vi } from 'vitest'
import { monotonicClock } from '../../src/common/clock.ts'
import { lruStore, memoryStore, RateLimiter, type Store } from '../../src/index.ts'
import { redisStore } from '../../src/stores/redis/index.ts'
import { shareStore } from '../../src/stores/shares/index.ts'
import { HeadgateInstrumentation } from '../../src/telemetry/index.ts'
import { memcached, postgres } from '../support/server-stores.ts'
import { metered } from '../support/telemetry.ts'
import { useRedis } from '../support/use-server.ts'

const { server, client } = await useRedis()
const servers = [
  { kind: 'memcached', ...(await memcached()) },
  { kind: 'postgres', ...(await postgres()) },
]

test.each(servers)('$kind: each exchange is counted, with the calls that it decided', async ({ kind, create }) => {
  const { meterProvider, read } = metered()
  const running = new HeadgateInstrumentation({ meterProvider })
  const store = create(monotonicClock, `telemetry-${kind}`)
  const limiter = new RateLimiter({ name: 'api', policies: '1000/1h', store })
  const before = (await read('headgate.store.duration'))[kind] ?? 0
  await Promise.all(Array.from({ length: 20 }, (_, n) => limiter.consume(`key ${n % 2}`)))
  const exchanges = ((await read('headgate.store.duration'))[kind] ?? 0) - before
  expect(exchanges).toBeGreaterThan(0)
  expect(exchanges).toBeLessThanOrEqual(20)
  running.disable()
})

test('redis: a batch is one exchange, and a server that is gone opens the breaker', async () => {
  const { meterProvider, read } = metered()
  const running = new HeadgateInstrumentation({ meterProvider })
  const own = new Redis(server.port, { retryStrategy: () => 20 })
  own.on('error', () => undefined)
  afterAll(() => own.disconnect())
  const exchanges: { calls: number }[] = []
  const note = (event: unknown) => void exchanges.push(event as { calls: number })
  channel('headgate:store:exchange').subscribe(note)
  const limiter = new RateLimiter({ name: 'api', policies: '1000/1h', store: redisStore({ client: own }) })
  await limiter.consume('ann')
  await Promise.all(Array.from({ length: 20 }, (_, n) => limiter.consume(`key ${n}`)))
  channel('headgate:store:exchange').unsubscribe(note)
  const exchange = (calls: unknown) => ({ kind: 'redis', calls, duration: expect.any(Number), error: undefined })
  expect(exchanges[0]).toEqual(exchange(1))
  // The calls of a turn may be shared between two scripts that are under way together.
  for (const each of exchanges) expect(each).toEqual(exchange(expect.any(Number)))
  expect(exchanges.reduce((sum, { calls }) => sum + calls, 0)).toBe(21)
  expect(exchanges.length).toBeLessThanOrEqual(3)
  expect(await read('headgate.store.batch')).toEqual({ redis: exchanges.length })
  expect(await read('headgate.breaker.state')).toEqual({ redis: 0 })
  await server.stop()
  for (let n = 0; n < 7; n++) await limiter.consume('ann')
  expect(await read('headgate.breaker.state')).toEqual({ redis: 2 })
  const { 'api 1h admitted': admitted, 'api 1h fallback': fallback } = await read('headgate.decisions')
  expect([admitted, fallback]).toEqual([21, 7])
  running.disable()
})

test('a store that hangs is timed until its deadline', async () => {
  await server.start()
  const own = new Redis(server.port)
  afterAll(() => own.disconnect())
  const exchanges: { duration: number; error: { code?: string } | undefined }[] = []
  const note = (event: unknown) => void exchanges.push(event as (typeof exchanges)[number])
  const limiter = new RateLimiter({ name: 'slow', policies: '9/1h', store: redisStore({ client: own, timeout: 300 }) })
  await vi.waitFor(async () => expect((await limiter.consume('ann')).source).toBe('store'), 20_000)
  channel('headgate:store:exchange').subscribe(note)
  await client.call('CLIENT', 'PAUSE', '1000', 'ALL')
  await limiter.consume('ann')
  channel('headgate:store:exchange').unsubscribe(note)
  expect(exchanges.map(({ error }) => error?.code)).toEqual(['HEADGATE_STORE_TIMEOUT'])
  expect(exchanges[0]?.duration).toBeGreaterThanOrEqual(295)
})

test('every store says what it is', () => {
  const shares = shareStore({ store: redisStore({ client }), instances: 2 })
  const made: Store[] = [memoryStore(), lruStore(), redisStore({ client }), shares]
  expect(made.map(({ traits }) => traits?.kind)).toEqual(['memory', 'lru', 'redis', 'redis'])
})
