/* How much Memcached holds under a key. */
import { MemcacheClient } from 'memcache-client'
import { afterAll, expect, test } from 'vitest'
import { HeadgateError, type PolicyLikes, RateLimiter, slidingLog } from '../../src/index.ts'
import { type MemcachedStoreOptions, memcachedStore } from '../../src/stores/memcached.ts'
import { ManualClock } from '../../src/testing/index.ts'
import { thrownBy } from '../support/failure.ts'
import { startMemcached } from '../support/memcached-server.ts'
import { useServer } from '../support/use-server.ts'

const log = (limit: number, name = 'log') => slidingLog({ name, limit, window: '1s' })

const { port } = await useServer(startMemcached())
const small = await useServer(startMemcached('-I', '8k', '-o', 'slab_chunk_max=8192'))
const [client, other] = [port, small.port].map((each) => {
  return new MemcacheClient({ server: `127.0.0.1:${each}`, noDelay: true, cmdTimeout: 10_000 })
}) as [MemcacheClient, MemcacheClient]
afterAll(() => {
  client.shutdown()
  other.shutdown()
})
let names = 0

function limiterOf(policies: PolicyLikes, options: Partial<MemcachedStoreOptions> = {}): RateLimiter {
  const store = memcachedStore({ client, timeout: '10s', ...options })
  return new RateLimiter({ name: `size-${names++}`, policies, store })
}

test('a log that may not fit throws at construction, with its size and the limit that would fit', () => {
  const error = thrownBy(() => limiterOf(['10/1s', log(50_000, 'daily')]))
  expect(error).toBeInstanceOf(HeadgateError)
  expect(error?.code).toBe('HEADGATE_STATE_SIZE')
  const [, size, fits] = /"daily" takes up to (\d+) bytes .*at most (\d+), a segmentedWindow/.exec(`${error}`) ?? []
  expect(Number(size)).toBeGreaterThan(1_700_000)
  expect(Number(fits)).toBeGreaterThan(28_000)
  expect(thrownBy(() => limiterOf(['10/1s', log(Number(fits), 'daily')]))).toBeUndefined()
  expect(thrownBy(() => limiterOf(log(50_000), { maxBytes: 3_000_000 }))).toBeUndefined()
})

test('the largest log that is accepted fits into one item, with the most expired entries that it can have', async () => {
  const limit = 28_900
  const clock = new ManualClock()
  const policies = slidingLog({ name: 'log', limit, window: '1m' })
  const limiter = limiterOf(policies, { clock: clock.now })
  // First the log fills up. Then a call comes whenever an entry expires. Expired entries are removed once they are a third.
  for (const count of [limit, limit / 2 - 2]) {
    const calls: Promise<{ allowed: boolean }>[] = []
    for (let n = 0; n < count; n++) {
      calls.push(limiter.consume('k'))
      clock.advance(1)
    }
    expect((await Promise.all(calls)).every(({ allowed }) => allowed)).toBe(true)
    clock.advance(60_000 - limit)
  }
  const { value } = (await client.gets<string>(`headgate:${limiter.name}:default:k`)) as { value: string }
  expect(value.length).toBeGreaterThan(980_000)
  expect(value.length).toBeLessThanOrEqual(1_000_000)
})

test('a charge that would grow a key beyond maxBytes rejects, changes nothing and opens no breaker', async () => {
  const clock = new ManualClock()
  const limiter = limiterOf(log(10), { clock: clock.now, maxBytes: 1000 })
  const calls: unknown[] = []
  for (let n = 0; n < 60; n++) {
    clock.advance(1)
    calls.push(await limiter.charge('k').catch((error) => error))
  }
  const errors = calls.filter((call) => call instanceof HeadgateError)
  expect(errors.length).toBeGreaterThan(10)
  for (const { code, message } of errors) {
    expect(code).toBe('HEADGATE_STATE_SIZE')
    expect(message).toMatch(/would take \d+ bytes, most of them for policy "log"\. .* Memcached holds 1000\./)
  }
  expect(limiter.health()).toMatchObject({ state: 'closed', errors: 0 })
  const held = calls.length - errors.length
  clock.advance(1000 - 60)
  expect((await limiter.peek('k')).remaining).toBe(10 - held > 0 ? 10 - held : 0)
  clock.advance(1000)
  expect((await limiter.consume('k')).remaining).toBe(9)
})

test('a server whose items are smaller than maxBytes makes the call reject with HEADGATE_STATE_SIZE', async () => {
  const clock = new ManualClock()
  const limiter = limiterOf(log(1000), { client: other, clock: clock.now })
  const codes = new Set<unknown>()
  for (let n = 0; n < 500; n++) {
    clock.advance(1)
    codes.add(
      await limiter.consume('k').then(
        () => 'done',
        (error: HeadgateError) => error.code,
      ),
    )
  }
  expect([...codes]).toEqual(['done', 'HEADGATE_STATE_SIZE'])
  expect(limiter.health()).toMatchObject({ state: 'closed', errors: 0 })
})
