/* What an operator reads of the keys of all limiters, on each store that has an inspector. */
import Database from 'libsql'
import { Pool } from 'pg'
import { afterAll, describe, expect, test } from 'vitest'
import { policy, RateLimiter, type Store, type StoreInspector } from '../../src/index.ts'
import { inspectPostgres, postgresStore } from '../../src/stores/postgres/index.ts'
import { inspectRedis, redisStore } from '../../src/stores/redis/index.ts'
import { inspectSqlite, sqliteStore } from '../../src/stores/sqlite/index.ts'
import { startPostgres } from '../support/postgres-server.ts'
import { useRedis, useServer } from '../support/use-server.ts'

const { client } = await useRedis()
const pool = new Pool((await useServer(startPostgres())).config)
const database = new Database(':memory:')
afterAll(async () => {
  await pool.end()
  database.close()
})
await postgresStore({ pool, timeout: '10s' }).migrate()
sqliteStore({ database }) // makes the table

const stores: readonly [name: string, store: () => Store, inspector: StoreInspector][] = [
  ['Redis', () => redisStore({ client, timeout: '10s' }), inspectRedis(client)],
  ['Postgres', () => postgresStore({ pool, timeout: '10s' }), inspectPostgres(pool)],
  ['SQLite', () => sqliteStore({ database, timeout: '10s' }), inspectSqlite(database)],
]

/** Names of which one begins with another, and names that a pattern or a separator could take for something else. */
const names = ['a', 'ab', 'a.b', 'a*', '*', '[a]', 'a:b', 'a;', '%']

describe.each(stores)('%s', (_, makeStore, inspector) => {
  test('the keys of one limiter are those of no other limiter, whatever their names are', async () => {
    const store = makeStore()
    const policies = [policy('9/1h'), policy('9/1h', { name: 'u', scope: 'user' })]
    for (const name of names) {
      const limiter = new RateLimiter({ name, policies, store })
      await limiter.consume({ default: `of ${name}`, user: 'shared' })
    }
    for (const limiter of names) {
      const found: unknown[] = []
      for await (const stored of inspector.list({ limiter })) found.push([stored.limiter, stored.scope, stored.key])
      expect(found.sort()).toEqual([
        [limiter, 'default', `of ${limiter}`],
        [limiter, 'user', 'shared'],
      ])
      const one: unknown[] = []
      for await (const { key } of inspector.list({ limiter, key: 'shared' })) one.push(key)
      expect(one).toEqual(['shared'])
    }
  })

  test('read shows one key as list does, and nothing of a key that the store does not have', async () => {
    const limiter = new RateLimiter({ name: 'read', policies: policy('3/1h', { name: 'h' }), store: makeStore() })
    await limiter.consume('ann', { cost: 2 })
    await limiter.ban('ann', '1h', { reason: 'scans' })
    for await (const { storeKey, bytes } of inspector.list({ limiter: 'read' })) {
      const found = await inspector.read(storeKey)
      expect(found).toMatchObject({ storeKey, bytes, limiter: 'read', scope: 'default', key: 'ann', hash: undefined })
      expect(found?.inspection).toMatchObject({ refused: true, ban: { reason: 'scans' }, policies: [{ used: 2 }] })
      await inspector.reset(storeKey)
      expect(await inspector.read(storeKey)).toBeUndefined()
    }
    await expect(inspector.read('other:read:{ann}')).rejects.toMatchObject({ code: 'HEADGATE_KEY' })
  })
})
