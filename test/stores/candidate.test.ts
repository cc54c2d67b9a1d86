/* A candidate beside the current policies, on the stores that have a server, a file or another process. */
import Database from 'libsql'
import { afterAll, expect, test, vi } from 'vitest'
import { type Clock, fixedWindow, memoryStore, RateLimiter, type Store } from '../../src/index.ts'
import { redisStore } from '../../src/stores/redis/index.ts'
import { shareStore } from '../../src/stores/shares/index.ts'
import { sqliteStore } from '../../src/stores/sqlite/index.ts'
import { faultyStore, ManualClock } from '../../src/testing/index.ts'
import { playCandidate } from '../support/candidate.ts'
import { MapDatabase } from '../support/map-store.ts'
import { clusterWorker, memcached, postgres } from '../support/server-stores.ts'
import { useRedis } from '../support/use-server.ts'

const { client } = await useRedis()
client.on('error', () => undefined)
const database = new Database(':memory:')
afterAll(() => void database.close())
const timeout = '10s'

const stores: readonly { name: string; create(clock: Clock, prefix: string): Store }[] = [
  { name: 'Redis', create: (clock, prefix) => redisStore({ client, clock, prefix, timeout }) },
  { name: 'SQLite', create: (clock, prefix) => sqliteStore({ database, clock, prefix }) },
  { name: 'a store by compare and set', create: (clock) => new MapDatabase().store({ clock }) },
  await postgres(),
  await memcached(),
  await clusterWorker(),
]

test.each(stores)('decides as two limiters that count alone, on $name', { timeout: 120_000 }, async ({ create }) => {
  const clock = new ManualClock()
  const { newlyRefused, noLongerRefused } = await playCandidate(create(clock.now, 'candidate'), clock, 36, 150)
  expect(Math.min(newlyRefused, noLongerRefused)).toBeGreaterThan(0)
})

const hour = (limit: number) => fixedWindow({ name: 'hour', limit, window: '1h' })
const local: [string, Store][] = [
  ['leases', redisStore({ client, prefix: 'leased', timeout, leases: { units: 5 } })],
  ['a cache of refusals', redisStore({ client, prefix: 'cached', timeout, refusalCache: true })],
  ['shares', shareStore({ store: redisStore({ client, prefix: 'shared', timeout }), instances: 1 })],
]

test.each(local)('counts alone beside %s', async (_, store) => {
  const limiter = new RateLimiter({ name: 'api', policies: hour(30), candidate: hour(20), store })
  for (let call = 0; call < 40; call++) expect((await limiter.consume('ann')).allowed).toBe(call < 30)
  await vi.waitFor(() =>
    expect(limiter.health().candidate).toMatchObject({ compared: 40, newlyRefused: 10, undecided: 0 }),
  )
  limiter.close()
})

test('the caller waits for one round trip, in which both decide', async () => {
  const clock = new ManualClock()
  const store = faultyStore(memoryStore({ clock: clock.now }), { clock, faults: [{ kind: 'delay', by: '60ms' }] })
  const limiter = new RateLimiter({ name: 'api', policies: hour(2), candidate: hour(1), store, storeTimeout: '1s' })
  const decisions = Promise.all([limiter.consume('ann'), limiter.consume('ann'), limiter.reserve('bob')])
  await clock.pass('60ms')
  expect((await decisions).map(({ allowed }) => allowed)).toEqual([true, true, true])
  expect(limiter.health().candidate).toEqual({ compared: 3, newlyRefused: 1, noLongerRefused: 0, undecided: 0 })
})
