import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fixedWindow, RateLimiter } from 'headgate'
import { sqliteStore } from 'headgate/sqlite'
import Database from 'libsql'
import { RateLimiterSQLite } from 'rate-limiter-flexible'
import { defineSuite } from '../lib/suite.mjs'

const limit = 1_000_000
const keys = 10_000
/** Calls of one batch, and of the warm-up. A sync of the disk makes the slow mode far slower. */
const calls = { normal: 30_000, full: 4000 }
const batches = 3

/** Each gets a database, and returns a function that makes one call for a key. */
const targets = {
  'a counter in a transaction'(database) {
    database.exec('CREATE TABLE counters (key TEXT PRIMARY KEY, count INTEGER NOT NULL) WITHOUT ROWID')
    const begin = database.prepare('BEGIN IMMEDIATE')
    const count = database.prepare(
      'INSERT INTO counters VALUES (?, 1) ON CONFLICT (key) DO UPDATE SET count = count + 1 RETURNING count',
    )
    const commit = database.prepare('COMMIT')
    return (key) => {
      begin.run()
      const found = count.get(key)
      commit.run()
      return found.count <= limit
    }
  },
  'headgate fixedWindow'(database, synchronous) {
    const store = sqliteStore({ database, synchronous, timeout: '30s' })
    const policies = fixedWindow({ limit, window: '1h' })
    const limiter = new RateLimiter({ name: 'bench', policies, store, onStoreError: 'throw' })
    return (key) => limiter.consumeSync(key).allowed
  },
  async 'rate-limiter-flexible'(database) {
    const limiter = await new Promise((resolve, reject) => {
      const options = {
        storeClient: database,
        storeType: 'better-sqlite3',
        tableName: 'limits',
        points: limit,
        duration: 3600,
      }
      const made = new RateLimiterSQLite(options, (error) =>
        error ? reject(error) : setImmediate(() => resolve(made)),
      )
    })
    return async (key) => (await limiter.consume(key)).remainingPoints >= 0
  },
}

async function traffic(mode, make) {
  const folder = mkdtempSync(join(tmpdir(), 'headgate-bench-'))
  const database = new Database(join(folder, 'limits.db'))
  database.exec('PRAGMA journal_mode = WAL')
  database.exec(`PRAGMA synchronous = ${mode}`)
  const ask = await make(database, mode)
  let asked = 0
  const run = async (count) => {
    for (let left = count; left > 0; left--) {
      const allowed = ask(`user-${asked++ % keys}`)
      if (!(typeof allowed === 'boolean' ? allowed : await allowed)) throw new Error('refused')
    }
  }
  await run(calls[mode])
  const measured = []
  for (let batch = 0; batch < batches; batch++) {
    const [start, own] = [performance.now(), process.cpuUsage()]
    await run(calls[mode])
    const wall = performance.now() - start
    const { user, system } = process.cpuUsage(own)
    measured.push({ us: (wall * 1000) / calls[mode], cpuUs: (user + system) / calls[mode] })
  }
  database.close()
  rmSync(folder, { recursive: true })
  return measured.sort((a, b) => a.cpuUs - b.cpuUs)[Math.floor(batches / 2)]
}

const nameOf = (mode) => `SQLite, synchronous ${mode}, 10,000 keys`
const kindOf = (target) => (target.startsWith('headgate') ? 'headgate' : target.startsWith('a ') ? 'floor' : 'peer')

export default defineSuite({
  name: 'sqlite',
  title: 'Decisions in a file of SQLite',
  rounds: 5,
  workloads: Object.keys(calls).map((mode) => ({
    name: nameOf(mode),
    metric: 'cpuUs',
    columns: [
      { metric: 'cpuUs', label: 'CPU us' },
      { metric: 'us', label: 'us' },
    ],
    ratio: { to: 'a counter in a transaction', label: 'CPU, to a counter in a transaction' },
  })),
  cases: Object.keys(calls).flatMap((mode) =>
    Object.entries(targets).map(([target, make]) => ({
      workload: nameOf(mode),
      target,
      kind: kindOf(target),
      measure: () => traffic(mode, make),
    })),
  ),
})
