import { spawn } from 'node:child_process'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { policy, RateLimiter, slidingLog, tokenBucket } from 'headgate'
import { postgresStore } from 'headgate/postgres'
import { redisStore } from 'headgate/redis'
import { sqliteStore } from 'headgate/sqlite'
import { Redis } from 'ioredis'
import Database from 'libsql'
import pg from 'pg'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { freePort } from '../../test/support/ports.ts'
import { startPostgres } from '../../test/support/postgres-server.ts'
import { startCluster, startRedis } from '../../test/support/redis-server.ts'
import { main, onTerminal, resultOf, runLab } from './support/run-lab.mjs'

const redisServer = await startRedis()
const postgresServer = await startPostgres()
const client = new Redis(redisServer.port)
const pool = new pg.Pool(postgresServer.config)
const redisUrl = `redis://127.0.0.1:${redisServer.port}`
const sqlitePath = join(mkdtempSync(join(tmpdir(), 'headgate-lab-')), 'limits.db')
const database = new Database(sqlitePath)
const postgresUrl = `postgres://headgate@127.0.0.1:${postgresServer.port}/postgres`
afterAll(async () => {
  client.disconnect()
  await pool.end()
  database.close()
  rmSync(dirname(sqlitePath), { recursive: true })
  await Promise.all([redisServer.stop(), postgresServer.stop()])
})

/** Keys that a terminal, a shell or a pattern could take for something else, and what is shown of them. */
const odd = {
  '#general': '#general',
  '-rf': '-rf',
  '*': '*',
  'a:b c': 'a:b c',
  'new\nline': 'new\\u{a}line',
  'half\ud800': 'half\\u{d800}',
  '日本語 👾': '日本語 👾',
  '': '(empty)',
}
const long = 'k'.repeat(400)

const evil = 'evil\u001b[2J\u202e key'

async function fill(store) {
  const limiter = new RateLimiter({
    name: 'api',
    policies: [policy('3/1h', { scope: 'user' }), slidingLog({ name: 'own', limit: 10, window: '1d', scope: 'user' })],
    // Shorter than any wait for the window, whatever the time of the hour.
    penalty: { after: 2, within: '1h', ban: '10m' },
    store,
  })
  for (let n = 0; n < 30; n++) await limiter.consume(`user${n}`, { cost: 1 + (n % 3) })
  for (let n = 0; n < 6; n++) await limiter.consume('ann')
  await limiter.consume(evil)
  await limiter.consume(long)
  await new RateLimiter({ name: 'login', policies: tokenBucket({ limit: 10, window: '1h' }), store }).consume('ann', {
    cost: 4,
  })
}

async function fillOdd(store) {
  const limiter = new RateLimiter({ name: 'odd', policies: '3/1h', store })
  for (const key of Object.keys(odd)) await limiter.consume(key)
  await new RateLimiter({ name: 'chat', policies: '3/1h', store }).consume('b c') // the end of another key
}

/** A limiter with banned keys, by the kind of its store. */
const limiters = new Map()

async function ban(kind, store) {
  const limiter = new RateLimiter({
    name: 'banned',
    policies: policy('3/1h', { scope: 'user' }),
    penalty: { after: 1, within: '1h', ban: '30m' },
    store,
  })
  limiters.set(kind, limiter)
  await limiter.consume('mallory')
  await limiter.ban('mallory', '1h', { reason: 'evil\u001b[2J\u202e reason' })
  await limiter.ban('trent', Infinity)
  await limiter.consume('oscar', { cost: 3 })
  await limiter.consume('oscar')
}

beforeAll(async () => {
  await fill(redisStore({ client, timeout: '10s' }))
  await fillOdd(redisStore({ client, timeout: '10s' }))
  await ban('redis', redisStore({ client, timeout: '10s' }))
  const store = postgresStore({ pool, timeout: '10s' })
  await store.migrate()
  await fill(store)
  await fillOdd(store)
  await ban('postgres', store)
  const file = sqliteStore({ database, timeout: '10s' })
  await fill(file)
  await fillOdd(file)
  await ban('sqlite', file)
})

const stores = [
  ['redis', redisUrl],
  ['postgres', postgresUrl],
  ['sqlite', sqlitePath],
]

describe.each(stores)('%s', (kind, url) => {
  test('top shows who is refused, by what, and how much is used', async () => {
    const { keys, refused, top } = await resultOf([kind, url, 'top', '--limit', '3', '--limiter', 'api'])
    expect([keys, refused, top.length]).toEqual([33, 11, 3])
    expect(top[0]).toMatchObject({ limiter: 'api', scope: 'user', refused: true })
    expect(top[0].policy.name).toBe('1h')
    const { stdout } = await runLab([kind, url, 'top', '--by', 'ban', '--limiter', 'api'])
    expect(stdout).toMatch(/used ago\n +api +user +ann +banned/)
    expect(stdout.split('\n').find((line) => line.includes('ann'))).toMatch(/100\.00 %/)
  })

  test('list shows keys as they are: hostile ones escaped, long ones hashed', async () => {
    const { stdout } = await runLab([kind, url, 'list', '--limit', '100'])
    expect(stdout).toContain('evil\\u{1b}[2J\\u{202e} key')
    expect(stdout).toMatch(/#[\w-]{30}.* \(hashed\)/)
    expect(stdout).not.toContain('\u001b')
    const { keys } = await resultOf([kind, url, 'list', '--refused', '--limiter', 'api', '--limit', '5'])
    expect(keys.map((row) => row.refused)).toEqual([true, true, true, true, true])
  })

  test('inspect shows each policy of a key in a sentence, without knowing the policies', async () => {
    const { stdout, code } = await runLab([kind, url, 'inspect', 'ann', '--limiter', 'api'])
    expect(code).toBe(0)
    expect(stdout).toContain('3 of 3 units are used')
    expect(stdout).toContain('3 of 10 units are used in the last 1 d')
    expect(stdout).toContain('Banned for')
    const { keys } = await resultOf([kind, url, 'inspect', 'ann'])
    expect(keys.map(({ limiter }) => limiter).sort()).toEqual(['api', 'login'])
    expect((await runLab([kind, url, 'inspect', 'nobody'])).code).toBe(1)
    expect((await resultOf([kind, url, 'inspect', evil])).keys).toHaveLength(1)
  })

  test('any key is shown and found, also a hashed one by the key itself', async () => {
    const { stdout } = await runLab([kind, url, 'list', '--limiter', 'odd'])
    const columns = stdout.split('\n').filter((line) => line.startsWith('  odd'))
    expect(columns.map((line) => line.split(/ {2,}/)[3]).sort()).toEqual(Object.values(odd).sort())
    for (const key of Object.keys(odd).filter((each) => each !== 'half\ud800')) {
      const inspected = await runLab([kind, url, 'inspect', '--json', '--limiter', 'odd', '--', key])
      const { keys } = JSON.parse(inspected.stdout)
      expect([key, keys.map((found) => found.key)]).toEqual([key, [key]])
    }
    expect((await resultOf([kind, url, 'inspect', 'b c'])).keys.map(({ limiter }) => limiter)).toEqual(['chat'])
    const [{ hash, key }] = (await resultOf([kind, url, 'inspect', long])).keys
    expect([hash.length, key]).toEqual([44, undefined])
    expect((await resultOf([kind, url, 'inspect', hash])).keys).toHaveLength(1)
  })

  test('a table fits into a narrow terminal, by columns and not by characters', async () => {
    const { output } = await onTerminal([kind, url, 'list', '--limiter', 'odd'], {}, 'stty cols 76; ')
    const rows = output.split(/\r?\n/).filter((line) => line.startsWith('  odd'))
    expect(rows).toHaveLength(Object.keys(odd).length)
    // Each of these three letters, and the picture, takes two columns.
    for (const row of rows) expect(row.length + (row.match(/[日本語]/gu)?.length ?? 0)).toBeLessThanOrEqual(76)
    const ends = rows.map((row) => row.indexOf('admitted') + (row.match(/[日本語]/gu)?.length ?? 0))
    expect(new Set(ends).size).toBe(1)
  })

  test('a reader that closes the pipe early is no error', async () => {
    for (const action of ['list', 'watch --frames 3 --every 1']) {
      const child = spawn('sh', ['-c', `"${process.execPath}" "${main}" ${kind} "${url}" ${action} | head -1`])
      let [stdout, stderr] = ['', '']
      child.stdout.setEncoding('utf8').on('data', (text) => (stdout += text))
      child.stderr.setEncoding('utf8').on('data', (text) => (stderr += text))
      await new Promise((resolve) => child.on('close', resolve))
      expect([stdout.split('\n').length, stderr]).toEqual([2, ''])
    }
  })

  test('no keys are a sentence that names the prefix', async () => {
    const { code, stdout } = await runLab([kind, url, 'top', '--prefix', 'other'])
    expect([code, stdout]).toEqual([0, expect.stringContaining('\nNo keys found under the prefix "other".')])
  })

  test('reset deletes only with --yes or after a question', async () => {
    const refused = await runLab([kind, url, 'reset', 'user7'])
    expect([refused.code, refused.stderr]).toEqual([
      2,
      'reset asks first, and there is no terminal to ask. Add --yes.\n',
    ])
    const no = await onTerminal([kind, url, 'reset', 'user7'], { '[y/N]': 'n\r' })
    expect([no.code, no.output.includes('Nothing was changed.')]).toEqual([1, true])
    const yes = await onTerminal([kind, url, 'reset', 'user7'], { '[y/N]': 'y\r' })
    expect([yes.code, yes.output.includes('Deleted headgate:api:user:')]).toEqual([0, true])
    const { deleted } = await resultOf([kind, url, 'reset', 'user8', '--yes'])
    expect(deleted).toHaveLength(1)
    expect((await runLab([kind, url, 'inspect', 'user8'])).code).toBe(1)
    expect((await runLab([kind, url, 'reset', 'user8', '--yes'])).code).toBe(1)
  })

  test('banned keys are shown with their reason, also those that have nothing else', async () => {
    const { stdout } = await runLab([kind, url, 'list', '--refused', '--limiter', 'banned'])
    expect(stdout).toMatch(/banned +user +mallory +banned (1 h|60 m|5\d(\.\d)? m) +by hand/)
    expect(stdout).toMatch(/banned +user +trent +banned +by hand/)
    const { top } = await resultOf([kind, url, 'top', '--limiter', 'banned', '--by', 'ban'])
    expect(top.map(({ key, bannedFor }) => [key, bannedFor > 3_000_000])).toEqual([
      ['trent', false], // no end is null in JSON
      ['mallory', true],
      ['oscar', false], // for 30 minutes by a penalty
    ])
    const inspected = await runLab([kind, url, 'inspect', 'mallory'])
    expect(inspected.stdout).toMatch(
      /Banned by hand for (1 h|60 m|5\d m( \d+ s)?) more: "evil\\u001b\[2J\\u\{202e\} reason"\./,
    )
    expect(inspected.stdout).toContain('1 of 3 units is used')
    expect((await runLab([kind, url, 'inspect', 'trent'])).stdout).toContain('Banned by hand until the ban is lifted.')
  })

  test('unban lifts a ban by hand or by a penalty, and nothing else', async () => {
    const asks = await runLab([kind, url, 'unban', 'mallory'])
    expect([asks.code, asks.stderr]).toEqual([2, 'unban asks first, and there is no terminal to ask. Add --yes.\n'])
    const no = await onTerminal([kind, url, 'unban', 'mallory'], { '[y/N]': 'n\r' })
    expect([no.code, no.output.includes('Nothing was changed.')]).toEqual([1, true])
    const yes = await onTerminal([kind, url, 'unban', 'mallory'], { '[y/N]': 'y\r' })
    expect([yes.code, yes.output.includes('Unbanned headgate:banned:user:')]).toEqual([0, true])
    const limiter = limiters.get(kind)
    expect(await limiter.peek('mallory')).toMatchObject({ allowed: true, remaining: 2 })
    expect((await resultOf([kind, url, 'unban', 'trent', '--yes'])).unbanned).toHaveLength(1)
    expect(await limiter.peek('trent')).toMatchObject({ allowed: true, remaining: 3 })
    expect((await resultOf([kind, url, 'unban', 'oscar', '--limiter', 'banned', '--yes'])).unbanned).toHaveLength(1)
    const { inspection } = (await resultOf([kind, url, 'inspect', 'oscar'])).keys[0]
    expect(inspection.words).toMatch(/^Refused for .* more by the policy "1h"\.$/)
    const again = await runLab([kind, url, 'unban', 'mallory', '--yes'])
    expect([again.code, again.stdout]).toEqual([1, 'The key is not banned. Nothing was changed.\n'])
    const nobody = await runLab([kind, url, 'unban', 'nobody', '--yes'])
    expect([nobody.code, nobody.stdout]).toEqual([1, 'There is no such key. Nothing was changed.\n'])
  })

  test('watch draws in place on a terminal, and ends on q and on Ctrl-C', async () => {
    for (const key of ['q', '\u0003']) {
      const { code, output } = await onTerminal([kind, url, 'watch', '--every', '1'], { 'q quit': key })
      expect(code).toBe(0)
      expect(output).toContain('\u001b[?1049h')
      expect(output.trimEnd().endsWith('\u001b[?25h\u001b[?1049l')).toBe(true)
      expect(output).toMatch(/refused +\d+ +[▁-█]/)
    }
  })

  test('on a terminal, top --json says on the way how many keys it has found', async () => {
    const { code, output } = await onTerminal([kind, url, 'top', '--json', '--limit', '1'], {})
    expect([code, output.includes('keys so far')]).toEqual([0, true])
    expect(output).toContain('"refused":')
  })

  test('ban refuses a key for a time, by a reason, also a key that has never called', async () => {
    const limiter = limiters.get(kind)
    const asked = await onTerminal(
      [kind, url, 'ban', 'peggy', '--for', '1h', '--limiter', 'banned', '--scope', 'user'],
      {
        '[y/N]': 'n\r',
      },
    )
    expect([asked.code, (await limiter.peek('peggy')).allowed]).toEqual([1, true])
    const args = ['ban', 'peggy', '--for', '1h', '--reason', 'scans', '--limiter', 'banned', '--scope', 'user', '--yes']
    expect((await runLab([kind, url, ...args])).code).toBe(0)
    const { allowed, ban: found, retryAfter } = await limiter.consume('peggy')
    expect([allowed, found?.reason, retryAfter > 3_590_000 && retryAfter <= 3_600_000]).toEqual([false, 'scans', true])
    await limiter.consume('victor')
    expect((await resultOf([kind, url, 'ban', 'victor', '--for', 'forever', '--yes'])).banned).toHaveLength(1)
    expect(await limiter.peek('victor')).toMatchObject({ allowed: false, retryAfter: Infinity, remaining: 0 })
    // A key of two scopes of one limiter is banned in both.
    const both = new RateLimiter({
      name: `both ${kind}`,
      policies: [policy('5/1h', { scope: 'user' }), policy('9/1h', { name: 'of-tenants', scope: 'tenant' })],
      store: limiter.store,
    })
    await both.consume({ user: 'trudy', tenant: 'trudy' })
    const twice = await resultOf([kind, url, 'ban', 'trudy', '--for', '1h', '--limiter', both.name, '--yes'])
    expect(twice.banned).toHaveLength(2)
    await both.reset({ user: 'trudy', tenant: 'trudy' })
    // Of a long key that has called, the store has only a hash.
    const token = 'x'.repeat(500)
    await limiter.consume(token)
    const named = ['ban', token, '--for', '1h', '--limiter', 'banned', '--scope', 'user', '--yes']
    expect((await runLab([kind, url, ...named])).code).toBe(0)
    expect((await limiter.peek(token)).allowed).toBe(false)
    const [{ hash }] = (await resultOf([kind, url, 'inspect', token])).keys
    await says(kind, [url, 'ban', hash, '--for', '1h', '--yes'], 'The store has only a hash of this key.')
    for (const key of ['peggy', 'victor', token]) await limiter.reset(key)
    await says(kind, [url, 'ban', 'ann'], 'ban needs a time.')
    await says(kind, [url, 'ban', 'ann', '--for', 'long', '--limiter', 'api', '--scope', 'user', '--yes'], 'ban')
    await says(kind, [url, 'ban', 'nobody', '--for', '1h', '--yes'], 'There is no such key yet. Name the limiter')
  })

  test('on a terminal, keys find, explain, ban and unban a key', async () => {
    const limiter = limiters.get(kind)
    await limiter.consume('walter')
    const { code, output } = await onTerminal(
      [kind, url, 'top', '--limiter', 'banned', '--every', '60'],
      [
        ['q quit', '/'],
        ['Find keys with', 'walter\r'],
        ['with walter', '\r'],
        ['1 of 3 units is used', ' '],
        ['q quit', 'b'],
        ['Ban walter for: 1h', '\b\b2h\r'],
        ['Banned walter.', 'u'],
        ['Unban walter?', '\r'],
        ['Unbanned walter.', 'q'],
      ],
    )
    expect([code, output.includes('banned 2 h')]).toEqual([0, true])
    expect(await limiter.peek('walter')).toMatchObject({ allowed: true, remaining: 2 })
    await limiter.reset('walter')
  })

  test('watch without a terminal prints one frame, or as many as it is told', async () => {
    const once = await runLab([kind, url, 'watch'])
    expect([once.code, once.stdout.includes('\u001b')]).toEqual([0, false])
    const { stdout } = await runLab([kind, url, 'watch', '--frames', '2', '--every', '1', '--json'])
    const frames = stdout
      .trim()
      .split('\n')
      .map((line) => JSON.parse(line))
    expect(frames.map(({ keys }) => keys > 20)).toEqual([true, true])
  })

  test('check finds everything in order', async () => {
    const { code, stdout } = await runLab([kind, url, 'check'])
    expect(stdout).not.toMatch(/warning|PROBLEM/)
    expect([code, stdout.includes(kind === 'sqlite' ? 'ok       file' : 'ok       clock')]).toEqual([0, true])
  })

  test.concurrent.each([
    [[url], 'No action is given. The actions are top, list,'],
    [[url, 'tpo'], 'has no action "tpo".'],
    [[url, 'inspect'], 'inspect needs a key.'],
    [[url, 'top', 'ann'], 'top takes no key, got "ann".'],
    [[url, 'top', '--limit', '0'], '--limit must be a whole number from 1'],
    [[url, 'top', '--by', 'name'], '--by must be one of refused, share, ban'],
    [[url, 'watch', '--every', '0'], '--every must be'],
    [[url, 'top', '--polcy', 'x'], "Unknown option '--polcy'"],
    [[url, 'top', '--prefix', 'a b'], 'prefix must be 1 to 128 letters, digits and _ . / -'],
    [[url, 'inspect', '-rf'], 'A key that begins with a dash stands after --, at the end.'],
  ])('%j says what is right', (args, expected) => says(kind, args, expected))
})

test.concurrent.each([
  [[], 'No file is given. Write: headgate-lab sqlite limits.db top'],
  [['/nowhere/limits.db', 'top'], 'There is no file /nowhere/limits.db.'],
  [['/', 'top'], '/ cannot be read: '],
  [[sqlitePath, 'top', '--table', 'other'], 'The file has no table other'],
  [[main, 'top'], 'cannot be read: file is not a database.'],
])('sqlite %j says what is right', (args, expected) => says('sqlite', args, expected))

async function says(kind, args, expected) {
  const { code, stdout, stderr } = await runLab([kind, ...args])
  expect(stderr).toContain(expected)
  expect([code, stdout, stderr.includes('    at ')]).toEqual([2, '', false])
}

describe.each(stores.slice(0, 2))('%s', (kind) => {
  test('a server that is not there is a sentence and code 2, without the password', async () => {
    const away = `${kind}://someone:secret@127.0.0.1:${await freePort()}`
    const { code, stdout, stderr } = await runLab([kind, away, 'top'])
    expect([code, stdout]).toEqual([2, ''])
    expect(stderr).toMatch(/cannot be used: .*(ECONNREFUSED|refused).*Check the URL/)
    expect(stderr).not.toMatch(/secret| {4}at /)
  })

  test.concurrent.each([
    [[], 'No connection string is given. Write: headgate-lab'],
    [['nonsense', 'top'], 'takes a connection string that begins with'],
    [
      [`${kind}://someone:p#ss@127.0.0.1/x`, 'top'],
      'The connection string cannot be read. Check the port. In a password, write # as %23',
    ],
  ])('%j says what is right', (args, expected) => says(kind, args, expected))
})

describe('check of redis', () => {
  test('finds foreign values, keys that never expire, eviction, and tells that a script is not loaded', async () => {
    const server = await startRedis('--maxmemory', '100mb', '--maxmemory-policy', 'allkeys-lru')
    await server.command('SET', 'headgate:api:{ann}', 'hello')
    await server.command('LPUSH', 'headgate:api:{list}', 'x')
    const { code, stdout } = await runLab(['redis', `redis://127.0.0.1:${server.port}`, 'check'])
    expect(code).toBe(1)
    expect(stdout).toMatch(/PROBLEM {2}layout +2 keys, 5 bytes; 2 cannot be read, such as headgate:api:\{(ann|list)\}/)
    expect(stdout).toMatch(/warning {2}expiry +2 keys never expire/)
    expect(stdout).toMatch(/warning {2}eviction +allkeys-lru/)
    expect(stdout).toMatch(/ok {7}script +no call has needed the whole script of this version yet/)
    await server.stop()
  })

  test('finds the commands that a user may not use', async () => {
    await client.call(
      'ACL',
      'SETUSER',
      'op',
      'on',
      '>pw',
      '~headgate:*',
      '+scan',
      '+eval',
      '+mget',
      '+time',
      '+ping',
      '+info',
    )
    const { code, stdout } = await runLab(['redis', redisUrl.replace('//', '//op:pw@'), 'check'])
    expect(code).toBe(1)
    expect(stdout).toMatch(/PROBLEM {2}commands +EVALSHA: NOPERM.*SET: NOPERM/)
    expect(stdout).toContain('-> ACL SETUSER <user> ~headgate:* +evalsha')
    const none = await runLab(['redis', redisUrl.replace('//', '//op:wrong@'), 'top'])
    expect([none.code, none.stderr]).toEqual([2, expect.stringContaining('WRONGPASS')])
    await client.call('ACL', 'SETUSER', 'op', '-scan')
    const noScan = await runLab(['redis', redisUrl.replace('//', '//op:pw@'), 'top'])
    expect([noScan.code, noScan.stderr]).toEqual([2, expect.stringMatching(/^Redis failed: .*docs\/redis.md/)])
  })

  test('a database that is not there is an error, and not the first database', async () => {
    const { code, stdout, stderr } = await runLab(['redis', `${redisUrl}/99`, 'top'])
    expect([code, stdout]).toEqual([2, ''])
    expect(stderr).toMatch(/^Redis at 127\.0\.0\.1:\d+ cannot be used: ERR DB index is out of range\. Check the URL/)
    expect((await resultOf(['redis', `${redisUrl}/5`, 'top'])).keys).toBe(0)
  })

  test('goes through all masters of a Cluster', async () => {
    const cluster = await startCluster()
    const { Cluster } = await import('ioredis')
    const own = new Cluster([{ host: '127.0.0.1', port: cluster.nodes[0].port }])
    await fill(redisStore({ client: own, timeout: '10s' }))
    own.disconnect()
    const url = `redis://127.0.0.1:${cluster.nodes[1].port}`
    expect((await resultOf(['redis', url, 'top', '--limiter', 'api'])).keys).toBe(33)
    const { stdout } = await runLab(['redis', url, 'check'])
    expect(stdout).toMatch(/ok +server +Redis .*, in a Cluster/)
    expect(stdout).not.toContain('PROBLEM')
    await cluster.stop()
  })
})

test('check of postgres finds a missing table and missing rights', async () => {
  const missing = await runLab(['postgres', postgresUrl, 'check', '--table', 'nothing'])
  expect([missing.code, missing.stdout.includes('PROBLEM  table     there is no table nothing')]).toEqual([1, true])
  await pool.query('create role reader login; grant select on headgate to reader')
  const { code, stdout } = await runLab(['postgres', postgresUrl.replace('headgate@', 'reader@'), 'check'])
  expect([code, stdout.includes('INSERT, UPDATE, DELETE are missing')]).toEqual([1, true])
  expect((await resultOf(['postgres', postgresUrl.replace('headgate@', 'reader@'), 'top'])).keys).toBeGreaterThan(20)
  await pool.query('create role nobody login')
  const none = await runLab(['postgres', postgresUrl.replace('headgate@', 'nobody@'), 'check'])
  expect([none.code, none.stderr]).toEqual([1, ''])
  expect(none.stdout).toMatch(/PROBLEM {2}rights +SELECT, INSERT, UPDATE, DELETE are missing/)
})
