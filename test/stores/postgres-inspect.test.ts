/* What Postgres shows of keys: rows are read without locks, and listed in pages by their keys. */
import { Pool } from 'pg'
import { afterAll, expect, test } from 'vitest'
import { memoryStore, policy, RateLimiter, slidingLog } from '../../src/index.ts'
import { inspectPostgres, postgresStore } from '../../src/stores/postgres/index.ts'
import { ManualClock } from '../../src/testing/index.ts'
import { startPostgres } from '../support/postgres-server.ts'
import { useServer } from '../support/use-server.ts'

const server = await useServer(startPostgres())
const pool = new Pool(server.config)
afterAll(() => pool.end())
await postgresStore({ pool }).migrate()

test('shows a key as the memory store does, and writes nothing', async () => {
  const clock = new ManualClock(Date.UTC(2026, 0, 1))
  const policies = ['10/1m', slidingLog({ limit: 300, window: '1h' })]
  const stores = [postgresStore({ pool, clock: clock.now, timeout: '10s' }), memoryStore({ clock: clock.now })]
  const limiters = stores.map((store) => new RateLimiter({ name: 'shown', policies, store }))
  for (let n = 0; n < 12; n++) {
    for (const limiter of limiters) await limiter.reserve('ann')
    clock.advance(173)
  }
  const rows = async () => (await pool.query('select * from headgate order by key')).rows
  const before = await rows()
  const [postgres, memory] = await Promise.all(limiters.map((limiter) => limiter.inspect('ann')))
  expect(postgres).toEqual(memory)
  expect((await limiters[0]?.inspect('nobody'))?.lastUsedAt).toBeUndefined()
  expect(await rows()).toEqual(before)
})

test('shows a ban as the memory store does, and lists keys that have nothing else', async () => {
  const clock = new ManualClock(Date.UTC(2026, 0, 1))
  const stores = [postgresStore({ pool, clock: clock.now, timeout: '10s' }), memoryStore({ clock: clock.now })]
  const limiters = stores.map((store) => new RateLimiter({ name: 'banned', policies: '10/1m', store }))
  for (const [duration, options] of [['1h', { reason: 'tries passwords' }], [Infinity]] as const) {
    for (const limiter of limiters) await limiter.ban('ann', duration, options)
    const [postgres, memory] = await Promise.all(limiters.map((limiter) => limiter.inspect('ann')))
    expect(postgres).toEqual(memory)
    expect([postgres?.refused, postgres?.ban?.reason]).toEqual([true, options?.reason])
  }
  const listed: (string | undefined)[] = []
  for await (const { key } of limiters[0]?.list({ refused: true }) ?? []) listed.push(key)
  expect(listed).toEqual(['ann'])
})

test('inspectPostgres lifts a ban, and leaves what is used', async () => {
  const limiter = new RateLimiter({ name: 'lifted', policies: '3/1h', store: postgresStore({ pool, timeout: '10s' }) })
  await limiter.consume('ann', { cost: 2 })
  await limiter.ban('ann', '1h')
  const inspector = inspectPostgres(pool)
  for await (const { storeKey, inspection } of inspector.list({ limiter: 'lifted' })) {
    expect(inspection?.words).toMatch(/^Banned by hand for /)
    await inspector.unban(storeKey)
  }
  expect(await limiter.peek('ann')).toMatchObject({ allowed: true, remaining: 1 })
  await expect(inspector.unban('other:lifted:ann')).rejects.toMatchObject({ code: 'HEADGATE_KEY' })
})

test('lists live keys in pages, and goes on while rows come and go', async () => {
  const store = postgresStore({ pool, timeout: '10s' })
  const policies = [policy('2/1h', { scope: 'user' })]
  const limiter = new RateLimiter({ name: 'listed', policies, store })
  await new RateLimiter({ name: 'listed2', policies: '1/1h', store }).consume('of another limiter')
  const users = Array.from({ length: 500 }, (_, n) => `user ${n} '%_`)
  await Promise.all(users.map((user, n) => limiter.consume(user, { cost: n % 5 === 0 ? 2 : 1 })))
  await limiter.consume('k'.repeat(300))
  await limiter.consume('gone')
  await limiter.reset('gone')
  const found: (string | undefined)[] = []
  for await (const { key, hash } of limiter.list()) {
    found.push(key ?? hash?.slice(0, 1))
    if (found.length === 10) await pool.query("delete from headgate where key like '%listed:user:user%0020499%'")
  }
  expect(new Set(found).size).toBe(found.length)
  expect(found).toContain('#')
  expect(found.length).toBe(500) // one row was deleted meanwhile
  let refused = 0
  for await (const { inspection } of limiter.list({ refused: true, limit: 60 })) refused += inspection.refused ? 1 : 0
  expect(refused).toBe(60)
})

test('a limiter whose names are so long that the store keeps digests cannot be listed, and says so', async () => {
  const limiter = new RateLimiter({
    name: 'n'.repeat(120),
    policies: '2/1h',
    store: postgresStore({ pool, timeout: '5s' }),
  })
  await limiter.consume('ann')
  expect((await limiter.inspect('ann')).policies[0]?.used).toBe(1)
  await expect(limiter.list().next()).rejects.toMatchObject({
    code: 'HEADGATE_UNSUPPORTED',
    message: expect.stringContaining('list cannot find the keys of this limiter'),
  })
})

test('a loop that stops in the middle leaves no connection out', async () => {
  const own = new Pool(server.config)
  const limiter = new RateLimiter({
    name: 'listed',
    policies: policy('2/1h', { scope: 'user' }),
    store: postgresStore({ pool: own, timeout: '10s' }),
  })
  for await (const _ of limiter.list()) break
  limiter.close()
  await expect.poll(() => own.idleCount).toBe(own.totalCount)
  await own.end()
})
