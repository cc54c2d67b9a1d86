import { describe, expect, test } from 'vitest'
import { fixedWindow, lruStore, memoryStore, RateLimiter, slidingLog, tokenBucket } from '../../src/index.ts'
import { redisStore } from '../../src/stores/redis/index.ts'
import { memcached, postgres } from '../support/server-stores.ts'
import { useRedis } from '../support/use-server.ts'

/* Keys and names that a client or a careless program may choose, on every store with a real server. */

const { client } = await useRedis()
client.on('error', () => undefined)
const [onPostgres, onMemcached] = [await postgres(), await memcached()]
const stores = {
  memory: () => memoryStore(),
  lru: () => lruStore(),
  Redis: (prefix: string) => redisStore({ client, prefix, timeout: '10s' }),
  Postgres: (prefix: string) => onPostgres.create(undefined as never, prefix),
  Memcached: (prefix: string) => onMemcached.create(undefined as never, prefix),
}

const long = 'x'.repeat(1_000_000)
const groups = [
  [
    'a',
    ' a',
    'a ',
    'a\0',
    'a\0b',
    '\0',
    'a\n',
    'a\r\n',
    'a\r\nset b 0 0 1\r\n1',
    '\t',
    '\x7f',
    '\x1b[31m',
    '\u2028',
    '\u200b',
  ],
  ["a'; drop table headgate; --", 'a"', "a'", 'a\\', '\\u0000', '$1', '*', '?', '[a]', 'flush_all', 'headgate:x'],
  [
    'a{b}',
    '{b}',
    '{',
    '}',
    '{}',
    'a}b{c',
    ':',
    'a:',
    ':a',
    'a:b',
    '',
    '%',
    '%%',
    '%0020',
    ' ',
    '%25',
    '%2520',
    '~',
    '~a',
  ],
  ['#', '#a', `#${'a'.repeat(43)}`, long, `${long}y`, long.slice(1), 'y'.repeat(127), 'y'.repeat(128), 'y'.repeat(129)],
  ['y'.repeat(250), 'y'.repeat(251), ' '.repeat(25), ' '.repeat(26), `${long}\ud800`, `${long}\udc00`, `${long}\ufffd`],
  ['\ud800', '\udc00', '\udc00\ud800', '\ud800x', 'x\ud800', '\u{1f600}', '\u{1f601}', '\ufffd', '\ufffd\ufffd'],
  [
    'é',
    'e\u0301',
    'É',
    'A',
    'ａ',
    'ﬀ',
    'ff',
    'ß',
    'ss',
    'ı',
    'i',
    'İ',
    'undefined',
    'null',
    '[object Object]',
    '0',
    '-1',
  ],
  ['__proto__', 'constructor', 'prototype', 'toString', 'hasOwnProperty', 'valueOf'],
]
const keys = groups.flat()

describe.each(Object.entries(stores))('%s', (_name, create) => {
  test('two keys never share a state', async () => {
    const policies = fixedWindow({ limit: 1, window: '1h' })
    const limiter = new RateLimiter({ name: 'keys', policies, store: create('keys'), onStoreError: 'throw' })
    for (const allowed of [true, false]) {
      const decisions = await Promise.all(keys.map((key) => limiter.consume(key)))
      const wrong = keys.filter((_, n) => decisions[n]?.allowed !== allowed)
      expect(wrong.map((key) => key.slice(0, 20))).toEqual([])
    }
    expect(new Set(keys).size).toBe(keys.length)
  })

  test.each(groups.at(-1) as string[])('%s names a limiter, a scope, a policy, a key and a cost', async (name) => {
    const plan = (limit: number) => [
      tokenBucket({ name, limit, window: '1h', scope: name }),
      slidingLog({ name: 'plain', limit: 6, window: '1h', scope: 'other' }),
    ]
    const limiter = new RateLimiter({ name, policies: plan(4), store: create(`named-${name}`), onStoreError: 'throw' })
    // JSON.parse makes own members of every name.
    const record = (own: unknown, other: string, value: unknown) =>
      JSON.parse(`{${JSON.stringify(name)}:${JSON.stringify(own)},"${other}":${JSON.stringify(value)}}`)
    const keyOf = (key: string) => record(key, 'other', key)
    const costs = (own: number, plain: number) => record(own, 'plain', plain)

    const first = await limiter.consume(keyOf(name), { cost: costs(3, 1) })
    const second = await limiter.consume(keyOf(name), { cost: costs(2, 1) })
    const other = await limiter.consume(keyOf('other'), { cost: costs(4, 1) })
    expect([first.allowed, second.allowed, second.policy, other.allowed]).toEqual([true, false, name, true])

    const reservation = await limiter.reserve(keyOf('settled'), { cost: costs(3, 3) })
    await reservation.settle(costs(1, 2))
    const left = await limiter.peek(keyOf('settled'))
    const leftOfPlan = await limiter.withPlan(plan(40)).peek(keyOf('settled'))
    const remaining = [left, leftOfPlan].map(({ policies }) => policies.map((verdict) => verdict.remaining))
    expect(remaining).toEqual([
      [3, 4],
      [39, 4],
    ])

    await limiter.ban(keyOf('banned'), '1h')
    await limiter.reset(keyOf(name))
    expect((await limiter.consume(keyOf('banned'), { cost: costs(1, 1) })).allowed).toBe(false)
    expect((await limiter.consume(keyOf(name), { cost: costs(4, 1) })).allowed).toBe(true)
    expect(({} as Record<string, unknown>).plain).toBeUndefined()
  })
})
