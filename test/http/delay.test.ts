import { connect } from 'node:net'
import { afterEach, beforeEach, expect, test, vi } from 'vitest'
import { rateLimit } from '../../adapters/express.ts'
import { byHeader, RateLimiter, slidingLog, tokenBucket } from '../../src/index.ts'
import { asyncStore } from '../support/async-store.ts'
import { contract, hangUp, signal, stillStore, until } from '../support/contract.ts'
import { get } from '../support/frameworks.ts'

const policies = tokenBucket({ limit: 1, window: '1s' })
const keys = () => 'k'

beforeEach(() => void vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] }))
afterEach(() => void vi.useRealTimers())

contract((app, lacks) => {
  const start = (url: string, fields?: Record<string, string>) => {
    const state = { status: 0, headers: {} as Record<string, unknown> }
    // A request that still waits at the end of a test is cut off.
    const cut = () => undefined
    void get(url, fields).then(({ status, headers }) => Object.assign(state, { status, headers }), cut)
    return state
  }

  test.each([
    [false, ''],
    [true, ''],
    [false, '/search'],
    [true, '/search'],
  ])('each request goes on at its time, in order; asynchronous store: %s, route %j', async (later, path) => {
    const { store } = stillStore()
    const options = { policies, keys, delay: { max: '2s' }, store: later ? asyncStore(store) : store }
    const { url: home, handled } = await app(options, { search: (limit, cost) => [limit, cost(1)] })
    const url = home + path
    const first = start(url)
    await until(() => first.status === 200)
    const second = start(url)
    await until(() => vi.getTimerCount() === 1)
    const third = start(url)
    await until(() => vi.getTimerCount() === 2)
    const fourth = start(url)
    await until(() => fourth.status === 429)
    expect(fourth.headers['retry-after']).toBe('3')
    expect(handled()).toBe(1)
    vi.advanceTimersByTime(999)
    await until(() => true)
    expect([second.status, handled()]).toEqual([0, 1])
    vi.advanceTimersByTime(1)
    await until(() => second.status === 200)
    expect([third.status, handled()]).toEqual([0, 2])
    vi.advanceTimersByTime(1000)
    await until(() => third.status === 200)
  })

  test('a client that leaves returns its units', async () => {
    const limiter = new RateLimiter({ policies, store: stillStore().store })
    const { url, handled } = await app({ limiter, keys, delay: { max: '2s' }, count: 'failures' })
    const first = start(url)
    await until(() => first.status === 200)
    const leave = signal()
    await limiter.reset('k')
    await limiter.consume('k')
    const gone = hangUp(url, leave.promise)
    await until(() => vi.getTimerCount() === 1)
    expect((await limiter.peek('k')).retryAfter).toBe(2000)
    leave.give()
    await gone
    await until(() => vi.getTimerCount() === 0)
    await until(() => true)
    expect((await limiter.peek('k')).retryAfter).toBe(1000)
    expect(handled()).toBe(1)
  })

  test('a ban refuses new requests of the key, and its waiting requests run at their times', async () => {
    const limiter = new RateLimiter({ policies, store: stillStore().store })
    const { url, handled } = await app({ limiter, keys, delay: { max: '2s' } })
    await limiter.consume('k')
    const waiting = start(url)
    await until(() => vi.getTimerCount() === 1)
    await limiter.ban('k', '1h')
    const late = start(url)
    await until(() => late.status === 429)
    expect([late.headers['retry-after'], handled()]).toEqual(['3600', 0])
    vi.advanceTimersByTime(1000)
    await until(() => waiting.status === 200)
    expect(handled()).toBe(1)
  })

  test('on an asynchronous store, a refused request uses the time of a client that left, but not during a ban', async () => {
    const limiter = new RateLimiter({ policies, store: asyncStore(stillStore().store) })
    const { url, handled } = await app({ limiter, keys, delay: { max: '2s' } })
    await limiter.consume('k')
    const leave = signal()
    const gone = hangUp(url, leave.promise)
    await until(() => vi.getTimerCount() === 1)
    const second = start(url)
    await until(() => vi.getTimerCount() === 2)
    leave.give()
    await gone
    await until(() => true)
    expect((await limiter.peek('k')).retryAfter).toBe(3000) // a gap before the second would help nobody
    await limiter.ban('k', '1h')
    const banned = start(url)
    await until(() => banned.status === 429)
    await limiter.unban('k')
    const third = start(url)
    await until(() => limiter.load.waiting === 2)
    vi.advanceTimersByTime(1000)
    await until(() => second.status === 200)
    const fourth = start(url)
    await until(() => fourth.status === 429)
    expect([third.status, handled()]).toEqual([0, 1])
    vi.advanceTimersByTime(1000)
    await until(() => third.status === 200)
  })

  test('on an asynchronous store, clients that left keep no more places than the queue has', async () => {
    const limiter = new RateLimiter({ policies, store: asyncStore(stillStore().store) })
    const { url } = await app({ limiter, keys, delay: { max: '1h', queue: 8 } })
    await limiter.consume('k')
    const waits = signal()
    const waiting = [hangUp(url, waits.promise)]
    await until(() => vi.getTimerCount() === 1)
    for (let n = 0; n < 5; n++) {
      const leave = signal()
      const gone = hangUp(url, leave.promise)
      await until(() => vi.getTimerCount() === 2)
      leave.give()
      await gone
    }
    expect((await limiter.peek('k')).retryAfter).toBe(3000)
    waits.give()
    await Promise.all(waiting)
    await until(() => vi.getTimerCount() === 0)
    await until(() => true)
    expect((await limiter.peek('k')).retryAfter).toBe(1000)
  })

  test('a request that moved up settles the units of the time that it used', async () => {
    const limiter = new RateLimiter({ policies, store: stillStore().store })
    const { url } = await app(
      { limiter, keys, delay: { max: '10s' }, settle: true },
      {
        handle: async (decision) => {
          await decision?.settle?.(0)
          return 200
        },
      },
    )
    await limiter.consume('k')
    const leave = signal()
    const gone = hangUp(url, leave.promise)
    await until(() => vi.getTimerCount() === 1)
    const second = start(url)
    await until(() => vi.getTimerCount() === 2)
    leave.give()
    await gone
    await until(() => vi.getTimerCount() === 1)
    expect((await limiter.peek('k')).retryAfter).toBe(2000)
    vi.advanceTimersByTime(1000)
    await until(() => second.status === 200)
    expect((await limiter.peek('k')).retryAfter).toBe(1000)
  })

  if (!lacks('the end of a pipelined request')) {
    test('a pipelining client that leaves returns its units, and no handler runs for it', async () => {
      const limiter = new RateLimiter({ policies, store: stillStore().store })
      const begun = signal()
      const release = signal()
      const { url, handled } = await app(
        { limiter, keys, delay: { max: '10s' } },
        {
          handle: async () => {
            begun.give()
            await release.promise
            return 200
          },
        },
      )
      const socket = connect(Number(new URL(url).port), '127.0.0.1')
      socket.on('error', () => undefined)
      socket.write('GET / HTTP/1.1\r\nHost: a\r\n\r\n'.repeat(4))
      await begun.promise
      await until(() => vi.getTimerCount() === 3)
      socket.destroy()
      await until(() => vi.getTimerCount() === 0)
      vi.runAllTimers()
      release.give()
      await new Promise((resolve) => setImmediate(resolve))
      expect([handled(), (await limiter.peek('k')).retryAfter]).toEqual([1, 1000])
    })
  }

  test.each([false, true])('no more requests wait than the queue holds; asynchronous store: %s', async (later) => {
    const store = stillStore().store
    const limiter = new RateLimiter({ policies, store: later ? asyncStore(store) : store })
    const { url } = await app({ limiter, keys, delay: { max: '1h', queue: 8 } })
    await limiter.consume('k')
    const all = Array.from({ length: 10 }, () => start(url))
    await until(() => all.filter(({ status }) => status === 429).length === 8)
    expect(vi.getTimerCount()).toBe(2)
    vi.advanceTimersByTime(2000)
    await until(() => all.filter(({ status }) => status === 200).length === 2)
    const next = start(url)
    await until(() => vi.getTimerCount() === 1)
    vi.runAllTimers()
    await until(() => next.status === 200)
  })

  test.each([false, true])('one key leaves places for the others; asynchronous store: %s', async (later) => {
    const { store } = stillStore()
    const { url, handled } = await app({
      policies: '10/1s token-bucket',
      keys: byHeader('x-key'),
      delay: { max: '30s', queue: 20 },
      store: later ? asyncStore(store) : store,
    })
    const burst = (key: string, count: number) => Array.from({ length: count }, () => start(url, { 'x-key': key }))
    const answered = (all: readonly { status: number }[], status: number) => {
      return all.filter((each) => each.status === status).length
    }
    const attack = burst('attacker', 50)
    await until(() => answered(attack, 200) === 10 && answered(attack, 429) === 35)
    const second = burst('accomplice', 40)
    await until(() => answered(second, 200) === 10 && answered(second, 429) === 26)
    const victim = burst('victim', 12)
    await until(() => answered(victim, 200) === 10)
    await until(() => vi.getTimerCount() === 11)
    vi.advanceTimersByTime(200)
    await until(() => answered(victim, 200) === 12)
    expect([answered(victim, 429), handled()]).toEqual([0, 36])
    vi.runAllTimers()
  })

  test('no key of another scope makes another share', async () => {
    const { url } = await app({
      policies: [policies, slidingLog({ limit: 1, window: '1h', scope: 'tab', shadow: true })],
      keys: { default: keys, tab: byHeader('x-tab') },
      delay: { max: '1h', queue: 8 },
    })
    const all = Array.from({ length: 10 }, (_, n) => start(url, { 'x-tab': String(n) }))
    await until(() => all.filter(({ status }) => status === 429).length === 7)
    expect(all.filter(({ status }) => status === 200)).toHaveLength(1)
    vi.runAllTimers()
    await until(() => all.filter(({ status }) => status === 200).length === 3)
  })
})

test.each([
  ['a sliding window, which cannot promise', { policies: '5/1s', delay: { max: '1s' } }],
  ['two policies', { policies: ['5/1s token-bucket', '100/1h token-bucket'], delay: { max: '1s' } }],
  [
    'units in flight, whose lease would end while the request waits',
    { policies: [policies, '2 at once'], delay: { max: '1s' } },
  ],
  ['no max', { policies, delay: {} }],
  ['a max beyond an hour', { policies, delay: { max: '2h' } }],
  ['an empty queue', { policies, delay: { max: '1s', queue: 0 } }],
  ['another option', { policies, delay: { max: '1s', after: 5 } }],
])('delay with %s throws at construction', (_what, options) => {
  expect(() => rateLimit(options as never)).toThrow(expect.objectContaining({ code: 'HEADGATE_OPTION' }))
})
