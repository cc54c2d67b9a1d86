import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { afterEach, describe, expect, test, vi } from 'vitest'
import { rateLimit } from '../../adapters/node.ts'
import type { Tickets } from '../../src/algorithms/evaluation/evaluation.ts'
import { unsupported } from '../../src/common/errors.ts'
import { concurrency, fixedWindow, type HeadgateError, lruStore, memoryStore, RateLimiter } from '../../src/index.ts'
import type { Booking } from '../../src/store.ts'
import { ShareStore } from '../../src/stores/shares/share-store.ts'
import { ManualClock } from '../../src/testing/index.ts'
import { asyncStore, remoteStore } from '../support/async-store.ts'

afterEach(() => vi.restoreAllMocks())

const code = (expected: string) => expect.objectContaining({ code: expected })

describe('the arguments', () => {
  const limiter = new RateLimiter({ policies: '5/1h' })
  const scoped = new RateLimiter({
    policies: ['address', 'user'].map((scope) => fixedWindow({ name: scope, scope, limit: 5, window: '1h' })),
  })

  test.each([0, -1, 1.5, '10y', 'soon', Number.NaN, -Infinity, undefined, null, {}, '367d'])(
    'a duration of %s is an error',
    async (duration) => {
      await expect(limiter.ban('k', duration as never)).rejects.toThrow(code('HEADGATE_BAN'))
      expect((await limiter.peek('k')).allowed).toBe(true)
    },
  )

  test.each([[{ reason: '' }], [{ reason: 'x'.repeat(201) }], [{ reason: 5 }]])('%j is an error', async (options) => {
    await expect(limiter.ban('k', '1h', options as never)).rejects.toThrow(code('HEADGATE_BAN'))
  })

  test('an unknown option, a bare reason and null are errors', async () => {
    for (const options of [{ because: 'x' }, 'x', null]) {
      await expect(limiter.ban('k', '1h', options as never)).rejects.toThrow(code('HEADGATE_OPTION'))
    }
  })

  test.each([[{}], [{ adress: 'a' }], [{ address: 'a', other: 'b' }], [{ user: 5 }], [5], [null], ['k'], [['k']]])(
    'the key %j of a limiter with two scopes is an error',
    async (key) => {
      await expect(scoped.ban(key as never, '1h')).rejects.toThrow(code('HEADGATE_KEY'))
      await expect(scoped.unban(key as never)).rejects.toThrow(code('HEADGATE_KEY'))
    },
  )
})

describe('a store in memory', () => {
  test('keeps a ban while a flood of keys fills it', async () => {
    const limiter = new RateLimiter({ policies: '1/1h', store: memoryStore({ maxKeys: 10 }) })
    await limiter.ban('k', '1h')
    for (let n = 0; n < 5000; n++) limiter.consumeSync(`flood-${n}`)
    expect(limiter.consumeSync('k').ban).toBeDefined()
  })

  test('tells the ban to a renewal, which keeps its units', () => {
    const policies = [concurrency({ limit: 1, lease: '1m' })]
    const ledger = memoryStore().open({ name: 'n', policies, scopes: ['default'] })
    const { tickets } = ledger.run({ verb: 'reserve', keys: ['k'] }) as Booking
    void ledger.run({ verb: 'ban', keys: ['k'], ban: { duration: 1e9 } })
    const { decision } = ledger.run({ verb: 'renew', keys: ['k'], tickets: tickets as Tickets }) as Booking
    expect(decision).toMatchObject({ allowed: true, remaining: 0, ban: { scope: 'default' } })
  })

  test.each([
    ['memory', memoryStore],
    ['lru', lruStore],
  ])(
    'has a bound in the %s store, whose error bans nothing, and forgets bans that are over',
    async (_name, storeOf) => {
      const clock = new ManualClock()
      const limiter = new RateLimiter({ policies: '1/1h', store: storeOf({ clock: clock.now }) })
      for (let n = 0; n < 100_000; n++) await limiter.ban(`k${n}`, n < 10 ? '1m' : '1h')
      await expect(limiter.ban('more', '1h')).rejects.toThrow(code('HEADGATE_BAN'))
      await limiter.ban('k10', '2h')
      expect(limiter.consumeSync('more').allowed).toBe(true)
      clock.advance('1m')
      for (let n = 0; n < 10; n++) await limiter.ban(`more${n}`, '1h')
      await expect(limiter.ban('one more', '1h')).rejects.toThrow(code('HEADGATE_BAN'))
      expect([limiter.consumeSync('k5').allowed, limiter.consumeSync('k11').allowed]).toEqual([true, false])
    },
  )

  test('a full lruStore that forgets ended bans evicts no key that was used since, and has space for as many new bans', async () => {
    const clock = new ManualClock()
    const limiter = new RateLimiter({ policies: '1/1d', store: lruStore({ maxKeys: 100, clock: clock.now }) })
    for (let n = 0; n < 100_000; n++) await limiter.ban(`k${n}`, '1m')
    clock.advance('2m')
    for (let n = 0; n < 100; n++) limiter.consumeSync(`live${n}`)
    await limiter.ban('more', '1h')
    expect(Array.from({ length: 100 }, (_, n) => limiter.consumeSync(`live${n}`).allowed)).not.toContain(true)
    for (let n = 0; n < 1000; n++) limiter.consumeSync(`k${n}`)
    for (let n = 1; n < 100_000; n++) await limiter.ban(`new${n}`, '1h')
    await expect(limiter.ban('one more', '1h')).rejects.toThrow(code('HEADGATE_BAN'))
  })

  test('keeps bans over plans, new limits and a clear', async () => {
    const limiter = new RateLimiter({ policies: '1/1h' })
    await limiter.ban('k', '1h')
    expect((await limiter.withPlan('7/1m').consume('k')).allowed).toBe(false)
    await limiter.clear()
    expect((await limiter.withPlan('7/1m').consume('k')).allowed).toBe(true)
  })
})

describe('while the store fails', () => {
  function rig(onStoreError: 'local' | 'closed' | 'open') {
    const inner = asyncStore(memoryStore())
    const state = { down: false }
    const store = remoteStore((terms) => {
      const ledger = inner.open(terms)
      return {
        async run(command) {
          if (state.down) throw new Error('the store is down')
          return await ledger.run(command)
        },
      }
    })
    return { state, limiter: new RateLimiter({ name: 'api', policies: '5/1h', store, onStoreError }) }
  }

  test("'local' refuses what this process has banned, and ban rejects with the store's error", async () => {
    const { state, limiter } = rig('local')
    await limiter.ban('before', '1h', { reason: 'why' })
    state.down = true
    await expect(limiter.ban('meanwhile', '1h')).rejects.toThrow('the store is down')
    const decision = await limiter.consume('before')
    expect(decision).toMatchObject({ allowed: false, policy: 'ban', source: 'fallback', ban: { reason: 'why' } })
    expect((await limiter.consume('meanwhile')).allowed).toBe(false)
    expect((await limiter.consume('other')).source).toBe('fallback')
    await expect(limiter.unban('before')).rejects.toThrow('the store is down')
    expect((await limiter.consume('before')).allowed).toBe(true)
    state.down = false
    await vi.waitFor(async () => expect((await limiter.consume('before')).source).toBe('store'), 3000)
    expect((await limiter.consume('before')).allowed).toBe(false)
    expect((await limiter.consume('meanwhile')).allowed).toBe(true)
  })

  test("'open' lets a banned key through, and 'closed' rejects", async () => {
    for (const [choice, outcome] of [
      ['open', { allowed: true, source: 'open' }],
      ['closed', { code: 'HEADGATE_STORE_UNAVAILABLE' }],
    ] as const) {
      const { state, limiter } = rig(choice)
      await limiter.ban('k', '1h')
      state.down = true
      expect(await limiter.consume('k').catch((error: HeadgateError) => error)).toMatchObject(outcome)
    }
  })

  test('a store without ban rejects', async () => {
    const inner = asyncStore(memoryStore())
    const store = remoteStore((terms) => {
      const ledger = inner.open(terms)
      return {
        run(command) {
          if (command.verb === 'ban' || command.verb === 'unban') throw unsupported(command.verb)
          return ledger.run(command)
        },
      }
    })
    const limiter = new RateLimiter({ name: 'api', policies: '5/1h', store })
    await expect(limiter.ban('k', '1h')).rejects.toThrow(code('HEADGATE_UNSUPPORTED'))
    await expect(limiter.unban('k')).rejects.toThrow(code('HEADGATE_UNSUPPORTED'))
  })
})

test('with shareStore a ban holds here at once, and in another process after its next report', async () => {
  const clock = new ManualClock()
  const exact = asyncStore(memoryStore({ clock: clock.now }))
  const [a, b] = [1, 2].map(() => {
    const store = new ShareStore(exact, 100, 1, clock.now, clock.sleeper)
    return new RateLimiter({ name: 'api', policies: '100/1h', store, storeTimeout: Infinity })
  }) as [RateLimiter, RateLimiter]
  const settle = async () => {
    for (let n = 0; n < 20; n++) await Promise.resolve()
  }
  const pass = async (milliseconds: number) => {
    clock.advance(milliseconds)
    await settle()
    await settle()
  }
  expect((await b.consume('k')).allowed).toBe(true)
  await a.ban('k', '1h', { reason: 'why' })
  expect(await a.consume('k')).toMatchObject({ allowed: false, policy: 'ban', ban: { reason: 'why' } })
  await pass(100)
  await b.consume('k')
  await pass(100)
  const known = await b.consume('k')
  expect(known).toMatchObject({ allowed: false, policy: 'ban', retryAfter: 3_600_000 - 200 })
  await pass(10_000) // an idle key keeps its ban
  expect((await b.consume('k')).allowed).toBe(false)
  await a.unban('k')
  expect((await a.consume('k')).allowed).toBe(true)
  await pass(100)
  await b.consume('k')
  await pass(100)
  expect((await b.consume('k')).allowed).toBe(true)
})

describe('over HTTP', () => {
  async function serve(options: Parameters<typeof rateLimit>[0]) {
    const limit = rateLimit(options)
    const server = createServer((request, response) => limit(request, response, () => response.end('ok')))
    await new Promise<void>((ready) => server.listen(0, '127.0.0.1', ready))
    return {
      limiter: limit.limiter as RateLimiter,
      server,
      url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    }
  }

  test.each([
    [429, {}],
    [403, { penalty: { after: 5, within: '1m', ban: '1m', status: 403 as const } }],
  ])('a banned client gets %d, Retry-After and no reason', async (status, options) => {
    const { limiter, server, url } = await serve({ policies: '5/1h', keys: () => 'me', ...options })
    expect((await fetch(url)).status).toBe(200)
    await limiter.ban('me', '90s', { reason: 'a secret' })
    const response = await fetch(url)
    expect([response.status, response.headers.get('retry-after')]).toEqual([status, '90'])
    expect(JSON.stringify([...response.headers, await response.text()])).not.toContain('secret')
    await limiter.ban('me', Infinity)
    const forever = await fetch(url)
    expect([forever.status, forever.headers.get('retry-after')]).toEqual([status, null])
    await limiter.unban('me')
    expect((await fetch(url)).status).toBe(200)
    server.close()
  })
})
