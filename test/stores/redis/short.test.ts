/* The script of one plan (script/short/), beside the whole script that decides the same. */
import { describe, expect, test } from 'vitest'
import {
  fixedWindow,
  memoryStore,
  type PenaltyOptions,
  type Policy,
  RateLimiter,
  segmentedWindow,
  slidingLog,
  slidingWindow,
  tokenBucket,
} from '../../../src/index.ts'
import { redisStore } from '../../../src/stores/redis/index.ts'
import { ManualClock } from '../../../src/testing/index.ts'
import { useRedis } from '../../support/use-server.ts'

const { client } = await useRedis()
let names = 0

function limiterOf(policies: Policy | Policy[], clock?: ManualClock, penalty?: PenaltyOptions): RateLimiter {
  const time = clock === undefined ? {} : { clock: clock.now }
  const store = redisStore({ client, timeout: '30s', ...time })
  return new RateLimiter({ name: `plain-${names++}`, policies, store, ...(penalty && { penalty }) })
}

const keyOf = (limiter: RateLimiter, id: string) => `headgate:${limiter.name}:{${id}}`

/** How often Redis has run scripts, and how many it keeps. */
async function scripts(): Promise<{ calls: number; kept: number }> {
  const stats = await client.info('commandstats')
  const calls = ['eval', 'evalsha'].map((command) =>
    Number(new RegExp(`cmdstat_${command}:calls=(\\d+)`).exec(stats)?.[1] ?? 0),
  )
  const kept = /number_of_cached_scripts:(\d+)/.exec(await client.info('memory'))?.[1]
  return { calls: calls.reduce((sum, each) => sum + each), kept: Number(kept) }
}

const policies = {
  bucket: tokenBucket({ limit: 10, window: '10s' }),
  interval: tokenBucket({ limit: 10, window: '10s', refill: 'interval' }),
  fixedWindow: fixedWindow({ limit: 10, window: '10s' }),
  slidingWindow: slidingWindow({ limit: 10, window: '10s' }),
  log: slidingLog({ limit: 10, window: '10s' }),
  two: [tokenBucket({ limit: 10, window: '10s' }), slidingWindow({ name: 'minute', limit: 50, window: '1m' })],
}

const plans: readonly (readonly [string, Policy | Policy[], PenaltyOptions | undefined])[] = [
  ...Object.entries(policies).map(([name, plan]) => [name, plan, undefined] as const),
  ['bucket with a penalty', policies.bucket, { after: 2, within: '20s', ban: ['3s', '1m'] }],
  ['log with a penalty', policies.log, { after: 1, within: '10s', ban: '3s', restart: true }],
]

describe.each(plans)('%s', (_, plan, penalty) => {
  test('a value lives as long as the whole script lets it live', async () => {
    const clock = new ManualClock()
    const [plain, whole] = [limiterOf(plan, clock, penalty), limiterOf(plan, clock, penalty)]
    let before: Buffer = Buffer.alloc(0)
    for (const later of [0, 0, 700, 1, 2500, 9000, 10_000, 59_000, 61_000]) {
      clock.advance(later)
      // A peek in the same turn makes the call travel with it, to the whole script.
      const [decision, [same]] = await Promise.all([
        plain.consume('ann', { cost: 3 }),
        Promise.all([whole.consume('ann', { cost: 3 }), whole.peek('other')]),
      ])
      expect(decision).toEqual(same)
      const ends = await Promise.all([plain, whole].map((limiter) => client.pexpiretime(keyOf(limiter, 'ann'))))
      expect(ends[0]).toBeGreaterThan(0)
      const values = await Promise.all([plain, whole].map((limiter) => client.getBuffer(keyOf(limiter, 'ann'))))
      expect(values[0]).toEqual(values[1])
      // The whole script may write a value again that did not change, and the server's clock goes on by itself.
      const changed = !values[0]?.equals(before)
      if (changed) expect(Math.abs((ends[0] as number) - (ends[1] as number))).toBeLessThan(900)
      before = values[0] as Buffer
    }
  })

  test('leaves one script on the server beside the whole one', async () => {
    await limiterOf(segmentedWindow({ limit: 1, window: '1s' })).consume('ann')
    const before = await scripts()
    const limiter = limiterOf(plan, undefined, penalty)
    for (let n = 0; n < 20; n++) await Promise.all([limiter.consume('ann'), limiter.consume('bob')])
    await limiter.peek('ann')
    const { kept } = await scripts()
    expect(kept - before.kept).toBeLessThanOrEqual(1)
  })
})

test('calls of one turn are decided in their order, whichever script decides them', async () => {
  const limiter = limiterOf(fixedWindow({ limit: 2, window: '1h' }))
  const calls = [
    limiter.consume('ann'),
    limiter.consume('ann'),
    limiter.consume('ann'),
    limiter.reset('ann'),
    limiter.consume('ann'),
    limiter.peek('ann'),
    limiter.consume('bob', { cost: 2 }),
    limiter.consume('ann', { cost: 1 }),
    limiter.consume('ann'),
  ] as const
  const decisions = await Promise.all(calls)
  expect(decisions.map((decision) => decision?.remaining)).toEqual([1, 0, 0, undefined, 1, 1, 0, 0, 0])
  expect(decisions.map((decision) => decision?.allowed)).toEqual([
    true, true, false, undefined, true, true, true, true, false,
  ]) // biome-ignore format: one line for each list
})

test('several calls on one key in a batch count one by one', async () => {
  const clock = new ManualClock()
  const limiter = limiterOf(tokenBucket({ limit: 5, window: '1s' }), clock)
  const ids = ['a', 'b', 'a', 'a', 'c', 'b', 'a', 'a', 'a', 'c']
  const decisions = await Promise.all(ids.map((id) => limiter.consume(id)))
  expect(decisions.map(({ remaining }) => remaining)).toEqual([4, 4, 3, 2, 4, 3, 1, 0, 0, 3])
  expect(decisions.map(({ retryAfter }) => retryAfter)).toEqual([0, 0, 0, 0, 0, 0, 0, 0, 200, 0])
})

test('a refused call that one policy counts leaves the others as they were', async () => {
  const clock = new ManualClock()
  const policies = [
    tokenBucket({ limit: 10, window: '10s' }),
    slidingWindow({ name: 'minute', limit: 50, window: '1m' }),
    fixedWindow({ name: 'tries', limit: 4, window: '10s', countRefused: true }),
  ]
  const redis = limiterOf(policies, clock)
  const memory = new RateLimiter({ name: 'same', policies, store: memoryStore({ clock: clock.now }) })
  for (let n = 0; n < 60; n++) {
    expect(await redis.consume('ann', { cost: 3 })).toEqual(await memory.consume('ann', { cost: 3 }))
    clock.advance(700)
  }
})

test('without a clock, the time of a decision is that of Redis', async () => {
  const store = redisStore({ client, timeout: '30s' })
  const ledger = store.open({ name: 'timed', policies: [policies.bucket], scopes: ['default'] })
  const time = async () => {
    const [seconds, microseconds] = await client.time()
    return Math.floor(Number(seconds) * 1000 + Number(microseconds) / 1000)
  }
  const before = await time()
  const { at } = await ledger.run({ verb: 'consume', keys: ['ann'], details: { at: true } })
  expect(at).toBeGreaterThanOrEqual(before)
  expect(at).toBeLessThanOrEqual(await time())
})

test('a key with an open reservation is left to the whole script, which costs one more call in a second', async () => {
  const limiter = limiterOf(tokenBucket({ limit: 1000, window: '10h' }))
  const reservation = await limiter.reserve('ann', { cost: 10 })
  const before = (await scripts()).calls
  const startedAt = Date.now()
  for (let n = 1; n <= 100; n++) expect((await limiter.consume('ann')).remaining).toBe(990 - n)
  const reads = (Date.now() - startedAt) / 50 // of the overrides, by all limiters of this file
  expect((await scripts()).calls - before).toBeLessThanOrEqual(150 + reads) // 200 if each call tried both scripts
  await reservation.settle(5)
  expect((await limiter.consume('ann')).remaining).toBe(894)
  expect((await limiter.consume('bob')).remaining).toBe(999)
})

test('a key of another plan is carried over', async () => {
  const clock = new ManualClock()
  const store = redisStore({ client, timeout: '30s', clock: clock.now })
  const small = new RateLimiter({ name: 'plans', policies: fixedWindow({ name: 'w', limit: 2, window: '1h' }), store })
  const large = small.withPlan(fixedWindow({ name: 'w', limit: 5, window: '1h' }))
  const left = async (limiter: RateLimiter) => (await limiter.consume('ann')).remaining
  expect([await left(small), await left(large), await left(small), await left(large)]).toEqual([1, 3, 0, 2])
})

describe('a key lives until it has its full quota under the plan that used it last', () => {
  const bucket = (limit: number) => tokenBucket({ name: 'hourly', limit, window: '1h' })

  test.each<[string, Policy, 'consume' | 'refund', Policy]>([
    ['after other numbers', bucket(100), 'consume', bucket(200)],
    ['after a refund under other numbers', bucket(100), 'refund', bucket(200)],
  ])('%s', async (_, before, verb, after) => {
    const clock = new ManualClock(Date.UTC(2026, 0, 1))
    const store = redisStore({ client, timeout: '30s', clock: clock.now })
    const limiter = new RateLimiter({ name: `plain-${names++}`, policies: bucket(1), store })
    const plans = [before, after].map((plan) => limiter.withPlan(plan)) as [RateLimiter, RateLimiter]
    const last = verb === 'refund' ? plans[0] : plans[1]
    await plans[0].consume('ann', { cost: 3 })
    await plans[1][verb]('ann')
    for (const cost of [1, 2]) {
      const { resetAfter } = await last.consume('ann', { cost })
      expect(await client.pttl(keyOf(limiter, 'ann'))).toBeGreaterThan(resetAfter)
    }
  })
})

test('the plans beyond the first 32 of a store are decided by the whole script', async () => {
  const before = await scripts()
  const store = redisStore({ client, timeout: '30s' })
  for (let limit = 1; limit <= 50; limit++) {
    const limiter = new RateLimiter({ name: `many-${limit}`, policies: fixedWindow({ limit, window: '1h' }), store })
    expect((await limiter.consume('ann')).remaining).toBe(limit - 1)
  }
  expect((await scripts()).kept - before.kept).toBeLessThanOrEqual(33)
})

test('limiters of one plan have one script', async () => {
  const store = redisStore({ client, timeout: '30s' })
  const consume = (name: string, limit: number) =>
    new RateLimiter({ name, policies: fixedWindow({ limit, window: '2h' }), store }).consume('ann')
  for (let n = 0; n < 40; n++) await consume(`same-${n}`, 5)
  const { kept } = await scripts()
  await consume('other', 6)
  expect((await scripts()).kept).toBe(kept + 1)
})
