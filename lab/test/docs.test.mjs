import { copyFileSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { RateLimiter } from 'headgate'
import { postgresStore } from 'headgate/postgres'
import { redisStore } from 'headgate/redis'
import { sqliteStore } from 'headgate/sqlite'
import { Redis } from 'ioredis'
import Database from 'libsql'
import pg from 'pg'
import { afterAll, beforeEach, expect, test } from 'vitest'
import { startPostgres } from '../../test/support/postgres-server.ts'
import { startRedis } from '../../test/support/redis-server.ts'
import { madeLog, runLab } from './support/run-lab.mjs'

const page = readFileSync(new URL('../../docs/lab.md', import.meta.url), 'utf8')
const lines = [...page.matchAll(/^npx headgate-lab (.+)$/gm)].map(([, line]) => line)

const home = mkdtempSync(join(tmpdir(), 'headgate-lab-'))
afterAll(() => rmSync(home, { recursive: true, force: true }))

/** The servers and the file that the examples name. */
const redisServer = await startRedis()
const postgresServer = await startPostgres()
const urls = {
  'redis://localhost': `redis://127.0.0.1:${redisServer.port}`,
  'postgres://localhost/app': `postgres://headgate@127.0.0.1:${postgresServer.port}/postgres`,
  'limits.db': join(home, 'limits.db'),
}
const client = new Redis(redisServer.port).on('error', () => {})
const pool = new pg.Pool(postgresServer.config)
const database = new Database(urls['limits.db'])
afterAll(async () => {
  client.disconnect()
  database.close()
  await pool.end()
  await Promise.all([redisServer.stop(), postgresServer.stop()])
})

/** A client that is limited, as the examples show it. */
beforeEach(async () => {
  const postgres = postgresStore({ pool, timeout: '10s' })
  await postgres.migrate()
  for (const store of [redisStore({ client, timeout: '10s' }), postgres, sqliteStore({ database, timeout: '10s' })]) {
    await new RateLimiter({ name: 'api', policies: '100/15m', store }).charge('203.0.113.7', { cost: 100 })
  }
})

copyFileSync(madeLog, join(home, 'access.log'))
for (const [name, policy] of Object.entries({ policies: '20/1m', old: '20/1m', new: '15/1m' })) {
  writeFileSync(join(home, `${name}.json`), JSON.stringify({ limiters: { api: policy } }))
}
writeFileSync(join(home, 'access.json'), '{"ts":1772701687,"peer":{"ip":"198.51.100.1"}}\n')

/** The words of a command line, without a shell. */
function words(line) {
  return [...line.matchAll(/'([^']*)'|(\S+)/g)].map(([, quoted, plain]) => quoted ?? plain)
}

test.each(lines)('the example runs: headgate-lab %s', async (line) => {
  const args = words(line).map((word) => urls[word] ?? (/^\w+\.(log|json)$/.test(word) ? join(home, word) : word))
  const { code, stderr } = await runLab(args)
  expect([code, stderr]).toEqual([0, ''])
})

test('the page has examples', () => {
  expect(lines.length).toBeGreaterThan(5)
})
