/* Stores that hold so many bytes under a key: what cannot fit is refused at once, and no failure of the store. */
import { MemcacheClient } from 'memcache-client'
import { afterAll, describe, expect, test } from 'vitest'
import {
  HeadgateError,
  type PolicyLikes,
  RateLimiter,
  segmentedWindow,
  slidingLog,
  smoothBursty,
  tokenBucket,
} from '../../src/index.ts'
import { type MemcachedStoreOptions, memcachedStore } from '../../src/stores/memcached.ts'
import { ManualClock } from '../../src/testing/index.ts'
import { MapDatabase } from '../support/map-store.ts'
import { startMemcached } from '../support/memcached-server.ts'
import { useServer } from '../support/use-server.ts'

const log = (limit: number, name = 'log') => slidingLog({ name, limit, window: '1s' })

function refusal(make: () => unknown): HeadgateError | undefined {
  try {
    make()
    return undefined
  } catch (error) {
    return error as HeadgateError
  }
}

/** The least that a store has to hold for these policies to be taken. */
function least(policies: PolicyLikes): number {
  const fits = (maxBytes: number) => {
    const store = new MapDatabase().store({ maxBytes })
    return refusal(() => new RateLimiter({ policies, store })) === undefined
  }
  let [low, high] = [1, 1 << 24]
  while (low < high) {
    const middle = (low + high) >>> 1
    if (fits(middle)) high = middle
    else low = middle + 1
  }
  return low
}

describe('a log that is as large as its store holds', () => {
  test.each([
    ['a log', log(100)],
    ['a log of one', log(1)],
    ['beside others', [log(60), tokenBucket({ limit: 7, window: '1h' }), smoothBursty({ rate: 3000, maxStored: 9 })]],
    [
      'no log',
      [
        segmentedWindow({ name: 'w', limit: 20, window: '1s', segments: 8 }),
        smoothBursty({ rate: 3000, maxStored: 9 }),
      ],
    ],
    ['two logs', [log(50, 'a'), slidingLog({ name: 'b', limit: 80, window: '2s' })]],
  ])('%s: is never too large for it, however the calls come', async (_, policies) => {
    const maxBytes = least(policies)
    const database = new MapDatabase()
    const clock = new ManualClock()
    const limiter = new RateLimiter({ policies, store: database.store({ maxBytes, clock: clock.now }) })
    let largest = 0
    for (let n = 0; n < 600; n++) {
      clock.advance(n < 300 ? 11 : (n * 7919) % 40)
      await limiter.consume('k')
      largest = Math.max(largest, ...[...database.texts.values()].map(({ text }) => text.length))
    }
    expect(largest).toBeLessThanOrEqual(maxBytes)
    expect(limiter.health().errors).toBe(0)
  })

  test('fills nine tenths of what was reckoned', async () => {
    const maxBytes = least(log(200))
    const database = new MapDatabase()
    const clock = new ManualClock()
    const limiter = new RateLimiter({ policies: log(200), store: database.store({ maxBytes, clock: clock.now }) })
    let largest = 0
    for (let n = 0; n < 600; n++) {
      clock.advance(5)
      await limiter.consume('k')
      largest = Math.max(largest, ...[...database.texts.values()].map(({ text }) => text.length))
    }
    expect(largest).toBeGreaterThan(0.9 * maxBytes)
  })
})

describe('Memcached', async () => {
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

  test('a log that cannot fit is told at construction: which, how large, what would fit', () => {
    const error = refusal(() => limiterOf(['10/1s', log(50_000, 'daily')]))
    expect(error).toBeInstanceOf(HeadgateError)
    expect(error?.code).toBe('HEADGATE_STATE_SIZE')
    const [, size, fits] = /"daily" takes up to (\d+) bytes .*at most (\d+), a segmentedWindow/.exec(`${error}`) ?? []
    expect(Number(size)).toBeGreaterThan(1_700_000)
    expect(Number(fits)).toBeGreaterThan(28_000)
    expect(refusal(() => limiterOf(['10/1s', log(Number(fits), 'daily')]))).toBeUndefined()
    expect(refusal(() => limiterOf(log(50_000), { maxBytes: 3_000_000 }))).toBeUndefined()
  })

  test('holds a log of the largest limit in one item, when as many as can have left are still in it', async () => {
    const limit = 28_900
    const clock = new ManualClock()
    const policies = slidingLog({ name: 'log', limit, window: '1m' })
    const limiter = limiterOf(policies, { clock: clock.now })
    // First it is filled, then each comes as one leaves; those that have left go when they are a third of all.
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

  test('a key that grows beyond it by debt: its call says so and changes nothing, and no breaker opens', async () => {
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
      expect(message).toMatch(/would take \d+ bytes, most of them by policy "log"; .* Memcached holds 1000/)
    }
    expect(limiter.health()).toMatchObject({ state: 'closed', errors: 0 })
    const held = calls.length - errors.length
    clock.advance(1000 - 60)
    expect((await limiter.peek('k')).remaining).toBe(10 - held > 0 ? 10 - held : 0)
    clock.advance(1000)
    expect((await limiter.consume('k')).remaining).toBe(9)
  })

  test('a server whose items are smaller than was told says so itself', async () => {
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
})

test.each([0, 1.5, '1mb', null])('maxBytes cannot be %j', (maxBytes) => {
  expect(() => new MapDatabase().store({ maxBytes } as never)).toThrow(/maxBytes must be a whole number/)
})
