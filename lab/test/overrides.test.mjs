/* Overrides that an operator lists, writes and removes, seen from a limiter of the application on the same store. */
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { policy, RateLimiter } from 'headgate'
import { postgresStore } from 'headgate/postgres'
import { redisStore } from 'headgate/redis'
import { sqliteStore } from 'headgate/sqlite'
import { Redis } from 'ioredis'
import Database from 'libsql'
import pg from 'pg'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { startPostgres } from '../../test/support/postgres-server.ts'
import { startRedis } from '../../test/support/redis-server.ts'
import { onTerminal, resultOf, runLab } from './support/run-lab.mjs'

const redisServer = await startRedis()
const postgresServer = await startPostgres()
const client = new Redis(redisServer.port)
const pool = new pg.Pool(postgresServer.config)
const folder = mkdtempSync(join(tmpdir(), 'headgate-lab-'))
const database = new Database(join(folder, 'limits.db'))
const file = join(folder, 'policies.json')
const limiters = []

const stores = [
  ['redis', `redis://127.0.0.1:${redisServer.port}`, () => redisStore({ client, timeout: '10s' })],
  [
    'postgres',
    `postgres://headgate@127.0.0.1:${postgresServer.port}/postgres`,
    () => postgresStore({ pool, timeout: '10s' }),
  ],
  ['sqlite', join(folder, 'limits.db'), () => sqliteStore({ database, timeout: '10s' })],
]

beforeAll(async () => {
  await postgresStore({ pool, timeout: '10s' }).migrate()
  const limits = ['10/1d', { algorithm: 'calendar', name: 'monthly', limit: 100, every: 'month', scope: 'user' }]
  writeFileSync(file, JSON.stringify({ limiters: { api: limits } }))
})

afterAll(async () => {
  for (const limiter of limiters) limiter.close()
  client.disconnect()
  await pool.end()
  database.close()
  rmSync(folder, { recursive: true })
  await Promise.all([redisServer.stop(), postgresServer.stop()])
})

/** The day on which the overrides of these tests end, which is far away. */
const until = '2100-06-01'
const ends = Date.UTC(2100, 5, 1)

describe.each(stores)('%s', (kind, url, makeStore) => {
  const lab = (...args) => runLab([kind, url, ...args])

  /** A limiter of the application, with a name of its own for each test, and a key in the store. */
  async function application(name, policies = policy('10/1d', { name: 'daily-calls', scope: 'user' }), key = 'ann') {
    const limiter = new RateLimiter({ name, policies, store: makeStore(), storeTimeout: '10s' })
    limiters.push(limiter)
    await limiter.consume(key)
    return limiter
  }

  /** Waits until the application has read the overrides. */
  const limitOf = async (limiter, key, limit) => {
    await expect.poll(async () => (await limiter.peek(key)).limit, { timeout: 5000, interval: 20 }).toBe(limit)
  }

  test('an override holds in the application, is listed there and here, and ends when it is removed', async () => {
    const api = await application('written')
    const args = ['--limiter', 'written', '--policy', 'daily-calls', '--limit', '50000', '--until', until]
    const written = await lab('override', 'ann', ...args, '--reason', 'evil\u001b[2J reason', '--yes')
    expect([written.code, written.stderr]).toEqual([0, ''])
    expect(written.stdout).toContain('Override 1 of written is written')
    await limitOf(api, 'ann', 50_000)
    expect(await api.consume('ann')).toMatchObject({ override: [{ id: '1', reason: 'evil\u001b[2J reason' }] })
    await limitOf(api, 'bob', 10)
    expect(await api.overrides()).toMatchObject([{ id: '1', scope: 'user', key: 'ann', until: ends, effective: true }])
    const { stdout } = await lab('overrides', '--limiter', 'written')
    expect(stdout).toMatch(
      / 1 +user +ann +daily-calls: limit 50,000 +2100-06-01 00:00:00 UTC +evil\\u\{1b\}\[2J reason +yes\n/,
    )
    const { overrides } = await resultOf([kind, url, 'overrides', '--limiter', 'written'])
    const fields = { id: '1', scope: 'user', key: 'ann', policy: 'daily-calls', limit: 50_000, until: ends }
    expect(overrides).toEqual([
      { ...fields, reason: 'evil\u001b[2J reason', since: expect.any(Number), effective: true },
    ])
    const shown = [
      ['inspect', 'ann', '--limiter', 'written'],
      ['list', '--refused', '--limiter', 'written'],
    ]
    for (const words of shown) expect((await lab(...words)).stdout).toContain('written has an override.')
    const removed = await lab('remove', '1', '--limiter', 'written', '--yes')
    expect([removed.code, removed.stdout]).toEqual([
      0,
      'Removed the override 1 of written (user: ann, daily-calls: limit 50,000).\n',
    ])
    await limitOf(api, 'ann', 10)
    const again = await lab('remove', '1', '--limiter', 'written', '--yes')
    expect([again.code, again.stdout]).toEqual([1, 'written has no override with the id 1. Nothing was changed.\n'])
    expect((await lab('overrides', '--limiter', 'written')).stdout).toContain('written has no overrides.')
    expect((await lab('top', '--limiter', 'written')).stdout).not.toContain('override')
  })

  test('each kind of numbers, for each kind of keys', async () => {
    const api = await application('kinds')
    const write = async (...args) =>
      (await resultOf([kind, url, 'override', ...args, '--limiter', 'kinds', '--yes'])).written
    expect(await write('--key-prefix', 'trial-', '--policies', '5/1h', '--until', until)).toMatchObject({
      id: '1',
      prefix: 'trial-',
      policies: [{ name: '1h', kind: 'slidingWindow', limit: 5, window: 3_600_000 }],
      effective: true,
    })
    expect(await write('ann', '--policy', 'daily-calls', '--add', '5')).toMatchObject({ key: 'ann', add: 5 })
    expect(await write('*', '--scale', '0.5', '--reason', 'incident')).not.toHaveProperty('prefix')
    expect(await write('*', '--scope', 'user', '--scale', '0.1')).toMatchObject({ scope: 'user', prefix: '' })
    await limitOf(api, 'trial-1', 1) // a tenth of 5, rounded up
    await limitOf(api, 'ann', 2) // a tenth of 15
    expect(
      (await lab('overrides', '--limiter', 'kinds')).stdout.split('\n').filter((line) => / [1-4] /.test(line)),
    ).toEqual([
      expect.stringMatching(/^ {2}1 +user +begin with trial- +1h: 5 in 1 h \(slidingWindow\) +2100/),
      expect.stringMatching(/^ {2}2 +user +ann +daily-calls: 5 more +yes$/),
      expect.stringMatching(/^ {2}3 +all keys +all policies: times 0.5 +incident +yes$/),
      expect.stringMatching(/^ {2}4 +user +all keys +all policies: times 0.1 +yes$/),
    ])
  })

  test('a name that no key shows is unknown, and one that the policy file lacks is not effective', async () => {
    await application('names', policy('10/1d', { name: 'daily', scope: 'user' }))
    const typo = ['override', 'ann', '--limiter', 'names', '--policy', 'dialy', '--limit', '5', '--yes']
    const { stdout } = await lab(...typo)
    expect(stdout).toContain('the policies that keys in the store show: daily (user)')
    expect(stdout).toMatch(/ dialy: limit 5 +unknown\n/)
    const ofFile = (...args) => resultOf([kind, url, ...args, '--limiter', 'api', '--policy-file', file])
    // No key of this limiter is in the store yet. The file says which scope the policy has.
    const add = [
      'override',
      'eve',
      '--scope',
      'user',
      '--policy',
      'monthly',
      '--add',
      '5',
      '--until',
      'window',
      '--yes',
    ]
    const { written } = await ofFile(...add)
    const next = new Date(written.until)
    expect([next.getUTCDate(), next.getUTCHours()]).toEqual([1, 0])
    await ofFile('override', 'eve', '--scope', 'user', '--policy', 'weekly', '--add', '5', '--yes')
    const { overrides } = await ofFile('overrides')
    expect(overrides.map(({ policy, effective }) => [policy, effective])).toEqual([
      ['monthly', true],
      ['weekly', false],
    ])
    const without = await resultOf([kind, url, 'overrides', '--limiter', 'api'])
    expect(without.overrides.map(({ effective }) => effective)).toEqual([null, null])
  })

  test('override and remove change nothing without an answer', async () => {
    const api = await application('asks')
    const write = ['override', 'ann', '--limiter', 'asks', '--scale', '0.5', '--until', until]
    const refused = await lab(...write)
    expect([refused.code, refused.stderr]).toEqual([
      2,
      'override asks first, and there is no terminal to ask. Add --yes.\n',
    ])
    const no = await onTerminal([kind, url, ...write], { '[y/N]': 'n\r' })
    expect([no.code, no.output.includes('Override asks for ann: scale 0.5, until 2100-06-01? [y/N]')]).toEqual([
      1,
      true,
    ])
    expect(await api.overrides()).toEqual([])
    const yes = await onTerminal([kind, url, ...write], { '[y/N]': 'y\r' })
    expect([yes.code, yes.output.includes('Override 1 of asks is written')]).toEqual([0, true])
    const kept = await onTerminal([kind, url, 'remove', '1', '--limiter', 'asks'], { '[y/N]': 'n\r' })
    expect([
      kept.code,
      kept.output.includes('Remove the override 1 of asks (user: ann, all policies: times 0.5)?'),
    ]).toEqual([1, true])
    expect(await api.overrides()).toHaveLength(1)
  })

  test('the scope of a key is that of the limiter, or has to be named', async () => {
    const policies = [policy('10/1d', { name: 'a', scope: 'user' }), policy('10/1d', { name: 'b', scope: 'tenant' })]
    await application('scopes', policies, { user: 'ann', tenant: 'acme' })
    const args = ['--limiter', 'scopes', '--policy', 'a', '--limit', '5', '--yes']
    await says(
      kind,
      url,
      ['override', 'ann', ...args],
      /^scopes has the scopes (user, tenant|tenant, user)\. Name the scope/,
    )
    expect((await lab('override', 'ann', '--scope', 'user', ...args)).code).toBe(0)
    await says(kind, url, ['override', 'ann', '--scope', 'user', ...args], /gives numbers for the same keys and policy/)
    await says(
      kind,
      url,
      ['override', 'ann', ...args, '--limiter', 'nobody'],
      /^The store has no key of the limiter nobody yet\./,
    )
  })
})

const some = ['override', 'ann', '--limiter', 'api', '--yes']
test.concurrent.each([
  [['overrides'], 'overrides needs the name of a limiter. Write: headgate-lab'],
  [['overrides', 'ann', '--limiter', 'api'], 'overrides takes no key'],
  [['remove', '--limiter', 'api'], 'remove needs the id of an override.'],
  [['override', '--limiter', 'api', '--scale', '1'], "override takes a key, '*' for all keys, or --key-prefix."],
  [[...some, '--key-prefix', 'a', '--scale', '1'], 'Give one of these.'],
  [some, 'exactly one of --limit, --add, --scale and --policies, got none.'],
  [[...some, '--limit', '1', '--add', '1'], 'got --limit and --add.'],
  [[...some, '--limit', '1'], 'override --limit needs the name of a policy.'],
  [[...some, '--limit', '0', '--policy', 'a'], '--limit must be a whole number from 1'],
  [[...some, '--scale', 'half', '--scope', 'user'], 'scale must be a number above 0'],
  [[...some, '--scale', '1', '--scope', 'user', '--until', '2020-01-01'], 'until is in the past'],
  [[...some, '--scale', '1', '--until', 'window'], 'The store does not say when the windows of a policy end.'],
  [[...some, '--policies', '5 a day', '--scope', 'user'], 'HEADGATE_POLICY'],
  [[...some, '--scale', '1', '--policy-file', '/nowhere.json'], '/nowhere.json'],
  [['overrides', '--limiter', 'other', '--policy-file', file], 'has no limiter "other". Its limiters are api.'],
])('%j says what is right', (args, expected) => says('redis', stores[0][1], args, expected))

async function says(kind, url, args, expected) {
  const { code, stdout, stderr } = await runLab([kind, url, ...args])
  if (typeof expected === 'string') expect(stderr).toContain(expected)
  else expect(stderr).toMatch(expected)
  expect([code, stdout, stderr.includes('    at ')]).toEqual([2, '', false])
}
