/* What is specific to Postgres: rows and their locks, expiry, a schema, a server that fails. */
import { execFileSync, spawnSync } from 'node:child_process'
import { fileURLToPath } from 'node:url'
import { Client, Pool } from 'pg'
import { afterAll, describe, expect, onTestFinished, test, vi } from 'vitest'
import { forgetWarnings } from '../../src/common/warn.ts'
import { fixedWindow, HeadgateError, RateLimiter, tokenBucket } from '../../src/index.ts'
import { type PostgresStoreOptions, postgresSchema, postgresStore } from '../../src/stores/postgres/index.ts'
import { Sql } from '../../src/stores/postgres/sql.ts'
import { BareLimiter } from '../support/bare-limiter.ts'
import { failure } from '../support/failure.ts'
import { startPostgres } from '../support/postgres-server.ts'
import { startProxy } from '../support/proxy.ts'
import { startProxy as startDelays } from '../support/tcp-proxy.ts'
import { useServer } from '../support/use-server.ts'
import { wrappedPool } from '../support/wrapped-pool.ts'

const server = await useServer(startPostgres())
const closes: (() => unknown)[] = []

afterAll(async () => {
  for (const close of closes) await close()
})

const pool = poolOf()
await postgresStore({ pool }).migrate()

function poolOf(options: object = {}): Pool {
  const own = new Pool({ ...server.config, ...options })
  own.on('error', () => {})
  closes.push(() => own.end())
  return own
}

const hundred = fixedWindow({ limit: 100, window: '1h' })
let names = 0

function limiterOf(options: Partial<PostgresStoreOptions> = {}, policies = [hundred]): BareLimiter {
  const store = postgresStore({ pool, timeout: '5s', ...options })
  return new BareLimiter({ name: `own-${names++}`, policies, store })
}

test('a consume and a reset of a new key in one tick leave nothing to give back', async () => {
  const limiter = new RateLimiter({
    name: `own-${names++}`,
    policies: hundred,
    store: postgresStore({ pool, timeout: '5s' }),
  })
  for (let n = 0; n < 5; n++) {
    const key = `new-${n}`
    await Promise.all([limiter.consume(key, { cost: 6 }), limiter.reset(key)])
    await limiter.consume(key, { cost: 50 })
    await limiter.consume(key, { cost: 1 })
    expect((await limiter.peek(key)).remaining).toBe(49)
  }
})

test('clear deletes the rows of one limiter, more than fit one step, while calls go on', async () => {
  const store = postgresStore({ pool, timeout: '5s' })
  const [limiter, other] = [`own-${names++}`, `own-${names++}`].map(
    (name) => new RateLimiter({ name, policies: hundred, store }),
  ) as [RateLimiter, RateLimiter]
  const keys = Array.from({ length: 1200 }, (_, n) => `user-${n}`)
  await Promise.all(keys.map((key) => limiter.consume(key)))
  await other.consume('user-1')
  const [, later] = await Promise.all([
    limiter.clear(),
    Promise.all(keys.slice(0, 51).map((key) => other.consume(key))),
  ])
  expect(later.every(({ allowed }) => allowed)).toBe(true)
  expect((await Promise.all(keys.map((key) => limiter.peek(key)))).every(({ remaining }) => remaining === 100)).toBe(
    true,
  )
  expect((await other.peek('user-1')).remaining).toBe(98)
})

test('clear says so if the keys of a limiter are digests', async () => {
  const store = postgresStore({ pool, prefix: 'p'.repeat(100) })
  const limiter = new RateLimiter({ name: 'n'.repeat(60), policies: hundred, store })
  await expect(limiter.clear()).rejects.toMatchObject({ code: 'HEADGATE_UNSUPPORTED' })
})

/** Locks rows, as a process that stops in a transaction would. Returns a function that releases them. */
async function lockRows(...keys: string[]): Promise<() => Promise<void>> {
  const client = new Client(server.config)
  await client.connect()
  await client.query(new Sql('headgate', 5000).lock(keys, false, (text) => client.escapeLiteral(text)))
  return async () => {
    await client.query('rollback')
    await client.end()
  }
}

/** A pool that notes each message to the server. */
function countedPool(texts: string[], from = poolOf()): Pool {
  return wrappedPool(from, (client) => {
    const query = (text: string) => {
      texts.push(text)
      return client.query(text)
    }
    return Object.assign(Object.create(client), { query })
  })
}

test('calls of one tick on many keys take one round trip; a peek and a refusal leave no row', async () => {
  const texts: string[] = []
  const limiter = limiterOf({ pool: countedPool(texts) })
  await Promise.all(Array.from({ length: 50 }, (_, n) => limiter.consume(`${n}`)))
  expect(texts).toHaveLength(1)
  await Promise.all(Array.from({ length: 50 }, (_, n) => limiter.peek(`new-${n}`)))
  expect(texts).toHaveLength(2)
  const refused = await Promise.all(Array.from({ length: 50 }, (_, n) => limiter.consume(`r-${n}`, { cost: 101 })))
  expect(refused.every(({ allowed, retryAfter }) => !allowed && retryAfter === Infinity)).toBe(true)
  expect(texts).toHaveLength(3)
  const { rows } = await pool.query(`select key from headgate where key like 'headgate:${limiter.name}:%'`)
  expect(rows).toHaveLength(50)
})

test('a locked key delays no other key, and its call goes on as soon as the lock is released', async () => {
  const limiter = limiterOf()
  await Promise.all(['hot', 'cold'].map((id) => limiter.consume(id)))
  const release = await lockRows(`headgate:${limiter.name}:default:hot`)
  let hot: number | undefined
  const waits = limiter.consume('hot').then(({ remaining }) => (hot = remaining))
  expect((await limiter.consume('cold')).remaining).toBe(98)
  expect(hot).toBeUndefined()
  await release()
  expect(await waits).toBe(98)
})

test('many locked keys, new keys among them, delay no other key', async () => {
  const limiter = limiterOf({ timeout: '2s' })
  const hot = Array.from({ length: 8 }, (_, n) => `hot-${n}`)
  await Promise.all(hot.slice(4).map((id) => limiter.consume(id)))
  const release = await lockRows(...hot.map((id) => `headgate:${limiter.name}:default:${id}`))
  const waits = Promise.all(hot.map((id) => limiter.consume(id)))
  expect((await limiter.consume('cold')).remaining).toBe(99)
  expect((await limiter.consume('cold')).remaining).toBe(98)
  await release()
  expect((await waits).map(({ remaining }) => remaining)).toEqual([99, 99, 99, 99, 98, 98, 98, 98])
})

test('a call on a row that stays locked rejects within the timeout, and leaves no open transaction', async () => {
  const limiter = limiterOf({ timeout: 150 })
  await limiter.consume('k')
  const release = await lockRows(`headgate:${limiter.name}:default:k`)
  for (let n = 0; n < 3; n++) {
    const { code, after } = await failure(limiter.consume('k'))
    expect(code).toMatch(/^HEADGATE_STORE(_TIMEOUT)?$/)
    expect(after).toBeLessThan(400)
  }
  await release()
  expect((await limiter.consume('k')).remaining).toBe(98)
  const { rows } = await pool.query(`select from pg_stat_activity where state like 'idle in transaction%'`)
  expect(rows).toHaveLength(0)
})

test('several processes that take several keys in any order: all or none, and no deadlock', async () => {
  const policies = [
    fixedWindow({ name: 'a', scope: 'a', limit: 60, window: '1h' }),
    fixedWindow({ name: 'b', scope: 'b', limit: 100, window: '1h' }),
  ]
  const fleet = [1, 2, 3].map(() => {
    return new RateLimiter({ name: 'pairs', policies, store: postgresStore({ pool: poolOf(), timeout: '20s' }) })
  })
  const calls = fleet.flatMap((limiter, m) =>
    Array.from({ length: 120 }, (_, n) => limiter.consume({ a: `${(n + m) % 4}`, b: `${(3 * n + m) % 3}` })),
  )
  const admitted = (await Promise.all(calls)).filter(({ allowed }) => allowed).length
  const used = async (scope: 'a' | 'b', ids: number) => {
    const keys = Array.from({ length: ids }, (_, n) => ({ a: 'x', b: 'x', [scope]: `${n}` }))
    const left = await Promise.all(keys.map((key) => fleet[0]?.peek(key)))
    const index = scope === 'a' ? 0 : 1
    return left.reduce((sum, each) => sum + (policies[index]?.limit ?? 0) - (each?.policies[index]?.remaining ?? 0), 0)
  }
  expect([await used('a', 4), await used('b', 3)]).toEqual([admitted, admitted])
  expect(admitted).toBe(240)
})

test('expired rows are deleted in small groups while others are written', async () => {
  const expire = (rows: number) =>
    pool.query(
      `insert into headgate select 'old-' || n, '[1]', now() - interval '1 minute' from generate_series(1, ${rows}) n`,
    )
  await expire(300)
  const limiter = limiterOf({}, [tokenBucket({ limit: 5, window: '1s' })])
  const count = async () =>
    Number((await pool.query(`select count(*) from headgate where key like 'old-%'`)).rows[0].count)
  await Promise.all(Array.from({ length: 99 }, (_, n) => limiter.consume(`${n}`)))
  expect(await count()).toBe(300)
  await limiter.consume('another')
  await expect.poll(count).toBe(100)
  await Promise.all(Array.from({ length: 100 }, (_, n) => limiter.consume(`${n}`)))
  await expect.poll(count).toBe(0)
  await expire(100)
  const byTransactions = limiterOf({ prepare: false }, [tokenBucket({ limit: 5, window: '1s' })])
  await Promise.all(Array.from({ length: 100 }, (_, n) => byTransactions.consume(`refused-${n}`, { cost: 6 })))
  await expect.poll(count).toBe(0)
  const { rows } = await pool.query(`select expires - now() as life from headgate where key like '%another'`)
  expect(rows[0].life.minutes ?? 0).toBeLessThan(2)
})

test('the time is that of Postgres, and the table and the prefix are those of the options', async () => {
  await pool.query('create schema "Limits"')
  const store = postgresStore({ pool, table: 'Limits.my_table', prefix: 'mine', timeout: '5s' })
  await Promise.all([store.migrate(), store.migrate(), postgresStore({ pool, table: 'Limits.my_table' }).migrate()])
  const ledger = store.open({ name: 'default', policies: [hundred], scopes: ['default'] })
  const { at } = await ledger.run({ verb: 'consume', keys: ["'; drop table headgate; --"], details: { at: true } })
  const { rows } = await pool.query(
    `select extract(epoch from now()) * 1000 - ${at} as past, key from "Limits".my_table`,
  )
  expect(Math.abs(Number(rows[0].past))).toBeLessThan(10_000)
  expect(rows[0].key).toMatch(/^mine:default:default:%0027%003b/)
})

test('quotes and backslashes in names and keys are harmless, even if the server lets backslashes escape', async () => {
  const name = `it's "so" \\ \\' $$ ; --`
  const own = poolOf({ options: '-c standard_conforming_strings=off' })
  for (const each of [pool, own]) {
    const limiter = limiterOf({ pool: each }, [fixedWindow({ name, limit: 5, window: '1h' })])
    await limiter.consume(`\\' or 1=1 --`)
    expect((await limiter.consume(`\\' or 1=1 --`)).policies[0]).toMatchObject({ name, remaining: 3 })
  }
})

test.each(['', 'a b', 'a"b', 'a.b.c', "x'; drop table headgate; --", 'a'.repeat(51), 1])(
  'a table named %j throws',
  (table) => {
    expect(() => postgresStore({ pool, table: table as string })).toThrow(/table|HEADGATE/)
  },
)

test('a command prints the migration', () => {
  const program = fileURLToPath(new URL('../../dist/headgate-postgres.js', import.meta.url))
  const print = (...args: string[]) => execFileSync(process.execPath, [program, ...args], { encoding: 'utf8' })
  expect(print()).toBe(postgresSchema())
  expect(print('limits.mine')).toContain('create table if not exists "limits"."mine"')
  const { status, stdout, stderr } = spawnSync(process.execPath, [program, 'my table'], { encoding: 'utf8' })
  expect([status, stdout]).toEqual([1, ''])
  expect(stderr).toMatch(
    /^postgresStore: table must be .*, got "my table"[^\n]*\nUsage: headgate-postgres \[table\]\n$/,
  )
})

test('without the table, the error of a call says what to do', async () => {
  const error = await limiterOf({ table: 'nowhere' })
    .consume('k')
    .catch((reason) => reason)
  expect(error).toMatchObject({ code: 'HEADGATE_STORE', message: expect.stringContaining('store.migrate()') })
})

describe('the error of a migration says what to do, and what Postgres reported', () => {
  test.each([
    ['in a schema that does not exist', 'nowhere.limits', {}, /schema "nowhere" does not exist/],
    ['by a user without the right', 'refused', { user: 'guest' }, /permission denied for schema public/],
    ['without a server', 'headgate', { host: 'localhost', port: 1 }, /ECONNREFUSED/],
  ])('%s', async (_, table, options, reason) => {
    await pool.query(`do $$ begin create role guest login; exception when duplicate_object then null; end $$`)
    const error = await postgresStore({ pool: poolOf(options), table })
      .migrate()
      .catch((reason) => reason)
    expect(error).toBeInstanceOf(HeadgateError)
    expect(error).toMatchObject({ code: 'HEADGATE_STORE', cause: expect.any(Error) })
    expect(error.message).toMatch(reason)
    expect(error.message).toContain(`npx headgate-postgres ${table} prints`)
  })
})

test('an invalid option throws at construction', () => {
  expect(() => postgresStore({ pool, synchronous: 'on' as never })).toThrow("'normal' or 'full'")
  expect(() => postgresStore({ pool: new Client(server.config) as never })).toThrow(/new Pool/)
  expect(() => postgresStore({ pool: undefined as never })).toThrow(/new Pool/)
})

test('while the server hangs, every call rejects at the timeout; afterwards the pool has no more connections than before', async () => {
  const proxy = await startProxy(server.port)
  closes.push(() => proxy.close())
  const own = poolOf({ port: proxy.port, max: 3, connectionTimeoutMillis: 300 })
  const limiter = limiterOf({ pool: own, timeout: 100 })
  const answers = () => expect.poll(() => limiter.peek('k').catch(() => undefined), { timeout: 5000 }).toBeDefined()
  await answers()
  proxy.fault = 'hang'
  for (let round = 0; round < 5; round++) {
    const calls = [
      limiter.consume('k'),
      limiter.peek('k'),
      limiter.refund('k'),
      limiter.reset('k'),
      limiter.consume('l'),
    ]
    for (const { code, after } of await Promise.all(calls.map(failure))) {
      expect(code).toMatch(/^HEADGATE_STORE(_TIMEOUT)?$/)
      expect(after).toBeLessThan(300)
    }
  }
  proxy.fault = undefined
  await answers()
  expect(own.totalCount).toBeLessThanOrEqual(3)
})

test('an answer that comes after three times the timeout is waited for, and its units are given back', async () => {
  const proxy = await startDelays(server.port)
  closes.push(() => proxy.close())
  const limiter = new RateLimiter({
    name: 'late',
    policies: '100/30d fixed-window',
    store: postgresStore({ pool: poolOf({ port: proxy.port }), timeout: 60 }),
    onStoreError: 'closed',
  })
  await expect.poll(() => limiter.consume('k').catch(() => undefined)).toMatchObject({ source: 'store' })
  const used = async () => (await limiter.usage('k')).policies[0]?.used
  const counted = await used()
  proxy.replyDelay = 200
  await expect(limiter.consume('k', { cost: 5 })).rejects.toThrow()
  proxy.replyDelay = 0
  await new Promise((resolve) => setTimeout(resolve, 400))
  await expect.poll(() => used().catch(() => undefined), { timeout: 5000 }).toBe(counted)
})

test.each([
  ['consume', 0, 'decision', 98],
  ['charge', 0, 'read', 99],
  ['charge', 1, 'save', 98],
] as const)(
  '%s is not repeated if a reply was lost: after %i replies, that of its %s',
  async (verb, spared, _, left) => {
    const proxy = await startProxy(server.port)
    closes.push(() => proxy.close())
    const limiter = limiterOf({ pool: poolOf({ port: proxy.port }), timeout: '1s' })
    await limiter.consume('k')
    Object.assign(proxy, { fault: 'lose replies', spared })
    expect((await failure(limiter[verb]('k'))).code).toBe('HEADGATE_STORE')
    proxy.fault = undefined
    expect((await limiter.peek('k')).remaining).toBe(left)
  },
)

test('a server that ends a session as soon as the session is ready fails the call, and not the process', async () => {
  const proxy = await startProxy(server.port)
  closes.push(() => proxy.close())
  const fields = ['SFATAL', 'VFATAL', 'C57P01', 'Mterminating connection', ''].map((field) => `${field}\0`).join('')
  const length = Buffer.alloc(4)
  length.writeUInt32BE(4 + fields.length)
  proxy.appended = Buffer.concat([Buffer.from('E'), length, Buffer.from(fields)])
  const limiter = limiterOf({ pool: poolOf({ port: proxy.port }), timeout: '1s' })
  expect((await failure(limiter.consume('k'))).code).toBe('HEADGATE_STORE')
  proxy.appended = Buffer.of()
  expect((await limiter.consume('k')).remaining).toBe(99)
})

test('a pool whose connect returns a promise and takes no callback works, and gets each connection back', async () => {
  const own = poolOf({ max: 2 })
  const later = Object.assign(Object.create(own), { connect: async () => own.connect() })
  const limiter = limiterOf({ pool: later })
  for (let left = 99; left > 90; left--) expect((await limiter.consume('k')).remaining).toBe(left)
  expect([own.idleCount, own.totalCount]).toEqual([own.totalCount, own.totalCount])
  const broken = Object.assign(Object.create(own), { connect: async () => Promise.reject(new Error('no way')) })
  expect(await failure(limiterOf({ pool: broken }).consume('k'))).toMatchObject({ code: 'HEADGATE_STORE' })
})

test('a pool without a listener for errors is one warning', async () => {
  forgetWarnings()
  const warned = vi.spyOn(process, 'emitWarning').mockImplementation(() => {})
  onTestFinished(() => warned.mockRestore())
  const [deaf, heard] = [new Pool(server.config), poolOf()]
  onTestFinished(() => deaf.end())
  for (const own of [heard, deaf, deaf]) await limiterOf({ pool: own }).consume('k')
  expect(warned.mock.calls.map(([text]) => text)).toEqual([
    expect.stringMatching(/^The pool of Postgres has no listener for 'error'\. .* Write pool\.on\('error'/),
  ])
})

test.each([
  ['by one statement', [hundred]],
  ['by a transaction', [hundred, fixedWindow({ limit: 100, window: '2h' })]],
])('a call that is committed %s after its timeout is given back', async (_, policies) => {
  const own = poolOf({ max: 1 })
  const limiter = limiterOf({ pool: own, timeout: 200 }, policies)
  await limiter.peek('k')
  const client = await own.connect()
  const query = client.query.bind(client) as (text: string) => Promise<unknown>
  let reply = () => {}
  const failed = new Promise<void>((resolve) => {
    reply = resolve
  })
  async function repliesLate(text: string) {
    const result = await query(text)
    if (/set record|execute/.test(text)) await failed
    return result
  }
  Object.assign(client, { query: repliesLate })
  client.release()
  expect((await failure(limiter.consume('k', { cost: 3 }))).code).toBe('HEADGATE_STORE_TIMEOUT')
  reply()
  Object.assign(client, { query })
  await expect.poll(() => limiter.peek('k').catch(() => undefined)).toMatchObject({ remaining: 100 })
})

test('while the server is down, calls reject within the timeout; a restarted server has the states it saved', async () => {
  const limiter = limiterOf({ timeout: 150 })
  await limiter.consume('k', { cost: 10 })
  await new Promise((resolve) => setTimeout(resolve, 500)) // commits reach the disk within 3 x wal_writer_delay
  await server.stop()
  for (let n = 0; n < 5; n++) {
    const { code, after } = await failure(limiter.consume('k'))
    expect(code).toMatch(/^HEADGATE_STORE(_TIMEOUT)?$/)
    expect(after).toBeLessThan(400)
  }
  await server.start()
  expect((await limiter.consume('k')).remaining).toBe(89)
})
