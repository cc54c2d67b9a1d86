/* Limiters under other prefixes, names and scopes never share a key. */
import { Redis } from 'ioredis'
import { MemcacheClient } from 'memcache-client'
import { Pool } from 'pg'
import { expect, test } from 'vitest'
import { rateLimit } from '../../adapters/express.ts'
import { fixedWindow, RateLimiter } from '../../src/index.ts'
import { memcachedStore } from '../../src/stores/memcached.ts'
import { postgresStore } from '../../src/stores/postgres/index.ts'
import { redisStore } from '../../src/stores/redis/index.ts'
import { encodeId, keyStart } from '../../src/stores/redis/keys.ts'
import { MapDatabase } from '../support/map-store.ts'

const client = new Redis({ lazyConnect: true })
client.on('error', () => undefined)
const database = new MapDatabase()

test.each([
  ['redisStore', (prefix: string) => redisStore({ client, prefix })],
  ['postgresStore', (prefix: string) => postgresStore({ pool: new Pool(), prefix })],
  ['memcachedStore', (prefix: string) => memcachedStore({ client: new MemcacheClient({ server: 'none' }), prefix })],
  ['compareAndSetStore', (prefix: string) => database.store({ prefix })],
])('%s: a prefix has no colon, which ends it', (_, storeWith) => {
  expect(() => storeWith('a:b')).toThrow(
    expect.objectContaining({
      code: 'HEADGATE_OPTION',
      message: expect.stringMatching(
        /prefix must be 1 to 128 letters, digits and _ \. \/ -.*, got "a:b"\. .*myapp\/limits/,
      ),
    }),
  )
  expect(storeWith('a/b').traits?.prefix).toBe('a/b')
})

/** Texts that would collide if the parts of a key were only joined. */
const parts = [
  'a',
  'b',
  'a:b',
  'b:c',
  'a/b',
  'default',
  '',
  '%',
  '{',
  '}',
  '#',
  'a:{b}',
  '::',
  ' ',
  '%003a',
  '~reports',
]
const prefixes = ['a', 'b', 'a/b', 'a/', 'a.b', '-']

test('in Redis, each prefix, name, scope and id has a key of its own', () => {
  const keys = new Map<string, string>()
  for (const prefix of prefixes) {
    for (const name of parts) {
      for (const scope of parts) {
        for (const id of parts) {
          const key = `${keyStart(prefix, name, scope)}${encodeId(id)}}`
          const from = JSON.stringify([prefix, name, scope, id])
          expect(keys.get(key), from).toBeUndefined()
          keys.set(key, from)
        }
      }
    }
  }
})

test('in a store with texts, each prefix, name, scope and id has a text of its own', async () => {
  let limiters = 0
  const named = parts.filter((text) => text !== '') // a limiter and a scope have names of printable ASCII
  for (const prefix of prefixes) {
    const store = database.store({ prefix })
    for (const name of named) {
      const policies = named.map((scope) => fixedWindow({ name: scope, scope, limit: 9, window: '1h' }))
      const limiter = new RateLimiter({ name, policies, store })
      limiters++
      for (const id of parts) {
        const decision = await limiter.consume(Object.fromEntries(named.map((scope) => [scope, id])))
        expect(new Set(decision.policies.map(({ used }) => used))).toEqual(new Set([1]))
      }
    }
  }
  expect(database.texts.size).toBe(limiters * named.length * parts.length)
})

test('rateLimit: the name beside limit and window is the name of the limiter, and of its policy', async () => {
  const store = redisStore({ client })
  const { limiter } = rateLimit({ name: 'api', limit: 5, window: '1m', store })
  expect((limiter as RateLimiter).name).toBe('api')
  const { limiter: local } = rateLimit({ name: 'api', limit: 5, window: '1m' })
  expect((await (local as RateLimiter).consume('k')).policy).toBe('api')
  expect(() => rateLimit({ limit: 5, window: '1m', store })).toThrow(/needs a name/)
})
