/*
 * Eight processes call all the time while the store fails over or restarts: an override that was written just before holds everywhere a
 * second after the store can be read again, no call fails, and no unit is lost or counted twice.
 */
import { setTimeout as sleep } from 'node:timers/promises'
import { Redis } from 'ioredis'
import { Pool } from 'pg'
import { describe, expect, onTestFinished, test, vi } from 'vitest'
import { RateLimiter, type Store } from '../../src/index.ts'
import { postgresStore } from '../../src/stores/postgres/index.ts'
import { redisStore } from '../../src/stores/redis/index.ts'
import { sampled } from '../support/depth.ts'
import {
  expectOverridden,
  type FleetOptions,
  limit,
  month,
  raised,
  type Seen,
  sumOf,
  withFleet,
} from '../support/overrides-fleet.ts'
import { startPostgres } from '../support/postgres-server.ts'
import { startSentinel } from '../support/redis-sentinel.ts'
import { startRedis } from '../support/redis-server.ts'
import { randomOf } from '../support/seeded-random.ts'

const processes = 8
/** What the processes wait for the store. The test itself, which writes the override, waits longer. */
const timeout = '1s'
const patience = '10s'

/** Waits until a check of a server holds. */
const eventually = (check: () => Promise<void>) => vi.waitFor(check, { timeout: 30_000, interval: 20 })

interface Outage extends FleetOptions {
  readonly store: Store
  readonly seed: number
  /** Makes the store unreachable for a while. Resolves to when that began. */
  readonly fail: () => Promise<number>
}

/** An override, an outage soon after it, and the end of the override. @returns what the processes have seen, and the used units */
async function play({ store, seed, fail, ...options }: Outage): Promise<{ seen: readonly Seen[]; used: number }> {
  const random = randomOf(seed)
  let result: { seen: readonly Seen[]; used: number } | undefined
  await withFleet({ timeout, onStoreError: 'local', ...options }, processes, async (callUntil) => {
    const limiter = new RateLimiter({ name: 'api', policies: month(), store, storeTimeout: patience })
    const begun = Date.now()
    const results = callUntil(begun + 18_000)
    await sleep(500 + random(1000))
    const until = begun + 15_000
    await limiter.override('hot', { limit: raised, until, reason: 'incident' })
    const written = Date.now()
    await sleep(random(400)) // some processes have read the override, and some have not
    const outage = await fail()
    const seen = await results
    expectOverridden(seen, { written, until, outage })
    expect(
      sumOf(seen, ({ local }) => local),
      'some calls were decided without the store',
    ).toBeGreaterThan(0)
    const { policies } = await limiter.usage('hot')
    expect(policies).toMatchObject([{ limit }])
    expect(await limiter.overrides()).toEqual([])
    limiter.close()
    result = { seen, used: policies[0]?.used as number }
  })
  return result as NonNullable<typeof result>
}

/** A primary with a replica under a sentinel, and a client of the sentinel, until the test ends. */
async function replicated() {
  const primary = await startRedis()
  onTestFinished(() => primary.stop())
  const replica = await startRedis('--replicaof', '127.0.0.1', `${primary.port}`)
  onTestFinished(() => replica.stop())
  await eventually(async () => expect(await primary.command('INFO', 'replication')).toContain('state=online'))
  const sentinel = await startSentinel(primary.port)
  onTestFinished(() => sentinel.stop())
  const client = new Redis({
    sentinels: [{ host: '127.0.0.1', port: sentinel.port }],
    name: 'gate',
    retryStrategy: () => 50,
  })
  client.on('error', () => undefined)
  onTestFinished(() => client.disconnect())
  const ofSentinel = new Redis(sentinel.port)
  ofSentinel.on('error', () => undefined)
  onTestFinished(() => ofSentinel.disconnect())
  await eventually(async () => expect(await ofSentinel.call('SENTINEL', 'replicas', 'gate')).toHaveLength(1))
  return { primary, replica, sentinel, store: redisStore({ client, timeout: patience }) }
}

test.each(sampled([1, 2, 3, 4], 1))('a failover of Redis after the replica has everything, seed %i', async (seed) => {
  const { primary, replica, sentinel, store } = await replicated()
  const fail = async () => {
    await primary.command('CLIENT', 'PAUSE', '10000', 'WRITE')
    await eventually(async () => {
      const offsets = [await primary.command('INFO', 'replication'), await replica.command('INFO', 'replication')]
      const [sent, received] = offsets.map((info) => /(?:master|slave)_repl_offset:(\d+)/.exec(info)?.[1])
      expect(received).toBe(sent)
    })
    await primary.stop()
    return Date.now()
  }
  const { seen, used } = await play({ kind: 'sentinel', port: sentinel.port, store, seed, fail })
  expect(used).toBe(sumOf(seen, ({ admitted }) => admitted))
})

test.each(sampled([1, 2, 3, 4], 1))('a killed primary of Redis, seed %i', async (seed) => {
  const { primary, replica, sentinel, store } = await replicated()
  const fail = async () => {
    await eventually(async () => expect(await replica.command('KEYS', '*:version{documents}')).toContain('api'))
    await primary.stop()
    return Date.now()
  }
  const { seen, used } = await play({ kind: 'sentinel', port: sentinel.port, store, seed, fail })
  const admitted = sumOf(seen, ({ admitted: each }) => each)
  expect(used).toBeLessThanOrEqual(admitted + sumOf(seen, ({ uncertain }) => uncertain))
  expect(used).toBeGreaterThanOrEqual(admitted - 2 * processes) // what a process was told just before the kill
})

const restarts = [
  ['a restart of Postgres', 'SIGINT', 'normal'],
  ['a crash of Postgres', 'SIGQUIT', 'full'],
] as const

describe.each(restarts)('%s', (_, signal, synchronous) => {
  test.each(sampled([1, 2, 3, 4], 1))('seed %i', async (seed) => {
    const server = await startPostgres()
    onTestFinished(() => server.stop())
    const pool = new Pool(server.config)
    pool.on('error', () => undefined)
    onTestFinished(() => pool.end())
    const store = postgresStore({ pool, timeout: patience, synchronous })
    await store.migrate()
    const fail = async () => {
      await server.stop(signal)
      const outage = Date.now()
      await sleep(1000)
      await server.start()
      return outage
    }
    const { seen, used } = await play({ kind: 'postgres', port: server.port, synchronous, store, seed, fail })
    const admitted = sumOf(seen, ({ admitted: each }) => each)
    expect(used).toBeGreaterThanOrEqual(admitted)
    expect(used).toBeLessThanOrEqual(admitted + sumOf(seen, ({ uncertain }) => uncertain))
  })
})

test('an override that was written just before a crash of Postgres is there, although the last units may be lost', async () => {
  const server = await startPostgres()
  onTestFinished(() => server.stop())
  const pool = new Pool(server.config)
  pool.on('error', () => undefined)
  onTestFinished(() => pool.end())
  const store = postgresStore({ pool, timeout: patience })
  await store.migrate()
  const limiter = new RateLimiter({ name: 'api', policies: month(), store, storeTimeout: patience })
  await limiter.override('hot', { limit: raised })
  await server.stop()
  await server.start()
  expect(await limiter.overrides()).toMatchObject([{ key: 'hot', limit: raised }])
  limiter.close()
})
