/*
 * Calls that one statement decides: the same decisions and the same rows as by the algorithm itself. The statement leaves every
 * other call to a transaction.
 */
import { Pool } from 'pg'
import { afterAll, expect, test } from 'vitest'
import { fixedWindow, gcra, type Policy, RateLimiter, slidingWindow, tokenBucket } from '../../src/index.ts'
import { postgresStore } from '../../src/stores/postgres/index.ts'
import { BareLimiter } from '../support/bare-limiter.ts'
import { rounds } from '../support/depth.ts'
import { algorithms } from '../support/differential.ts'
import { failure } from '../support/failure.ts'
import fc from '../support/fast-check.ts'
import { MapDatabase } from '../support/map-store.ts'
import { startPostgres } from '../support/postgres-server.ts'
import { useServer } from '../support/use-server.ts'
import { wrappedPool } from '../support/wrapped-pool.ts'

const server = await useServer(startPostgres())
const pool = new Pool(server.config)
afterAll(() => pool.end())
await postgresStore({ pool }).migrate()

let names = 0

/** The messages that a pool has sent to the server. */
const sent: string[] = []
const counted = wrappedPool(pool, (client) => {
  const query = (text: string) => {
    sent.push(text)
    return client.query(text)
  }
  return Object.assign(Object.create(client), { query })
})

function limiterOf(
  policies: readonly Policy[] = [tokenBucket({ limit: 10, window: '1h' })],
  options = {},
): BareLimiter {
  const store = postgresStore({ pool: counted, timeout: '20s', ...options })
  return new BareLimiter({ name: `plain-${names++}`, policies, store })
}

async function messagesOf(run: () => Promise<unknown>): Promise<number> {
  sent.length = 0
  await run()
  return sent.length
}

const keys = ['a', 'b', 'c', 'd', 'e']
const most = Number.MAX_SAFE_INTEGER

const turns = fc.array(
  fc.record({
    /** Microseconds. */
    later: fc.oneof(
      { weight: 8, arbitrary: fc.constantFrom(0, 1, 999, 1000, 7000, 10_000, 100_000, 1_000_000) },
      { weight: 8, arbitrary: fc.integer({ min: 0, max: 1_000_000 }) },
      { weight: 3, arbitrary: fc.integer({ min: -1_500_000, max: 0 }) },
      { weight: 1, arbitrary: fc.constantFrom(-59_999_999, -60_000_000, 3_600_000_000, 366 * 86_400_000_000) },
    ),
    /** The cost of a call on each key; 0 for no call. */
    costs: fc.array(fc.oneof({ weight: 9, arbitrary: fc.nat(6) }, fc.constantFrom(100, 5000, 2 ** 45, most)), {
      minLength: keys.length,
      maxLength: keys.length,
    }),
  }),
  { minLength: 5, maxLength: 12 },
)

const plain = (policies: fc.Arbitrary<Policy>) =>
  policies.filter(({ shadow, countRefused }) => !shadow && !countRefused)

/** Numbers whose products pass 2^53, and some whose products pass 2^63. */
const huge = fc.constantFrom<Policy>(
  gcra({ limit: 999_983, window: '366d', burst: 284 }),
  gcra({ limit: 1000 * 2 ** 40, window: '1ms', burst: 2 ** 52 }),
  tokenBucket({ limit: 2 ** 40, window: '366d', burst: 2 ** 46, refill: 'interval' }),
  fixedWindow({ limit: most, window: '1ms' }),
  fixedWindow({ limit: 2 ** 52, window: '1ms', align: 'first-request' }),
  slidingWindow({ limit: 2 ** 45, window: '366d' }),
  slidingWindow({ limit: 2 ** 45 - 1, window: '1ms' }),
)

test.each([
  ['bucket', plain(algorithms.bucket('only'))],
  ['interval bucket', plain(algorithms.interval('only'))],
  ['fixed window of the clock', plain(algorithms.clockWindow('only'))],
  ['fixed window from the first request', plain(algorithms.firstRequest('only'))],
  ['sliding window', plain(algorithms.slidingWindow('only'))],
  ['huge numbers', huge],
] as const)(
  '%s: the same decisions and rows as by the algorithm',
  async (_, policies) => {
    let calls = 0
    let messages = 0
    await fc.assert(
      fc.asyncProperty(policies, turns, async (policy, script) => {
        let now = Date.UTC(2026, 0, 1) * 1000
        const database = new MapDatabase()
        const options = { clock: () => now, prefix: `script-${names++}` }
        const name = 'same'
        const limiters = [
          new BareLimiter({ name, policies: [policy], store: database.store(options) }),
          new BareLimiter({
            name,
            policies: [policy],
            store: postgresStore({ pool: counted, timeout: '20s', ...options }),
          }),
        ] as const
        for (const { later, costs } of script) {
          now += later
          const called = keys.flatMap((key, n) => (costs[n] === 0 ? [] : [{ key, cost: costs[n] as number }]))
          const decide = (limiter: BareLimiter) =>
            Promise.all(called.map(({ key, cost }) => limiter.consume(key, { cost })))
          const expected = await decide(limiters[0])
          messages += await messagesOf(async () => expect(await decide(limiters[1])).toEqual(expected))
          calls += called.length === 0 ? 0 : 1
        }
        const { rows } = await pool.query(
          'select key, record from headgate where key like $1 and record is not null order by key',
          [`${options.prefix}:%`],
        )
        const texts = [...database.texts].map(([key, { text }]) => ({ key, record: text }))
        expect(rows).toEqual(texts.sort((a, b) => (a.key < b.key ? -1 : 1)))
      }),
      { numRuns: rounds(10, 25) },
    )
    expect(messages).toBeLessThan(2 * calls)
  },
  120_000,
)

test('a call on a new key, a second one, a refusal and a call after a reset take one message each', async () => {
  const limiter = limiterOf()
  await limiter.consume('warm')
  for (const cost of [1, 9, 1]) expect(await messagesOf(() => limiter.consume('k', { cost }))).toBe(1)
  await limiter.reset('k')
  expect(await messagesOf(async () => expect((await limiter.consume('k')).remaining).toBe(9))).toBe(1)
})

test('without prepared statements a call takes two messages', async () => {
  const limiter = limiterOf(undefined, { prepare: false })
  expect(await messagesOf(async () => expect((await limiter.consume('k')).remaining).toBe(9))).toBe(2)
  expect(sent.join()).not.toMatch(/prepare|execute/)
  expect(() => limiterOf(undefined, { prepare: 'no' })).toThrow(/prepare must be true or false, got "no"/)
})

test('a pool that returns every value as text decides each call once', async () => {
  const own = new Pool({ ...server.config, types: { getTypeParser: () => String } })
  const limiter = limiterOf(undefined, { pool: own })
  for (const left of [6, 2]) expect((await limiter.consume('k', { cost: 4 })).remaining).toBe(left)
  expect((await limiter.consume('k', { cost: 4 })).allowed).toBe(false)
  await own.end()
})

test.each([
  'default_transaction_isolation=serializable',
  'standard_conforming_strings=off -c backslash_quote=off',
  'plan_cache_mode=force_custom_plan -c enable_indexscan=off',
  'search_path= -c TimeZone=Asia/Kathmandu -c DateStyle=SQL,DMY',
])('connections with other defaults decide the same: %s', async (defaults) => {
  const policies = [slidingWindow({ name: `it's \\ "so"`, limit: 30, window: '366d' })]
  const name = `plain-${names++}`
  const fleet = [1, 2, 3].map(() => {
    const own = new Pool({ ...server.config, options: `-c ${defaults}` })
    const store = postgresStore({ pool: own, table: 'public.headgate', timeout: '20s' })
    return { own, limiter: new BareLimiter({ name, policies, store }) }
  })
  const ids = ["'", '\\', '\0', '🎈', '{"a",NULL}', 'k'.repeat(4096)]
  const admitted = ids.map(() => 0)
  for (let n = 0; n < 12; n++) {
    const calls = fleet.flatMap(({ limiter }) => ids.map((id) => limiter.consume(id)))
    for (const [m, { allowed }] of (await Promise.all(calls)).entries()) {
      if (allowed) admitted[m % ids.length] = (admitted[m % ids.length] as number) + 1
    }
  }
  expect(admitted).toEqual(ids.map(() => 30))
  for (const { own } of fleet) await own.end()
})

test('a time of Postgres that is ahead of this process or behind it decides', async () => {
  const limiter = limiterOf([fixedWindow({ limit: 10, window: '1h' })])
  await limiter.consume('k')
  const key = `headgate:${limiter.name}:default:k`
  const hour = 3_600_000_000
  await pool.query(
    "update headgate set record = regexp_replace(record, '\\[(\\d+),1,', '[' || 1 || ',1,') where key = $1",
    [key],
  )
  const { rows } = await pool.query(
    'select record, extract(epoch from now()) * 1000000 as now from headgate where key = $1',
    [key],
  )
  const start = Math.floor(Number(rows[0].now) / hour) * hour
  expect(rows[0].record).toContain(`[1,1,${start},0]`)
  await limiter.consume('k', { cost: 9 })
  expect((await limiter.consume('k')).allowed).toBe(false)
})

test('rows in another form are decided by a transaction, and few calls try the statement in vain', async () => {
  const limiter = limiterOf()
  await limiter.reserve('k')
  const messages = await messagesOf(async () => {
    for (let left = 8; left >= 0; left--) expect((await limiter.consume('k')).remaining).toBe(left)
    for (let n = 0; n < 11; n++) expect((await limiter.consume('k')).allowed).toBe(false)
  })
  expect(messages).toBeLessThanOrEqual(2 * 20 + 4)
})

test('a banned key, and a key of another deploy, keep what they have', async () => {
  const store = postgresStore({ pool: counted, timeout: '20s' })
  const name = `plain-${names++}`
  const limiter = new RateLimiter({ name, policies: '10/1h', store })
  for (const key of ['banned', 'older']) await limiter.consume(key)
  await limiter.ban('banned', '1h')
  const later = new RateLimiter({ name, policies: '20/1h', store: postgresStore({ pool: counted, timeout: '20s' }) })
  const [banned, older, fresh] = await Promise.all(['banned', 'older', 'fresh'].map((key) => later.consume(key)))
  expect([banned?.allowed, older?.remaining, fresh?.remaining]).toEqual([false, 18, 19])
  const again = await Promise.all(['banned', 'older', 'fresh'].map((key) => later.consume(key)))
  expect(again.map(({ allowed, remaining }) => allowed && remaining)).toEqual([false, 17, 18])
})

test.each([
  [
    'that has a number too large for Postgres',
    (head: string) => `${head}1,[123456789012345678901,3600000000,0]]]`,
    undefined,
  ],
  ['that has a fraction', (head: string) => `${head}1,[1.5,3600000000,0]]]`, undefined],
  ['that ends too early', (head: string) => `${head}1,[`, 'HEADGATE_STORE_RECORD'],
  ['that is no record', () => '"no record"', 'HEADGATE_STORE_RECORD'],
])('a text %s changes the calls of its key alone', async (_, textOf, code) => {
  const limiter = limiterOf()
  const ids = ['a', 'b', 'c']
  await Promise.all(ids.map((id) => limiter.consume(id)))
  const key = `headgate:${limiter.name}:default:b`
  const { rows } = await pool.query('select record from headgate where key = $1', [key])
  const text = textOf(/^.*\],/.exec(rows[0].record.split(/\d+,\[\d+,\d+,0/)[0])?.[0] as string)
  await pool.query('update headgate set record = $2 where key = $1', [key, text])
  const [a, b, c] = await Promise.allSettled(ids.map((id) => limiter.consume(id)))
  expect([a, c]).toMatchObject([{ value: { remaining: 8 } }, { value: { remaining: 8 } }])
  if (code === undefined) expect(b?.status).toBe('fulfilled')
  else expect(b).toMatchObject({ reason: { code } })
  if (code === undefined) return
  const after = await pool.query('select record from headgate where key = $1', [key])
  expect(after.rows).toEqual([{ record: text }])
})

/** As bigint the number is odd; as a number of JavaScript it is the next even one. 8192 windows later that makes the difference of one unit. */
test.each([
  ['refuses and the algorithm admits', '9007199254740993', 2 ** 40, 'HEADGATE_STORE_RECORD'],
  ['admits and the algorithm refuses', '9007199254740995', 2 ** 40 - 3, 'HEADGATE_STORE_RECORD'],
  ['admits and the algorithm counts less', '9007199254740993', 5, 'HEADGATE_STORE_RECORD'],
  ['and the algorithm agree', '9007199254740994', 5, undefined],
])('on a row where Postgres %s, no caller gets numbers that the row does not hold', async (_, used, cost, code) => {
  const start = Date.UTC(2026, 0, 1) * 1000
  let now = start
  const limiter = limiterOf([fixedWindow({ limit: 2 ** 40, window: '1ms' })], { clock: () => now })
  const keys = ['a', 'b', 'c']
  await Promise.all(keys.map((key) => limiter.consume(key)))
  const key = `headgate:${limiter.name}:default:b`
  const doctored = `regexp_replace(record, '${start},1,${start},0', '${start},${used},${start},0')`
  const before = `update headgate set record = ${doctored}, expires = 'infinity' where key = '${key}' returning record`
  const { rows } = await pool.query(before)
  expect(rows[0].record).toContain(`,${used},`)
  now += 8_192_000
  const [a, b, c] = await Promise.allSettled(keys.map((key) => limiter.consume(key, { cost })))
  expect([a, c]).toMatchObject([{ value: { remaining: 2 ** 40 - cost } }, { value: { remaining: 2 ** 40 - cost } }])
  const after = await pool.query(`select record from headgate where key = '${key}'`)
  const unchanged = after.rows[0].record === rows[0].record
  if (code === undefined) expect(b).toMatchObject({ value: { remaining: 2 ** 40 - cost - 2 } })
  else expect(b).toMatchObject({ reason: { code, message: expect.stringContaining(key) } })
  if (b?.status === 'rejected') expect(b.reason.uncounted).toBe(unchanged ? true : undefined)
  await limiter.reset('b')
  expect((await limiter.consume('b')).remaining).toBe(2 ** 40 - 1)
})

test.each([
  ['update', 3],
  ['insert', 1],
])('a trigger that changes what a call writes on %s fails the call', async (event, calls) => {
  const table = `triggered_${event}`
  const limiter = limiterOf([tokenBucket({ limit: 10, window: '1h' })], { table })
  await postgresStore({ pool, table }).migrate()
  await pool.query(`
    create function ${table}() returns trigger language plpgsql as $$
    begin
      new.record := regexp_replace(new.record, ',\\[(\\d+),\\d+,', ',[\\1,0,');
      return new;
    end $$;
    create trigger forget before ${event} on ${table} for each row execute function ${table}()`)
  const outcomes = await Promise.all(
    ['a', 'b'].map(async (key) => {
      for (let n = 1; n < calls; n++) await limiter.consume(key).catch(() => {})
      return failure(limiter.consume(key))
    }),
  )
  expect(outcomes).toMatchObject([{ code: 'HEADGATE_STORE_RECORD' }, { code: 'HEADGATE_STORE_RECORD' }])
})

test('connections that lose their prepared statements, or have them already, decide each call once', async () => {
  const own = new Pool({ ...server.config, max: 1 })
  const limiter = limiterOf(undefined, { pool: own })
  expect((await limiter.consume('k')).remaining).toBe(9)
  await own.query('deallocate all')
  expect((await limiter.consume('k')).remaining).toBe(8)
  expect((await limiter.consume('k')).remaining).toBe(7)
  // The same connection as another process has it, through a pooler.
  const other = wrappedPool(own, (client) =>
    Object.assign(Object.create(client), { query: (text: string) => client.query(text) }),
  )
  const second = new BareLimiter({
    name: limiter.name,
    policies: [tokenBucket({ limit: 10, window: '1h' })],
    store: postgresStore({ pool: other, timeout: '20s' }),
  })
  for (let left = 6; left >= 0; left--) expect((await second.consume('k')).remaining).toBe(left)
  await own.end()
})

test('processes that call one after the other on the same keys admit exactly the limit', async () => {
  const policies = [slidingWindow({ limit: 100, window: '366d' })]
  const name = `plain-${names++}`
  const pools = Array.from({ length: 5 }, () => new Pool(server.config))
  const fleet = pools.map(
    (each) => new BareLimiter({ name, policies, store: postgresStore({ pool: each, timeout: '20s' }) }),
  )
  const admitted = { hot: 0, new: 0 }
  await Promise.all(
    fleet.map(async (limiter) => {
      for (let n = 0; n < 40; n++) {
        const ids = ['hot', 'new'] as const
        const decisions = await Promise.all(ids.map((id) => limiter.consume(id)))
        for (const [which, { allowed }] of decisions.entries()) if (allowed) admitted[ids[which] as 'hot' | 'new']++
      }
    }),
  )
  expect(admitted).toEqual({ hot: 100, new: 100 })
  for (const each of pools) await each.end()
})

test('a row that another transaction is changing delays no other key', async () => {
  const limiter = limiterOf()
  await limiter.consume('changing')
  const client = await pool.connect()
  await client.query('begin')
  await client.query('update headgate set record = record where key = $1', [
    `headgate:${limiter.name}:default:changing`,
  ])
  let decided = false
  const waits = limiter.consume('changing').finally(() => {
    decided = true
  })
  expect((await limiter.consume('other')).remaining).toBe(9)
  expect(decided).toBe(false)
  await client.query('commit')
  client.release()
  expect((await waits).remaining).toBe(8)
})

test('a call that waits for a locked row, and times out, says that it did not count', async () => {
  const limiter = limiterOf(undefined, { timeout: 200 })
  await limiter.consume('k')
  const client = await pool.connect()
  await client.query('begin')
  await client.query('select from headgate where key = $1 for update', [`headgate:${limiter.name}:default:k`])
  const { code } = await failure(limiter.consume('k'))
  expect(code).toMatch(/^HEADGATE_STORE(_TIMEOUT)?$/)
  await client.query('rollback')
  client.release()
  expect((await limiter.consume('k')).remaining).toBe(8)
})
