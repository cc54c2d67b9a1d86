/*
 * What another version has counted by an algorithm that this one does not know: an error under a policy of the plan, in that record
 * alone, and kept byte for byte under any other name.
 */
import type { Redis } from 'ioredis'
import { MemcacheClient } from 'memcache-client'
import { Pool } from 'pg'
import { afterAll, describe, expect, test } from 'vitest'
import { fixedWindow, RateLimiter, type Store } from '../../src/index.ts'
import { memcachedStore } from '../../src/stores/memcached.ts'
import { postgresStore } from '../../src/stores/postgres/index.ts'
import { redisStore } from '../../src/stores/redis/index.ts'
import { MapDatabase } from '../support/map-store.ts'
import { startMemcached } from '../support/memcached-server.ts'
import { startPostgres } from '../support/postgres-server.ts'
import { useRedis, useServer } from '../support/use-server.ts'

/** A store, and a way to its values. */
interface Subject {
  readonly name: string
  store(): Store
  keyOf(limiter: string, scope: string, id: string): string
  read(key: string): Promise<Buffer>
  write(key: string, value: Buffer): Promise<unknown>
  /** The value with the state of the n-th policy under a kind that nobody knows. */
  changed(value: Buffer, n: number): Buffer
  /** The bytes of the value from the state of the n-th policy on. */
  from(value: Buffer, n: number): Buffer
}

const json = {
  changed: (value: Buffer, n: number) => {
    const record = JSON.parse(String(value))
    const [name, definition, fullAt, s] = record[n + 1]
    record[n + 1] = [name, ['future', ...definition.slice(1)], fullAt, s, { more: 'than this version writes' }]
    return Buffer.from(JSON.stringify(record))
  },
  from: (value: Buffer, n: number) => Buffer.from(JSON.stringify(JSON.parse(String(value))[n + 1])),
  keyOf: (limiter: string, scope: string, id: string) => `headgate:${limiter}:${scope}:${id}`,
}

const { client } = await useRedis()

/** Where the n-th record of a packed value begins (script/records.ts). */
function startOf(value: Buffer, n: number): number {
  let at = 0
  for (let record = 0; record < n; record++) at += 6 + value.readUInt8(at + 1) + value.readUInt8(at)
  return at
}

const redis: Subject = {
  name: 'Redis',
  store: () => redisStore({ client: client as Redis, timeout: '5s', refusalCache: false }),
  keyOf: (limiter, scope, id) => `headgate:${limiter}:${scope === 'default' ? '' : `${scope}:`}{${id}}`,
  read: async (key) => (await client.getBuffer(key)) as Buffer,
  write: (key, value) => client.set(key, value, 'KEEPTTL'),
  changed(value, n) {
    const copy = Buffer.from(value)
    copy.writeUInt8(29, startOf(copy, n) + 6)
    // A known kind writes its numbers at seven bits a byte. Another one may write what it likes.
    copy.fill(255, startOf(copy, n) + 7, startOf(copy, n) + 6 + copy.readUInt8(startOf(copy, n) + 1))
    return copy
  },
  from: (value, n) => value.subarray(startOf(value, n)),
}

const { config } = await useServer(startPostgres())
const pool = new Pool(config)
await postgresStore({ pool }).migrate()
const postgres: Subject = {
  ...json,
  name: 'Postgres',
  store: () => postgresStore({ pool, timeout: '5s' }),
  async read(key) {
    const { rows } = await pool.query('select record from headgate where key = $1', [key])
    return Buffer.from(rows[0].record)
  },
  write: (key, value) => pool.query('update headgate set record = $2 where key = $1', [key, String(value)]),
}

const { port } = await useServer(startMemcached())
const memcache = new MemcacheClient({ server: `127.0.0.1:${port}`, noDelay: true, cmdTimeout: 20_000 })
const memcached: Subject = {
  ...json,
  name: 'Memcached',
  store: () => memcachedStore({ client: memcache, timeout: '5s' }),
  read: async (key) => Buffer.from((await memcache.gets<string>(key))?.value as string),
  write: (key, value) => memcache.set(key, String(value), { lifetime: 7200 }),
}

const database = new MapDatabase()
const compareAndSet: Subject = {
  ...json,
  name: 'compareAndSetStore',
  store: () => database.store(),
  read: async (key) => Buffer.from(database.texts.get(key)?.text as string),
  async write(key, value) {
    database.texts.set(key, { text: String(value), revision: Math.random(), ttl: 7_200_000 })
  },
}

afterAll(async () => {
  memcache.shutdown()
  await pool.end()
})

describe.each([redis, postgres, memcached, compareAndSet])('$name', (subject) => {
  test('a state of unknown kind under a policy of the plan is an error of that record, and stays', async () => {
    const store = subject.store()
    const policies = ['ip', 'user'].map((scope) =>
      fixedWindow({ name: scope, scope, limit: 10, window: '1h', align: 'first-request' }),
    )
    const options = { name: 'plan', policies, store, onStoreError: 'throw' } as const
    const limiter = new RateLimiter(options)
    const keys = { ip: 'ip', user: 'ann' }
    const [ipKey, userKey] = [subject.keyOf('plan', 'ip', 'ip'), subject.keyOf('plan', 'user', 'ann')]
    await limiter.consume(keys, { cost: 10 })
    const unknown = subject.changed(await subject.read(userKey), 0)
    await subject.write(userKey, unknown)
    const before = await subject.read(ipKey)
    for (const verb of ['consume', 'peek', 'reserve', 'charge', 'inspect', 'consume', 'peek'] as const) {
      await expect(limiter[verb](keys), verb).rejects.toMatchObject({ code: 'HEADGATE_STORE_RECORD' })
    }
    expect(await subject.read(userKey)).toEqual(unknown)
    expect(await subject.read(ipKey)).toEqual(before)
    // Some stores give back key by key.
    await expect(limiter.refund(keys)).rejects.toMatchObject({ code: 'HEADGATE_STORE_RECORD' })
    expect(await subject.read(userKey)).toEqual(unknown)
    expect((await limiter.consume({ ip: 'other', user: 'bob' })).policies.map(({ used }) => used)).toEqual([1, 1])
    expect(limiter.health()).toMatchObject({ state: 'closed', errors: 0 })
    await limiter.reset(keys)
    expect((await limiter.consume(keys)).policies.map(({ used }) => used)).toEqual([1, 1])
  })

  test('a state of unknown kind under another name is kept byte for byte, as long as it was', async () => {
    // Windows of the clock could end in the middle of this test.
    const align = 'first-request'
    const known = fixedWindow({ name: 'known', limit: 100, window: '1m', align })
    const other = fixedWindow({ name: 'other', limit: 100, window: '1h', align })
    const both = new RateLimiter({ name: 'both', policies: [known, other], store: subject.store() })
    await both.consume('k', { cost: 7 })
    const key = subject.keyOf('both', 'default', 'k')
    const original = await subject.read(key)
    const unknown = subject.changed(original, 1)
    await subject.write(key, unknown)
    const limiter = new RateLimiter({ name: 'both', policies: known, store: subject.store(), onStoreError: 'throw' })
    const life = await client.pttl(key)
    for (let n = 1; n <= 5; n++) expect((await limiter.consume('k')).policies[0]?.used).toBe(7 + n)
    const reservation = await limiter.reserve('k', { cost: 3 })
    await reservation.settle(1)
    await limiter.charge('k')
    await limiter.ban('k', '10s')
    expect((await limiter.consume('k')).ban?.scope).toBe('default')
    await limiter.unban('k')
    expect((await limiter.inspect('k')).policies[0]).toMatchObject({ used: 14 })
    const after = await subject.read(key)
    expect(after.indexOf(subject.from(unknown, 1))).toBeGreaterThan(0)
    if (subject !== redis) return
    // The store with texts calculates the life from the record, which says until when each state is needed.
    expect(await client.pttl(key)).toBeGreaterThan(life - 10_000)
    expect(await client.pttl(key)).toBeLessThanOrEqual(life)
  })
})
