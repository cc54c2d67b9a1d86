import { closeSync, openSync, rmSync, writeSync } from 'node:fs'
import { join } from 'node:path'
import { createClient } from '@libsql/client'
import Database from 'libsql'
import { expect, onTestFinished, test } from 'vitest'
import { RateLimiter } from '../../src/index.ts'
import { sqliteStore } from '../../src/stores/sqlite/index.ts'
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
  expect(error).toMatchObject({ code: 'HEADGATE_STORE' })
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
  for (let n = 0; n < 400; n++) limiter.consumeSync(`new ${n}`)
  expect(rows()).toBe(401)
})
