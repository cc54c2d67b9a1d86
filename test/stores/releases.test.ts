/*
 * Earlier versions of this package, built from git, beside this one on every store that processes share: as in a deploy, calls of
 * both come by turns on the same keys, and are decided as if one of them had made all of them.
 */
import { Redis } from 'ioredis'
import { MemcacheClient } from 'memcache-client'
import { Pool } from 'pg'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import type { Decision, Policy, RateLimiter, Store } from '../../src/index.ts'
import * as now from '../../src/index.ts'
import { compareAndSetStore } from '../../src/store.ts'
import { memcachedStore } from '../../src/stores/memcached.ts'
import { postgresStore } from '../../src/stores/postgres/index.ts'
import { redisStore } from '../../src/stores/redis/index.ts'
import { ManualClock } from '../../src/testing/index.ts'
import { rounds } from '../support/depth.ts'
import { earlierBuild, releases } from '../support/earlier-build.ts'
import { MapDatabase } from '../support/map-store.ts'
import { startMemcached } from '../support/memcached-server.ts'
import { startPostgres } from '../support/postgres-server.ts'
import { startCluster } from '../support/redis-server.ts'
import { seededRandom } from '../support/seeded-random.ts'
import { useRedis, useServer } from '../support/use-server.ts'

type Library = Pick<
  typeof now,
  | 'RateLimiter'
  | 'fixedWindow'
  | 'slidingWindow'
  | 'segmentedWindow'
  | 'slidingLog'
  | 'tokenBucket'
  | 'gcra'
  | 'concurrency'
>
interface Stores {
  readonly redisStore: typeof redisStore
  readonly postgresStore: typeof postgresStore
  readonly memcachedStore: typeof memcachedStore
  readonly compareAndSetStore: typeof compareAndSetStore
}
interface Build {
  readonly library: Library
  readonly stores: Stores
}

const present: Build = { library: now, stores: { redisStore, postgresStore, memcachedStore, compareAndSetStore } }

async function buildOf(commit: string): Promise<Build> {
  const entry = earlierBuild(commit)
  const stores = await Promise.all(['redis', 'postgres', 'memcached', 'store'].map(entry))
  return { library: (await entry('index')) as Library, stores: Object.assign({}, ...stores) }
}

const { client } = await useRedis()
const { nodes } = await useServer(startCluster())
const cluster = new Redis.Cluster(nodes.map(({ port }) => ({ host: '127.0.0.1', port })))
const { config } = await useServer(startPostgres())
const pool = new Pool(config)
await postgresStore({ pool }).migrate()
const { port } = await useServer(startMemcached())
const memcache = new MemcacheClient({ server: `127.0.0.1:${port}`, noDelay: true, cmdTimeout: 20_000 })
const database = new MapDatabase()

afterAll(async () => {
  cluster.disconnect()
  memcache.shutdown()
  await pool.end()
})

/** The options of each store, apart from its connection. */
interface Common {
  readonly prefix: string
  readonly clock: () => number
}

const settings = { ttlMargin: '1d', timeout: '10s' } as const
const kinds: Readonly<Record<string, (stores: Stores, common: Common) => Store>> = {
  Redis: ({ redisStore }, common) => redisStore({ client, refusalCache: false, ...settings, ...common }),
  'Redis Cluster': ({ redisStore }, common) =>
    redisStore({ client: cluster, refusalCache: false, ...settings, ...common }),
  Postgres: ({ postgresStore }, common) => postgresStore({ pool, ...settings, ...common }),
  Memcached: ({ memcachedStore }, common) => memcachedStore({ client: memcache, ...settings, ...common }),
  compareAndSetStore: ({ compareAndSetStore }, common) =>
    compareAndSetStore<number>({
      read: (key) => database.read(key),
      swap: (...swap) => database.swap(...swap),
      retries: 1000,
      ...settings,
      ...common,
    }),
}

const terms = { name: 'p', limit: 10, window: '10s' } as const
/** Policies by their titles. */
const policies: Readonly<Record<string, (library: Library) => Policy>> = {
  'a fixed window': ({ fixedWindow }) => fixedWindow(terms),
  'a fixed window from the first request': ({ fixedWindow }) => fixedWindow({ ...terms, align: 'first-request' }),
  'a sliding window': ({ slidingWindow }) => slidingWindow(terms),
  'a segmented window': ({ segmentedWindow }) => segmentedWindow({ ...terms, segments: 5 }),
  'a sliding log': ({ slidingLog }) => slidingLog(terms),
  'a token bucket': ({ tokenBucket }) => tokenBucket({ ...terms, burst: 13 }),
  'a bucket by intervals': ({ tokenBucket }) => tokenBucket({ ...terms, refill: 'interval' }),
  gcra: ({ gcra }) => gcra({ ...terms, burst: 3 }),
  'units in flight': ({ concurrency }) => concurrency({ name: 'p', limit: 10, lease: '10s' }),
  'a policy that counts refusals': ({ slidingWindow }) => slidingWindow({ ...terms, countRefused: true }),
}

const penalty = { after: 4, within: '5s', ban: ['3s', '20s'] } as const

const seed = Number(process.env.HEADGATE_SEED ?? 1)

let prefixes = 0
const run = `${process.pid}-${Date.now().toString(36)}`

/** A limiter of each build on one store, and one in memory. */
function limitersOf(builds: readonly Build[], kind: string, policyOf: (library: Library) => Policy, punishes: boolean) {
  const clock = new ManualClock()
  const common = { prefix: `releases-${run}-${prefixes++}`, clock: clock.now }
  const options = { name: 'api', onStoreError: 'throw', ...(punishes && { penalty }) } as const
  const limiterOf = ({ library, stores }: Build): RateLimiter => {
    const store = kinds[kind]?.(stores, common) as Store
    return new library.RateLimiter({ ...options, policies: policyOf(library), store })
  }
  const model = new now.RateLimiter({
    ...options,
    policies: policyOf(now),
    store: now.memoryStore({ clock: clock.now }),
  })
  return { clock, limiters: builds.map(limiterOf), model }
}

/** What a caller acts on. For a charge or a refund during a ban, earlier versions tell `resetAfter` without the ban. */
function answer({ allowed, remaining, retryAfter, resetAfter, ban, policies }: Decision) {
  const reset = allowed && ban !== undefined ? undefined : resetAfter
  return { allowed, remaining, retryAfter, reset, ban: ban?.reason, used: policies.map(({ used }) => used) }
}

describe.each(Object.entries(releases))('%s, %s, beside this version', (commit) => {
  let builds: Build[]
  beforeAll(async () => {
    builds = [await buildOf(commit), present]
  })

  describe.each(Object.keys(kinds))('on %s', (kind) => {
    test.each(Object.keys(policies))('%s: calls of both by turns are decided as by one limiter', async (title) => {
      const policyOf = policies[title] as (library: Library) => Policy
      for (const punishes of [false, true]) {
        const { clock, limiters, model } = limitersOf(builds, kind, policyOf, punishes)
        const pick = seededRandom(seed + Object.keys(policies).indexOf(title))
        for (let n = 0; n < rounds(40, 400); n++) {
          const limiter = limiters[pick(limiters.length)] as RateLimiter
          const key = `k${pick(2)}`
          const cost = 1 + pick(3)
          const verb = (['consume', 'consume', 'consume', 'consume', 'peek', 'charge', 'refund'] as const)[pick(7)]
          if (n % 19 === 18) await Promise.all([limiter, model].map((each) => each.ban(key, '2s', { reason: `${n}` })))
          else if (n % 31 === 30) await Promise.all([limiter, model].map((each) => each.reset(key)))
          else if (verb !== undefined) {
            const [given, expected] = await Promise.all([limiter, model].map((each) => each[verb](key, { cost })))
            expect(answer(given as Decision), `step ${n}, ${verb} ${cost}`).toEqual(answer(expected as Decision))
          }
          clock.advance(pick(4) * pick(400))
        }
      }
    })

    test('calls of both at once admit exactly the limit', async () => {
      const { limiters } = limitersOf(builds, kind, ({ fixedWindow }) => fixedWindow(terms), false)
      const calls = Array.from({ length: 60 }, (_, n) => (limiters[n % 2] as RateLimiter).consume('everybody'))
      expect((await Promise.all(calls)).filter(({ allowed }) => allowed)).toHaveLength(10)
    })

    test('a reservation of one is in flight for the other, until it is settled', async () => {
      const { limiters } = limitersOf(builds, kind, ({ tokenBucket }) => tokenBucket(terms), false)
      for (const [one, other] of [limiters, limiters.toReversed()] as [RateLimiter, RateLimiter][]) {
        await one.reset('k')
        const reservation = await one.reserve('k', { cost: 8 })
        expect((await other.consume('k', { cost: 2 })).remaining).toBe(0)
        await reservation.settle(3)
        expect((await other.peek('k')).remaining).toBe(5)
      }
    })

    test('a policy that only one of them has keeps its units while the other writes', async () => {
      const clock = new ManualClock()
      const common = { prefix: `releases-${run}-${prefixes++}`, clock: clock.now }
      const [both, one] = [builds, builds.toReversed()].map(([build], n) => {
        const { library, stores } = build as Build
        const some = [library.fixedWindow(terms), library.slidingLog({ name: 'more', limit: 50, window: '1h' })]
        const store = kinds[kind]?.(stores, common) as Store
        return new library.RateLimiter({ name: 'api', policies: n === 0 ? some : some.slice(0, 1), store })
      }) as [RateLimiter, RateLimiter]
      await both.consume('k', { cost: 4 })
      for (let n = 0; n < 3; n++) await one.consume('k')
      expect((await both.peek('k')).policies.map(({ used }) => used)).toEqual([7, 4])
    })
  })
})
