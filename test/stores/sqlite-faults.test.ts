import { closeSync, openSync, rmSync, writeSync } from 'node:fs'
import { join } from 'node:path'
import { createClient } from '@libsql/client'
import express from 'express'
import Database from 'libsql'
import { describe, expect, onTestFinished, test } from 'vitest'
import { rateLimit } from '../../adapters/express.ts'
import { fixedWindow, RateLimiter } from '../../src/index.ts'
import { Pacer } from '../../src/pacer/index.ts'
import { inspectSqlite, sqliteStore } from '../../src/stores/sqlite/index.ts'
import { temporaryFolder } from '../support/sqlite.ts'

const folder = temporaryFolder()
let files = 0
const newPath = () => join(folder, `${files++}.db`)

function open(path: string): Database.Database {
  const database = new Database(path)
  onTestFinished(() => {
    if (database.open) database.close()
  })
  return database
}

function limiterOn(store: ReturnType<typeof sqliteStore>, onStoreError: 'throw' | 'local' | 'closed' = 'throw') {
  return new RateLimiter({ name: 'api', policies: '10/1h fixed-window', store, onStoreError })
}

const errorOf = (run: () => unknown): unknown => {
  try {
    run()
  } catch (error) {
    return error
  }
  throw new Error('no error')
}

test('a lock that another connection holds for longer than the timeout fails the call, which did not count', () => {
  const path = newPath()
  const limiter = limiterOn(sqliteStore({ database: open(path), timeout: '50ms' }))
  limiter.consumeSync('ann')
  const other = open(path)
  other.exec('BEGIN IMMEDIATE')
  const startedAt = performance.now()
  const error = errorOf(() => limiter.consumeSync('ann'))
  expect(performance.now() - startedAt).toBeLessThan(500)
  expect(error).toMatchObject({ code: 'HEADGATE_STORE_TIMEOUT', uncounted: true })
  other.exec('ROLLBACK')
  expect(limiter.consumeSync('ann').remaining).toBe(8)
})

test('calls that found the file locked keep nothing open: both connections then count everything', () => {
  const path = newPath()
  const fixed = (scope: string) => fixedWindow({ name: scope, scope, limit: 1000, window: '1h' })
  const connect = () => {
    const database = open(path)
    const terms = { store: sqliteStore({ database, timeout: '1ms' }), onStoreError: 'throw' } as const
    const one = new RateLimiter({ name: 'one', policies: fixed('user'), ...terms })
    const two = new RateLimiter({ name: 'two', policies: [fixed('user'), fixed('team')], ...terms })
    const consume = () => [one.consumeSync('ann').remaining, two.consumeSync({ user: 'ann', team: 't' }).remaining]
    return { database, one, two, consume }
  }
  const [first, second] = [connect(), connect()]
  let used = 0
  const count = () => {
    for (const { consume } of [first, second]) {
      used++
      expect(consume()).toEqual([1000 - used, 1000 - used])
    }
  }
  count()
  for (let round = 0; round < 4; round++) {
    second.database.exec('BEGIN EXCLUSIVE')
    const locked = { code: 'HEADGATE_STORE_TIMEOUT', uncounted: true }
    expect(errorOf(() => first.one.consumeSync('ann'))).toMatchObject(locked)
    expect(errorOf(() => first.one.consumeSync(`new ${round}`))).toMatchObject(locked)
    expect(errorOf(() => first.two.consumeSync({ user: 'ann', team: 't' }))).toMatchObject(locked)
    second.database.exec('COMMIT')
    if (round % 2 === 0) {
      used++
      second.consume()
    }
    count()
  }
})

test('a lock that ends within the timeout is waited for by a client of promises', async () => {
  const path = newPath()
  const client = createClient({ url: `file:${path}` })
  onTestFinished(() => client.close())
  const limiter = limiterOn(sqliteStore({ database: client, timeout: '5s' }))
  await limiter.consume('ann')
  const other = open(path)
  other.exec('BEGIN IMMEDIATE')
  const waiting = limiter.consume('ann')
  setTimeout(() => other.exec('ROLLBACK'), 50)
  expect((await waiting).remaining).toBe(8)
})

test('a lock of another connection times out a client of promises, and onStoreError decides', async () => {
  const path = newPath()
  const client = createClient({ url: `file:${path}` })
  onTestFinished(() => client.close())
  const store = sqliteStore({ database: client, timeout: '100ms' })
  const limiter = limiterOn(store)
  await limiter.consume('ann')
  const other = open(path)
  other.exec('BEGIN IMMEDIATE')
  await expect(limiter.consume('ann')).rejects.toMatchObject({ code: 'HEADGATE_STORE_TIMEOUT' })
  other.exec('ROLLBACK')
})

test.each([
  ['local', 'fallback'],
  ['closed', undefined],
] as const)('while the file is locked, onStoreError %s decides', async (onStoreError, source) => {
  const path = newPath()
  const limiter = limiterOn(sqliteStore({ database: open(path), timeout: '1ms' }), onStoreError)
  const other = open(path)
  other.exec('BEGIN IMMEDIATE')
  const call = limiter.consume('ann')
  if (source === undefined) await expect(call).rejects.toMatchObject({ code: 'HEADGATE_STORE_UNAVAILABLE' })
  else expect((await call).source).toBe(source)
  other.exec('ROLLBACK')
})

test('after a lock that lasted longer than the timeout, a client of promises works as soon as the lock is free', async () => {
  const path = newPath()
  const client = createClient({ url: `file:${path}` })
  onTestFinished(() => client.close())
  const limiter = limiterOn(sqliteStore({ database: client, timeout: '50ms' }))
  await limiter.consume('ann')
  const other = open(path)
  other.exec('CREATE TABLE own (x)')
  for (let n = 0; n < 3; n++) {
    other.exec('BEGIN IMMEDIATE')
    other.exec(`INSERT INTO own VALUES (${n})`) // a snapshot from before this write could never write again
    await expect(limiter.consume('ann')).rejects.toMatchObject({ code: 'HEADGATE_STORE_TIMEOUT', uncounted: true })
    other.exec('COMMIT')
    expect((await limiter.consume('ann')).remaining).toBe(8 - n)
  }
})

test('a full disk fails the calls that write, and no other; what was written stays', () => {
  const database = open(newPath())
  const limiter = limiterOn(sqliteStore({ database }))
  limiter.consumeSync('ann')
  const { page_count: pages } = database.prepare('PRAGMA page_count').get() as { page_count: number }
  database.exec(`PRAGMA max_page_count = ${pages}`)
  let error: unknown
  for (let n = 0; error === undefined && n < 10_000; n++) {
    try {
      limiter.consumeSync(`${n}`)
    } catch (caught) {
      error = caught
    }
  }
  expect(error).toMatchObject({ code: 'HEADGATE_STORE', uncounted: true })
  expect(String(error)).toContain('Make room on the disk.')
  expect(limiter.consumeSync('ann', { cost: 11 }).allowed).toBe(false)
  database.exec('PRAGMA max_page_count = 100000')
  expect(limiter.consumeSync('ann').remaining).toBe(8)
})

test('a file that was deleted fails calls within a second', async () => {
  const path = newPath()
  const limiter = limiterOn(sqliteStore({ database: open(path) }))
  limiter.consumeSync('ann')
  rmSync(path)
  await new Promise((wake) => setTimeout(wake, 1100))
  const error = errorOf(() => limiter.consumeSync('ann'))
  expect(error).toMatchObject({ code: 'HEADGATE_STORE', uncounted: true })
  expect(String(error)).toContain('was deleted or replaced. Open the database and the store anew.')
})

test('a file that was deleted or replaced fails the calls of a client of promises within a second', async () => {
  for (const replace of [false, true]) {
    const path = newPath()
    const client = createClient({ url: `file:${path}` })
    onTestFinished(() => client.close())
    const limiter = limiterOn(sqliteStore({ database: client, timeout: '5s' }))
    await limiter.consume('ann')
    rmSync(path)
    if (replace) open(path).exec('CREATE TABLE other (key)')
    await new Promise((wake) => setTimeout(wake, 1100))
    const error = await limiter.consume('ann').catch((caught) => caught)
    expect(error).toMatchObject({ code: 'HEADGATE_STORE', uncounted: true })
    expect(String(error)).toContain('was deleted or replaced. Open the database and the store anew.')
  }
})

test('a damaged page fails the calls that read it, with the fix', () => {
  const path = newPath()
  const first = open(path)
  const limiter = limiterOn(sqliteStore({ database: first }))
  for (let n = 0; n < 500; n++) limiter.consumeSync(`${n}`)
  first.exec('PRAGMA wal_checkpoint(TRUNCATE)')
  first.close()
  const file = openSync(path, 'r+')
  for (let page = 1; page < 20; page++) writeSync(file, Buffer.alloc(4096, 0xff), 0, 4096, page * 4096)
  closeSync(file)
  const error = errorOf(() => limiterOn(sqliteStore({ database: open(path) })).consumeSync('1'))
  expect(error).toMatchObject({ code: 'HEADGATE_STORE' })
  expect(String(error)).toContain('The file is damaged')
})

test('a file that is no database, or cannot be written, is refused when the store is made', () => {
  const path = newPath()
  const file = openSync(path, 'w')
  writeSync(file, 'this is a text and no database. '.repeat(200))
  closeSync(file)
  expect(() => sqliteStore({ database: open(path) })).toThrow(
    expect.objectContaining({ code: 'HEADGATE_STORE', message: expect.stringContaining('choose another file') }),
  )
  const database = open(newPath())
  database.exec('PRAGMA query_only = true')
  expect(() => sqliteStore({ database })).toThrow(
    expect.objectContaining({ code: 'HEADGATE_STORE', message: expect.stringContaining('writable for this process') }),
  )
})

test('a file that becomes read-only counts no call, and the errors say so', () => {
  const database = open(newPath())
  const limiter = limiterOn(sqliteStore({ database }))
  limiter.consumeSync('ann')
  database.exec('PRAGMA query_only = true')
  expect(errorOf(() => limiter.consumeSync('ann'))).toMatchObject({ code: 'HEADGATE_STORE', uncounted: true })
  database.exec('PRAGMA query_only = false')
  expect(limiter.consumeSync('ann').remaining).toBe(8)
})

test('a table of another layout is refused when the store is made', () => {
  const database = open(newPath())
  sqliteStore({ database })
  database.exec("UPDATE headgate SET record = '2' WHERE key = ''")
  expect(() => sqliteStore({ database })).toThrow(
    expect.objectContaining({ code: 'HEADGATE_STORE_RECORD', message: expect.stringContaining('has layout "2"') }),
  )
})

test('a connection inside a transaction of the application fails the call, and keeps that transaction', () => {
  const database = open(newPath())
  const limiter = limiterOn(sqliteStore({ database }))
  database.exec('CREATE TABLE orders (id)')
  database.exec('BEGIN')
  database.exec('INSERT INTO orders VALUES (1)')
  expect(String(errorOf(() => limiter.consumeSync('ann')))).toContain('Give the store a connection of its own.')
  database.exec('COMMIT')
  expect(database.prepare('SELECT count(*) AS n FROM orders').get()).toMatchObject({ n: 1 })
})

test('a value of another program under a key fails that key alone, and reset mends it', async () => {
  const database = open(newPath())
  const limiter = limiterOn(sqliteStore({ database }))
  limiter.consumeSync('ann')
  database.exec("UPDATE headgate SET record = 'other' WHERE key <> ''")
  expect(errorOf(() => limiter.consumeSync('ann'))).toMatchObject({ code: 'HEADGATE_STORE_RECORD' })
  expect(limiter.consumeSync('bob').remaining).toBe(9)
  await limiter.reset('ann')
  expect(limiter.consumeSync('ann').remaining).toBe(9)
})

test.each([
  [{ database: undefined }, 'database must be an open database'],
  [{ database: {} }, 'database must be an open database'],
  [{ database: 'limits.db' }, 'database must be an open database'],
  [{ table: 'a b' }, 'table must be'],
  [{ table: '' }, 'table'],
  [{ table: 'sqlite_limits' }, 'not begin with sqlite_'],
  [{ synchronous: 'off' }, 'synchronous must be'],
])('%j is refused', (options, words) => {
  const database = open(newPath())
  expect(() => sqliteStore({ database, ...options } as never)).toThrow(
    expect.objectContaining({ code: 'HEADGATE_OPTION', message: expect.stringContaining(words) }),
  )
})

test('expired rows are deleted while others are saved', () => {
  const database = open(newPath())
  let now = Date.now() * 1000
  const store = sqliteStore({ database, clock: () => now })
  const limiter = new RateLimiter({ name: 'api', policies: '10/1s fixed-window', store })
  const rows = () => (database.prepare('SELECT count(*) AS n FROM headgate').get() as { n: number }).n
  for (let n = 0; n < 1000; n++) limiter.consumeSync(`old ${n}`)
  expect(rows()).toBe(1001)
  now += 10_000_000
  for (let n = 0; n < 1100; n++) limiter.consumeSync(`new ${n}`)
  expect(rows()).toBe(1101)
})

test.each(['order', 'Select'])('a table named %s, like a word of SQL, works', async (table) => {
  const database = open(newPath())
  const limiter = limiterOn(sqliteStore({ database, table }))
  expect(limiter.consumeSync('ann').remaining).toBe(9)
  const listed = []
  for await (const found of inspectSqlite(database, { table: table.toLowerCase() }).list()) listed.push(found)
  expect(listed).toHaveLength(1)
})

test('a table of the application is refused and stays as it was', () => {
  const database = open(newPath())
  database.exec('CREATE TABLE orders (a, b, c)')
  expect(() => sqliteStore({ database, table: 'orders' })).toThrow(expect.objectContaining({ code: 'HEADGATE_STORE' }))
  expect(database.prepare('SELECT count(*) AS n FROM orders').get()).toMatchObject({ n: 0 })
})

test('a key that is cleared between the read and the write of a call stays cleared', () => {
  const path = newPath()
  const other = open(path)
  let meanwhile = () => {}
  const clock = () => {
    meanwhile()
    return Date.now() * 1000
  }
  const limiter = limiterOn(sqliteStore({ database: open(path), clock }))
  limiter.consumeSync('ann', { cost: 5 })
  meanwhile = () => {
    meanwhile = () => {}
    other.exec("DELETE FROM headgate WHERE key <> ''")
  }
  expect(limiter.consumeSync('ann').remaining).toBe(9)
  expect(limiter.consumeSync('ann').remaining).toBe(8)
})

test('a call waits for the lock no longer than the timeout, also if another connection writes to its key meanwhile', () => {
  const path = newPath()
  const [database, other] = [open(path), open(path)]
  let held = false
  // The first save of the call waits 600 ms for the lock and finds another record. Then the lock is taken again.
  const slow = new Proxy(database, {
    get(target, name) {
      if (name !== 'prepare') {
        const member = Reflect.get(target, name)
        return typeof member === 'function' ? member.bind(target) : member
      }
      return (sql: string) => {
        const statement = target.prepare(sql)
        if (!sql.startsWith('UPDATE')) return statement
        const run = (...values: unknown[]) => {
          if (!held) return statement.run(...values)
          Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 600)
          other.exec("UPDATE headgate SET record = '[1]' WHERE key <> ''")
          const result = statement.run(...values)
          other.exec('BEGIN IMMEDIATE')
          return result
        }
        return { run } as never
      }
    },
  })
  const limiter = limiterOn(sqliteStore({ database: slow, timeout: '1s' }))
  limiter.consumeSync('ann')
  held = true
  const startedAt = performance.now()
  expect(errorOf(() => limiter.consumeSync('ann'))).toMatchObject({ code: 'HEADGATE_STORE_TIMEOUT', uncounted: true })
  expect(performance.now() - startedAt).toBeLessThan(1500)
  other.exec('ROLLBACK')
  held = false
  expect(limiter.consumeSync('ann').remaining).toBe(9)
})

test('calls in one turn of the event loop around an outage are all charged, once each', async () => {
  const path = newPath()
  const store = sqliteStore({ database: open(path), timeout: '1ms', breaker: { openFor: '1ms' } })
  const limiter = new RateLimiter({ name: 'api', policies: '100000/1d fixed-window', store })
  const other = open(path)
  let made = 0
  const consume = (calls: number) => {
    for (let n = 0; n < calls; n++) made += limiter.consumeSync('ann').allowed ? 1 : 0
  }
  for (let round = 0; round < 5; round++) {
    consume(20)
    other.exec('BEGIN IMMEDIATE')
    consume(20)
    other.exec('ROLLBACK')
    await new Promise((wake) => setTimeout(wake, 5))
    consume(20)
    await Promise.resolve()
    consume(20)
  }
  for (let n = 0; n < 500 && limiter.health().owing !== 0; n++) {
    await new Promise((wake) => setTimeout(wake, 5))
    consume(1)
    await limiter.peek('ann')
  }
  const { source, policies } = await limiter.peek('ann')
  expect([source, policies[0]?.used]).toEqual(['store', made])
})

test('a database that was closed fails the calls after that, which did not count', async () => {
  const database = open(newPath())
  const limiter = limiterOn(sqliteStore({ database }))
  limiter.consumeSync('ann')
  database.close()
  const error = errorOf(() => limiter.consumeSync('ann'))
  expect(error).toMatchObject({ code: 'HEADGATE_STORE', uncounted: true })
  expect(String(error)).toContain('The database is closed.')
  await expect(limiter.peek('ann')).rejects.toMatchObject({ code: 'HEADGATE_STORE' })
  await expect(limiter.reset('ann')).rejects.toMatchObject({ code: 'HEADGATE_STORE' })
})

describe('a middleware on a file that is locked', () => {
  test.each([
    ['closed', 503, []],
    ['open', 200, []],
    [({ key }: { key: unknown }) => void seen.push(String(key)), 200, ['127.0.0.1']],
  ] as const)('onStoreError %s responds with %i', async (onStoreError, status, reported) => {
    seen.length = 0
    const path = newPath()
    const store = sqliteStore({ database: open(path), timeout: '1ms' })
    const app = express().use(rateLimit({ name: 'api', policies: '10/1h', store, onStoreError }))
    app.get('/', (_, response) => void response.send('ok'))
    const server = app.listen(0, '127.0.0.1')
    onTestFinished(() => void server.close())
    await new Promise((listening) => server.once('listening', listening))
    open(path).exec('BEGIN IMMEDIATE')
    const { port } = server.address() as { port: number }
    expect((await fetch(`http://127.0.0.1:${port}/`)).status).toBe(status)
    expect(seen).toEqual(reported)
  })

  const seen: string[] = []
})

test('a pacer books no slots beyond its horizon, because other processes book in the file too', async () => {
  const database = open(newPath())
  const store = sqliteStore({ database })
  const pacer = new Pacer({ name: 'calls', policies: '1/1s fixed-window', store, horizon: '2s' })
  const stopped = new AbortController()
  const calls = Array.from({ length: 20 }, () => pacer.acquire(1, { signal: stopped.signal }).catch(() => 'stopped'))
  await calls[0]
  const other = new Pacer({ name: 'calls', policies: '1/1s fixed-window', store: sqliteStore({ database }) })
  const waited = await other.tryAcquire(1, { timeout: 6000 })
  expect(waited).not.toBe(false)
  stopped.abort()
  await Promise.all(calls)
})
