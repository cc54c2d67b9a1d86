/* Leases by demand, on a real Redis: never beyond the limit, and no slower than without them on a distant link. */
import { Redis } from 'ioredis'
import { afterAll, beforeEach, describe, expect, test } from 'vitest'
import {
  counter,
  fixedWindow,
  type Policy,
  RateLimiter,
  segmentedWindow,
  slidingWindow,
  tokenBucket,
} from '../../../src/index.ts'
import { type RedisStoreOptions, redisStore } from '../../../src/stores/redis/index.ts'
import { ManualClock } from '../../../src/testing/index.ts'
import fc from '../../support/fast-check.ts'
import { startProxy } from '../../support/tcp-proxy.ts'
import { useRedis } from '../../support/use-server.ts'

const { server, client } = await useRedis()
const closes: (() => void)[] = []
afterAll(() => {
  for (const close of closes) close()
})
beforeEach(async () => {
  await client.flushall()
})

let names = 0
function fleetOf(size: number, policies: Policy, options: Partial<RedisStoreOptions>, name = `fleet-${names++}`) {
  return Array.from({ length: size }, () => {
    const store = redisStore({ client, timeout: '10s', ttlMargin: '1d', ...options })
    return new RateLimiter({ name, policies, store, onStoreError: 'throw' })
  })
}

async function scripts(): Promise<number> {
  return Number(/cmdstat_evalsha:calls=(\d+)/.exec(await client.info('commandstats'))?.[1] ?? 0)
}

describe('on a distant link', () => {
  /** Calls a second of so many callers, each of which calls again as soon as it has its answer. */
  async function throughput(options: Partial<RedisStoreOptions>, delay: number): Promise<number> {
    const proxy = await startProxy(server.port)
    const far = new Redis(proxy.port)
    closes.push(() => far.disconnect(), proxy.close)
    proxy.delay = delay
    const [limiter] = fleetOf(1, fixedWindow({ limit: 100_000_000, window: '1d' }), {
      client: far,
      timeout: '2s',
      ...options,
    }) as [RateLimiter]
    await limiter.consume('hot')
    const end = performance.now() + 2000
    let calls = 0
    const caller = async () => {
      for (; performance.now() < end; calls++) {
        const { allowed, source } = await limiter.consume('hot')
        if (!allowed || source !== 'store') throw new Error('a call was not decided by Redis')
      }
    }
    await Promise.all(Array.from({ length: 512 }, caller))
    return calls / 2
  }

  test('512 callers of one key get at least what they get without leases', async () => {
    const without = await throughput({}, 20)
    const byDemand = await throughput({ leases: 'auto' }, 20)
    expect(byDemand).toBeGreaterThan(without)
  })

  test('the next lease is here before the last one is used up, so no call waits', async () => {
    const proxy = await startProxy(server.port)
    const far = new Redis(proxy.port)
    closes.push(() => far.disconnect(), proxy.close)
    proxy.delay = 20
    const policies = fixedWindow({ limit: 1_000_000, window: '1d' })
    const [limiter] = fleetOf(1, policies, { client: far, timeout: '2s', leases: 'auto' }) as [RateLimiter]
    const waits: number[] = []
    const calls: Promise<unknown>[] = []
    // 2000 calls a second for a second.
    for (let n = 0; n < 400; n++) {
      for (let each = 0; each < 5; each++) {
        const began = performance.now()
        calls.push(limiter.consume('hot').then(() => waits.push(performance.now() - began)))
      }
      await new Promise((resolve) => setTimeout(resolve, 2))
    }
    await Promise.all(calls)
    const late = waits.slice(1000).filter((wait) => wait > 10)
    expect(late.length).toBeLessThan(20)
  })
})

/** Who calls, how often at once, and how many milliseconds later the next ones call. */
const steps = fc.array(
  fc.record({
    process: fc.nat({ max: 2 }),
    calls: fc.integer({ min: 1, max: 60 }),
    later: fc.oneof({ weight: 6, arbitrary: fc.nat({ max: 30 }) }, { weight: 1, arbitrary: fc.nat({ max: 900 }) }),
  }),
  { minLength: 40, maxLength: 120 },
)
const most = fc.constantFrom(1, 5, 40, 1000)

describe('whatever comes in whatever order', () => {
  /** The most units in any span of time, in microseconds, from one call to another. */
  const bounded: Record<string, { policy: Policy; bound: (from: number, to: number) => number }> = {
    fixedWindow: {
      policy: fixedWindow({ limit: 500, window: '1s' }),
      bound: (from, to) => 500 * (Math.floor(to / 1e6) - Math.floor(from / 1e6) + 1),
    },
    slidingWindow: {
      policy: slidingWindow({ limit: 500, window: '1s' }),
      bound: (from, to) => (Math.floor(to / 1e6) === Math.floor(from / 1e6) ? 500 : to - from < 1e6 ? 999 : Infinity),
    },
    segmentedWindow: {
      policy: segmentedWindow({ limit: 500, window: '1s', segments: 4 }),
      bound: (from, to) => (to - from < 1e6 ? 500 : Infinity),
    },
    bucket: {
      policy: tokenBucket({ limit: 500, window: '1s', burst: 500 }),
      bound: (from, to) => Math.floor(500 + (500 * (to - from)) / 1e6),
    },
  }

  test.each(Object.keys(bounded))('%s: three processes never admit more than the limit', async (name) => {
    const { policy, bound } = bounded[name] as (typeof bounded)[string]
    let local = 0
    await fc.assert(
      fc.asyncProperty(steps, most, async (steps, most) => {
        const clock = new ManualClock(1_000_000)
        const fleet = fleetOf(3, policy, { clock: clock.now, leases: { units: 'auto', most }, refusalCache: false })
        const admitted: { at: number; units: number }[] = []
        for (const [n, { calls, later }] of steps.entries()) {
          const before = await scripts()
          // Each process calls at once: what one has ahead meets what another asks for.
          const decisions = fleet.flatMap((limiter, process) => {
            const own = process === steps[n]?.process ? calls : 3
            return Array.from({ length: own }, () => limiter.consume('id'))
          })
          const units = (await Promise.all(decisions)).filter(({ allowed }) => allowed).length
          admitted.push({ at: clock.now(), units })
          if ((await scripts()) - before < 3) local++
          clock.advance(later)
        }
        for (const [first, { at: from }] of admitted.entries()) {
          let sum = 0
          for (const { at, units } of admitted.slice(first)) {
            sum += units
            expect(sum).toBeLessThanOrEqual(bound(from, at))
          }
        }
      }),
      { numRuns: 6 },
    )
    expect(local).toBeGreaterThan(1)
  })

  test('one process admits as many as without leases, and three as many less what they hold ahead', async () => {
    await fc.assert(
      fc.asyncProperty(steps, most, fc.constantFrom(1, 3), async (steps, most, size) => {
        const clock = new ManualClock(0)
        const options = { clock: clock.now, refusalCache: false }
        const policy = fixedWindow({ limit: 300, window: '1d' })
        const totals = []
        for (const leases of [undefined, { units: 'auto', most } as const]) {
          const fleet = fleetOf(size, policy, { ...options, ...(leases && { leases }) })
          let total = 0
          for (const { process, calls, later } of steps) {
            const limiter = fleet[process % size] as RateLimiter
            const decisions = await Promise.all(Array.from({ length: calls }, () => limiter.consume('id')))
            total += decisions.filter(({ allowed }) => allowed).length
            clock.advance(later)
          }
          totals.push(total)
        }
        const [without, byDemand] = totals as [number, number]
        expect(byDemand).toBeLessThanOrEqual(without)
        expect(byDemand).toBeGreaterThanOrEqual(size === 1 ? without : without - size * most)
      }),
      { numRuns: 6 },
    )
  })

  test('no process holds more ahead than the most', async () => {
    await fc.assert(
      fc.asyncProperty(steps, most, async (steps, most) => {
        const clock = new ManualClock(0)
        const policy = fixedWindow({ limit: 1_000_000, window: '1d' })
        const [limiter] = fleetOf(1, policy, { clock: clock.now, leases: { units: 'auto', most } }) as [RateLimiter]
        let total = 0
        for (const { calls, later } of steps) {
          await Promise.all(Array.from({ length: calls }, () => limiter.consume('id')))
          total += calls
          const ahead = 1_000_000 - (await limiter.peek('id')).remaining - total
          expect(ahead).toBeGreaterThanOrEqual(0)
          expect(ahead).toBeLessThanOrEqual(most)
          clock.advance(later)
        }
      }),
      { numRuns: 6 },
    )
  })
})

test('a key with few calls takes nothing ahead', async () => {
  const policies = fixedWindow({ limit: 100, window: '1h' })
  const [limiter] = fleetOf(1, policies, { leases: 'auto' }) as [RateLimiter]
  for (let n = 1; n < 10; n++) {
    await limiter.consume('id')
    expect((await limiter.peek('id')).remaining).toBe(100 - n)
  }
})

test('a bucket that is nearly empty all the time gives no leases, which would be lost, and refuses nobody', async () => {
  const clock = new ManualClock(0)
  const policies = tokenBucket({ limit: 10_000, window: '1s', burst: 1000 })
  const [limiter] = fleetOf(1, policies, { clock: clock.now, leases: 'auto' }) as [RateLimiter]
  for (let n = 0; n < 300; n++) {
    const decisions = await Promise.all(Array.from({ length: 40 }, () => limiter.consume('id')))
    expect(decisions.every(({ allowed }) => allowed)).toBe(true)
    clock.advance(5)
  }
})

test('a lease that is requested ahead under a smaller plan moves no count to that plan', async () => {
  const daily = (limit: number) => fixedWindow({ name: 'daily', limit, window: '1d' })
  const options = { leases: 'auto', refusalCache: false } as const
  const [first, ...others] = fleetOf(4, daily(1000), options) as [RateLimiter, ...RateLimiter[]]
  let admitted = 0
  async function take(limiter: RateLimiter, calls: number, cost = 1): Promise<void> {
    for (let n = 0; n < calls; n++) if ((await limiter.consume('ann', { cost })).allowed) admitted += cost
  }
  const small = others.map((limiter) => limiter.withPlan(daily(500)))
  for (const each of small) await take(each, 40) // half of the lease is left
  await take(first, 100, 10)
  for (const each of small) {
    await take(each, 60)
    await new Promise((wake) => setTimeout(wake, 50)) // for units that are leased in the background
    await take(first, 100, 10)
  }
  expect(admitted).toBeLessThanOrEqual(1000)
  expect(admitted).toBeGreaterThan(900)
})

test('a decision tells what is left, with what is held ahead', async () => {
  const policies = fixedWindow({ limit: 10_000, window: '1h' })
  const [limiter] = fleetOf(1, policies, { leases: 'auto' }) as [RateLimiter]
  const before = await scripts()
  for (let n = 1; n <= 500; n++) {
    const { remaining, policies } = await limiter.consume('id')
    expect([remaining, policies[0]?.used]).toEqual([10_000 - n, n])
  }
  expect((await scripts()) - before).toBeLessThan(100)
})

test('many new keys take no leased units from other keys, and have leases when others are used up', async () => {
  const policies = fixedWindow({ limit: 10_000, window: '1d' })
  const [limiter] = fleetOf(1, policies, { leases: { units: 5 } }) as [RateLimiter]
  const usedInRedis = async (key: string) => (await limiter.inspect(key)).policies[0]?.used
  await limiter.consume('victim')
  for (let n = 0; n < 10_500; n += 500) {
    await Promise.all(Array.from({ length: 500 }, (_, more) => limiter.consume(`new-${n + more}`)))
  }
  expect([await usedInRedis('new-0'), await usedInRedis('new-10499')]).toEqual([5, 1])
  for (let n = 1; n < 5; n++) await limiter.consume('victim')
  expect(await usedInRedis('victim')).toBe(5)
  // The lease of the victim is used up. Each call of another key looks at some of the leases.
  for (let n = 0; n < 2600; n++) await limiter.consume('another')
  const before = await scripts()
  for (let n = 0; n < 10; n++) await limiter.consume('another')
  expect((await scripts()) - before).toBe(2)
}, 60_000)

test.each(['auto', { units: 50 }] as const)('a shadow policy reports its refusals with leases: %j', async (leases) => {
  const store = redisStore({ client, timeout: '10s', leases })
  const policies = [
    fixedWindow({ limit: 1000, window: '1d' }),
    fixedWindow({ name: 'try', limit: 20, window: '1d', shadow: true }),
  ]
  const limiter = new RateLimiter({ name: `shadow-${names++}`, policies, store, onStoreError: 'throw' })
  const refused: number[] = []
  for (let n = 1; n <= 40; n++) {
    const { allowed, policies: verdicts } = await limiter.consume('ann')
    expect(allowed).toBe(true)
    if (!verdicts[1]?.allowed) refused.push(n)
  }
  expect(refused).toEqual(Array.from({ length: 20 }, (_, n) => n + 21))
})

test.each([
  ['auto', 1],
  ['auto', 20],
  [{ units: 100 }, 1],
  [{ units: 100 }, 20],
] as const)('a charge that spends the quota stops the key with leases: %j, %i at once', async (leases, atOnce) => {
  for (const verb of ['charge', 'settle'] as const) {
    const [limiter] = fleetOf(1, fixedWindow({ limit: 1000, window: '1d' }), { leases }) as [RateLimiter]
    let admitted = 0
    const request = async () => {
      if (verb === 'charge') {
        if (!(await limiter.consume('ann')).allowed) return
        await limiter.charge('ann', { cost: 49 })
      } else {
        if (!(await limiter.consume('ann')).allowed) return
        const reservation = await limiter.reserve('ann')
        if (!reservation.allowed) return
        await reservation.settle(49)
      }
      admitted++
    }
    for (let n = 0; n < 200; n += atOnce) await Promise.all(Array.from({ length: atOnce }, request))
    expect(admitted).toBeLessThanOrEqual(20 + atOnce)
    expect(admitted).toBeGreaterThanOrEqual(17)
  }
})

const changes = {
  'one charge': (limiter: RateLimiter) => limiter.charge('ann', { cost: 60 }),
  'many charges': async (limiter: RateLimiter) => {
    for (let n = 0; n < 12; n++) await limiter.charge('ann', { cost: 5 })
  },
  'a charge that is given back in parts': async (limiter: RateLimiter) => {
    await limiter.charge('ann', { cost: 100 })
    for (let n = 0; n < 8; n++) await limiter.refund('ann', { cost: 5 })
  },
  'a reservation that is settled at more, or a charge if it is refused': async (limiter: RateLimiter) => {
    const reservation = await limiter.reserve('ann', { cost: 1 })
    if (reservation.allowed) await reservation.settle(60)
    else await limiter.charge('ann', { cost: 60 })
  },
}

test.each(Object.entries(changes))('%s takes its units from the leased units once', async (_name, change) => {
  for (const policy of [fixedWindow({ limit: 1000, window: '1d' }), tokenBucket({ limit: 1000, window: '1d' })]) {
    for (const leases of [undefined, 'auto', { units: 400 }] as const) {
      const clock = new ManualClock()
      const [limiter] = fleetOf(1, policy, { clock: clock.now, leases }) as [RateLimiter]
      const burst = async (count: number) => {
        const decisions = await Promise.all(Array.from({ length: count }, () => limiter.consume('ann')))
        return decisions.filter(({ allowed }) => allowed).length
      }
      let admitted = 0
      for (let n = 0; n < 21; n++) admitted += await burst(40)
      await change(limiter)
      for (let n = 0; n < 20; n++) admitted += await burst(10)
      expect(admitted).toBe(940)
    }
  }
})

test('a settlement beyond the estimate under the plan of before takes the leased units of the plan of now', async () => {
  for (const leases of ['auto', { units: 100 }] as const) {
    const clock = new ManualClock()
    const policy = (limit: number) => fixedWindow({ name: 'hourly', limit, window: '1h' })
    const [free] = fleetOf(1, policy(1000), { clock: clock.now, leases }) as [RateLimiter]
    const paid = free.withPlan(policy(2000))
    const reservation = await free.reserve('ann', { cost: 10 })
    if (!reservation.allowed) throw new Error('the reservation was refused')
    for (let n = 0; n < 20; n++) await Promise.all(Array.from({ length: 40 }, () => paid.consume('ann')))
    await reservation.settle(3000)
    const decisions = await Promise.all(Array.from({ length: 100 }, () => paid.consume('ann')))
    expect(decisions.some(({ allowed }) => allowed)).toBe(false)
  }
})

test('a charge under another plan that leaves this plan no unit, and no debt, takes no leased unit', async () => {
  const clock = new ManualClock()
  const policy = (more: object) => [
    fixedWindow({ name: 'daily', limit: 1000, window: '1d' }),
    fixedWindow({ name: 'm', window: '1m', ...more } as never),
  ]
  const [limiter] = fleetOf(1, policy({ limit: 5000 }) as never, { clock: clock.now, leases: { units: 400 } }) as [
    RateLimiter,
  ]
  const other = limiter.withPlan(policy({ limit: 4000 }))
  await limiter.consume('ann') // leases 399 more
  await other.charge('ann', { cost: 600 })
  const decisions = await Promise.all(Array.from({ length: 500 }, () => limiter.consume('ann')))
  expect(decisions.filter(({ allowed }) => allowed).length).toBe(399)
})

test('units that were set aside come back without a lease beside them, so a process never holds more than one lease', async () => {
  const clock = new ManualClock()
  const policy = fixedWindow({ limit: 2000, window: '1d' })
  const [limiter] = fleetOf(
    1,
    policy,
    { clock: clock.now, leases: { units: 400 }, refusalCache: false },
    'set-aside',
  ) as [RateLimiter]
  await limiter.consume('ann')
  await limiter.charge('ann', { cost: 2000 })
  expect((await limiter.consume('ann')).allowed).toBe(false)
  const [elsewhere] = fleetOf(1, policy, { clock: clock.now }, 'set-aside') as [RateLimiter]
  await elsewhere.refund('ann', { cost: 2000 })
  const decisions = await Promise.all(Array.from({ length: 300 }, () => limiter.consume('ann')))
  expect(decisions.every(({ allowed }) => allowed)).toBe(true)
  expect((await limiter.peek('ann')).policies[0]?.used).toBe(1 + 300 + 399)
})

describe('a reset or a ban of one key of several scopes', () => {
  const policies = ['connection', 'user'].map((scope) => fixedWindow({ name: scope, scope, limit: 100, window: '1d' }))
  const taken = async (limiter: RateLimiter, connection: string) => {
    const before = await scripts()
    const { policies: verdicts } = await limiter.consume({ connection, user: `user of ${connection}` })
    return [verdicts.map(({ used }) => used), (await scripts()) - before]
  }
  const started = async () => {
    const options = { leases: { units: 10 }, clock: new ManualClock().now }
    const [limiter] = fleetOf(1, policies as never, options) as [RateLimiter]
    expect(await taken(limiter, 'ann')).toEqual([[1, 1], 1])
    return limiter
  }

  test.each<[string, (limiter: RateLimiter) => Promise<unknown>]>([
    ['reset of a connection', (limiter) => limiter.reset({ connection: 'bob' })],
    ['reset of a whole key', (limiter) => limiter.reset({ connection: 'bob', user: 'bob' })],
    ['ban', (limiter) => limiter.ban({ connection: 'bob' }, '1h')],
  ])('leaves the leased units of other keys: %s', async (_, change) => {
    const limiter = await started()
    for (let used = 2; used <= 10; used++) {
      await change(limiter)
      expect(await taken(limiter, 'ann')).toEqual([[used, used], 0])
    }
  })

  test('leaves a lease that is under way', async () => {
    const limiter = await started()
    const [first] = await Promise.all([taken(limiter, 'eve'), limiter.reset({ connection: 'bob' })])
    expect(first).toEqual([[1, 1], expect.any(Number)])
    expect(await taken(limiter, 'eve')).toEqual([[2, 2], 0])
  })

  test.each(['connection', 'user'])('ends the leases of the keys that have this %s', async (scope) => {
    const limiter = await started()
    const key = scope === 'user' ? { user: 'user of ann' } : { connection: 'ann' }
    await limiter.reset(key)
    const used = scope === 'user' ? [11, 1] : [1, 11]
    expect(await taken(limiter, 'ann')).toEqual([used, 1])
    await limiter.ban(key, '1h')
    expect(await limiter.consume({ connection: 'ann', user: 'user of ann' })).toMatchObject({
      allowed: false,
      policy: 'ban',
    })
  })

  test('ends all leases of several keys if more keys were changed than a process remembers', async () => {
    const limiter = await started()
    for (let n = 0; n < 10_000; n += 500) {
      const some = Array.from({ length: 500 }, (_, each) => limiter.reset({ connection: `${n + each}` }))
      await Promise.all(some)
    }
    expect(await taken(limiter, 'ann')).toEqual([[2, 2], 0])
    await limiter.reset({ connection: 'one more' })
    expect(await taken(limiter, 'ann')).toEqual([[11, 11], 1])
  })
})

test.each([{ leases: 'auto' }, { leases: { units: 10 } }] as const)(
  'a counter alone has no leases, so its number is exact: %o',
  async (options) => {
    const fleet = fleetOf(2, counter({ window: '1h' }), options)
    let highest = 0
    for (let n = 1; n <= 60; n++) {
      const limiter = fleet[n % 2] as RateLimiter
      const [hits] = (await limiter.consume('k')).policies
      expect(hits?.used).toBe(++highest)
      if (n % 3 === 0) {
        await limiter.refund('k')
        highest--
      }
    }
  },
)
