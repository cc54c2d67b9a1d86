import { createServer } from 'node:http'
import express, { type Request, type Response } from 'express'
import fastify from 'fastify'
import { expect, onTestFinished, test, vi } from 'vitest'
import { rateLimit } from '../../adapters/express.ts'
import { rateLimit as forFastify } from '../../adapters/fastify/index.ts'
import { createGuard } from '../../src/http.ts'
import { concurrency, fixedWindow, RateLimiter } from '../../src/index.ts'
import { asyncStore } from '../support/async-store.ts'
import { contract, hangUp, signal, statuses, stillStore, until } from '../support/contract.ts'
import { get } from '../support/frameworks.ts'
import { type PlainRequest, PlainResponse, plainFramework } from '../support/plain-framework.ts'
import { serve } from '../support/served-app.ts'
import { queryOf, statusOf } from '../support/shapes.ts'

const policies = fixedWindow({ limit: 2, window: '1h' })
const statusIn = (url: string) => Number(new URL(url, 'http://a').searchParams.get('status') ?? 200)
const planOf = (url: string) => new URL(url, 'http://a').searchParams.get('plan') ?? ''
const status = (_decision: unknown, url: string) => statusIn(url)

async function untilRemaining(limiter: RateLimiter, units: number): Promise<void> {
  let { remaining } = await limiter.peek('k')
  for (let turn = 0; turn < 10_000 && remaining !== units; turn++) {
    await new Promise((resolve) => setImmediate(resolve))
    remaining = (await limiter.peek('k')).remaining
  }
  expect(remaining).toBe(units)
}

const keys = () => 'k'

contract((app) => {
  const responses = async (limit: object, wanted: readonly number[]) => {
    const limiter = new RateLimiter({ policies, store: stillStore().store })
    const { url } = await app({ limiter, keys, ...limit }, { handle: status })
    const seen: number[] = []
    for (const each of wanted) seen.push((await get(`${url}/?status=${each}`)).status)
    return seen
  }

  test('failures: only responses with a status of at least 400 count', async () => {
    expect(await responses({ count: 'failures' }, [200, 200, 302, 404, 200, 500, 200])).toEqual([
      200, 200, 302, 404, 200, 500, 429,
    ])
  })

  test('successes: only responses with a status below 400 count', async () => {
    expect(await responses({ count: 'successes' }, [401, 401, 401, 200, 401, 304, 200])).toEqual([
      401, 401, 401, 200, 401, 304, 429,
    ])
  })

  test('the failure that spends the quota begins the ban of a penalty, and a success begins none', async () => {
    const penalty = { on: 'spent', ban: '1h' } as const
    const limiter = new RateLimiter({ policies, penalty, store: stillStore().store })
    const { url } = await app({ limiter, keys, count: 'failures' }, { handle: status })
    const banned = async () => (await limiter.peek('k')).policies[1]?.allowed === false
    for (const each of [401, 200, 200]) expect((await get(`${url}/?status=${each}`)).status).toBe(each)
    await untilRemaining(limiter, 1)
    expect(await banned()).toBe(false)
    expect((await get(`${url}/?status=401`)).status).toBe(401)
    await untilRemaining(limiter, 0)
    await vi.waitFor(async () => expect(await banned()).toBe(true))
    const { status: refused, headers } = await get(`${url}/?status=200`)
    expect([refused, headers['retry-after']]).toEqual([429, '3600'])
  })

  test('all: every response counts', async () => {
    expect(await responses({ count: 'all' }, [200, 404, 200])).toEqual([200, 404, 429])
  })

  test('count may be a function, sync or async', async () => {
    const teapot = (_request: unknown, response: unknown) => statusOf(response) === 418
    for (const count of [teapot, async (request: unknown, response: unknown) => teapot(request, response)]) {
      expect(await responses({ count }, [200, 404, 418, 200, 418, 200])).toEqual([200, 404, 418, 200, 418, 429])
    }
  })

  test('if the function throws or lacks its return, the request counts and nothing breaks', async () => {
    const throwing = () => {
      throw new Error('who knows')
    }
    const silent = (() => undefined) as unknown as () => boolean
    for (const count of [throwing, async () => throwing(), silent, async () => silent()]) {
      expect(await responses({ count }, [200, 200, 200])).toEqual([200, 200, 429])
    }
  })

  test.each([false, true])(
    'parallel requests cannot pass before the first is counted; asynchronous store: %s',
    async (later) => {
      const store = stillStore().store
      const limiter = new RateLimiter({
        policies: fixedWindow({ limit: 20, window: '1h' }),
        store: later ? asyncStore(store) : store,
      })
      const release = signal()
      const { url, handled } = await app(
        { limiter, keys, count: 'failures' },
        { handle: () => release.promise.then(() => 200) },
      )
      let refused = 0
      const burst = Array.from({ length: 100 }, async () => {
        const response = await get(url)
        if (response.status === 429) refused++
        return response.status
      })
      await until(() => refused === 80)
      expect(handled()).toBe(20)
      release.give()
      expect((await Promise.all(burst)).filter((each) => each === 200)).toHaveLength(20)
      expect((await limiter.peek('k')).remaining).toBe(20)
    },
  )

  test.each([
    ['a sliding window', (limit: number) => `${limit}/1h`],
    ['a fixed window', (limit: number) => `${limit}/1h fixed-window`],
    ['a bucket', (limit: number) => `${limit}/1h token-bucket`],
    ['a sliding log', (limit: number) => `${limit}/1h sliding-log`],
  ])('successes take nothing, in whatever order they end: %s', async (_name, text) => {
    const { store } = stillStore()
    const limiter = new RateLimiter({ policies: text(20), store })
    const releases: (() => void)[] = []
    const { url } = await app(
      { limiter, keys, count: 'failures' },
      { handle: (_decision, path) => new Promise<number>((resolve) => releases.push(() => resolve(statusIn(path)))) },
    )
    const ten = Array.from({ length: 10 }, (_, n) => get(`${url}/?status=${n === 3 ? 401 : 200}`))
    await until(() => releases.length === 10)
    for (const n of [4, 9, 0, 7, 1, 8, 2, 6, 5, 3]) releases[n]?.()
    await Promise.all(ten)
    await untilRemaining(limiter, 19)
  })

  test('240 successes, some failures among them, leave exactly what the failures leave', async () => {
    const { store } = stillStore()
    const limiter = new RateLimiter({ policies: '100/1h token-bucket', store })
    const { url } = await app({ limiter, keys, count: 'failures' }, { handle: status })
    const wave = (size: number, of: number) =>
      Promise.all(Array.from({ length: size }, async () => (await get(`${url}/?status=${of}`)).status))
    for (let n = 0; n < 12; n++) {
      expect(new Set(await wave(20, 200))).toEqual(new Set([200]))
      await untilRemaining(limiter, 100)
    }
    expect(new Set(await wave(7, 401))).toEqual(new Set([401]))
    await untilRemaining(limiter, 93)
  })

  test('no change of plans lets more failures through than the largest plan', async () => {
    const { store } = stillStore()
    const plans: Record<string, string> = { small: '2/1h fixed-window', big: '20/1h fixed-window' }
    const releases: (() => void)[] = []
    const { url, limiter } = await app(
      { store, keys, count: 'failures', policies: (request: unknown) => plans[queryOf(request, 'plan') ?? ''] },
      {
        handle: (_decision, path) =>
          planOf(path) === 'big' ? 401 : new Promise<number>((resolve) => releases.push(() => resolve(200))),
      },
    )
    let failures = 0
    for (let round = 0; round < 3; round++) {
      const before = releases.length
      let refused = false
      const success = get(`${url}/?plan=small`).then(({ status }) => {
        refused = status === 429
      })
      await until(() => releases.length > before || refused)
      for (let n = 0; n < 19; n++) if ((await get(`${url}/?plan=big`)).status === 401) failures++
      releases.at(-1)?.()
      await success
    }
    expect(failures).toBeGreaterThan(17)
    expect(failures).toBeLessThanOrEqual(20)
    expect((await (limiter as RateLimiter).withPlan(plans.big as string).peek('k')).remaining).toBe(20 - failures)
  })

  test('an aborted request counts, once', async () => {
    for (const count of ['failures', 'successes', () => false]) {
      const limiter = new RateLimiter({ policies: fixedWindow({ limit: 5, window: '1h' }) })
      const release = signal()
      const begun = signal()
      const { url, connections } = await app(
        { limiter, keys, count },
        {
          handle: async () => {
            begun.give()
            await release.promise
            return 200
          },
        },
      )
      await hangUp(url, begun.promise)
      while ((await connections()) > 0) await new Promise((resolve) => setImmediate(resolve))
      // A socket is no longer counted before it says that it is closed.
      await new Promise((resolve) => setImmediate(resolve))
      release.give()
      await new Promise((resolve) => setImmediate(resolve))
      expect((await limiter.peek('k')).remaining).toBe(4)
    }
  })

  test('a refused request holds no units', async () => {
    const count = vi.fn(() => false)
    const { url } = await app({ policies: '1/1h', count, cost: () => 2 })
    expect(await statuses(url, [{}, {}])).toEqual([429, 429])
    expect(count).not.toHaveBeenCalled()
  })
})

test('Fastify: a request by inject counts as one over a socket', async () => {
  const app = fastify()
  await app.register(forFastify({ policies, count: 'failures' }))
  app.get('/:status', async (request, reply) => {
    const { status } = request.params as { status: string }
    reply.code(Number(status))
    return ''
  })
  const seen: number[] = []
  for (const path of ['/200', '/200', '/404', '/200', '/nowhere/404', '/200']) {
    seen.push((await app.inject(path)).statusCode)
    await new Promise((resolve) => setImmediate(resolve))
  }
  expect(seen).toEqual([200, 200, 404, 200, 404, 429])
  await app.close()
})

test.each(['errors', 5, null, {}])('count: %j throws at construction', (count) => {
  expect(() => rateLimit({ policies, count } as never)).toThrow(expect.objectContaining({ code: 'HEADGATE_OPTION' }))
})

const refused = { after: 3, within: '1h', ban: '1h' } as const

test.each([
  ['failures', { policies, count: 'failures', penalty: refused }],
  ['a function', { policies, count: () => true, penalty: refused }],
  ['a limiter', { limiter: new RateLimiter({ policies, penalty: refused }), count: 'failures' }],
  ['plans', { policies: () => policies, count: 'failures', penalty: refused }],
] as const)('a penalty for refusals never begins for a client that waits, so it is an error: %s', (_, options) => {
  expect(() => rateLimit(options as never)).toThrow(
    expect.objectContaining({ code: 'HEADGATE_PENALTY', message: expect.stringContaining("on: 'spent', ban: '1h'") }),
  )
})

test('a plan with such a penalty is an error of its first request', () => {
  const limit = rateLimit({ policies: () => ({ policies, penalty: refused }), keys, count: 'failures' })
  const next = vi.fn()
  void limit({ ip: '192.0.2.1', socket: {}, headers: {} } as never, { setHeader() {} } as never, next)
  expect(next).toHaveBeenCalledWith(expect.objectContaining({ code: 'HEADGATE_PENALTY' }))
})

test.each(['all', 'successes'] as const)('count: %s goes with a penalty for refusals', (count) => {
  expect(() => rateLimit({ policies, count, penalty: refused })).not.toThrow()
})

test('without count, the request that spends the quota begins the ban, also beside a policy of units in flight', async () => {
  const limiter = new RateLimiter({
    policies: [concurrency({ name: 'slots', limit: 5, lease: '1m' }), policies],
    penalty: { on: 'spent', ban: '1h' },
  })
  const guard = createGuard<PlainRequest, PlainResponse>(plainFramework, { limiter, keys })
  const ends = [new PlainResponse(), new PlainResponse()]
  const bans = async () => (await limiter.peek('k')).policies[2]?.retryAfter
  expect([guard.check({}, ends[0] as PlainResponse), await bans()]).toEqual([true, 0])
  expect([guard.check({}, ends[1] as PlainResponse), await bans()]).toEqual([true, expect.closeTo(3_600_000, -4)])
  expect((await limiter.peek('k')).policies[0]?.used).toBe(2)
  for (const response of ends) response.end('')
  expect((await limiter.peek('k')).policies[0]?.used).toBe(0)
})

test('with settle, the settlement that spends the quota begins the ban', async () => {
  const limiter = new RateLimiter({ policies, penalty: { on: 'spent', ban: '1h' } })
  const guard = createGuard<PlainRequest, PlainResponse>(plainFramework, { limiter, keys, settle: true })
  const request: PlainRequest = {}
  const response = new PlainResponse()
  expect(guard.check(request, response)).toBe(true)
  response.end('')
  await request.decision?.settle?.(2)
  expect((await limiter.peek('k')).policies[1]?.allowed).toBe(false)
})

test.each([undefined, { on: 'spent', ban: '1h' }] as const)(
  'settle after the response corrects a failure that has counted; penalty: %j',
  async (penalty) => {
    const limiter = new RateLimiter({ policies: fixedWindow({ limit: 9, window: '1h' }), ...(penalty && { penalty }) })
    const options = { limiter, keys, cost: 4, settle: true, count: 'failures' } as const
    const guard = createGuard<PlainRequest, PlainResponse>(plainFramework, options)
    for (const [status, actual, used] of [
      [401, 1, 1],
      [200, 6, 1], // does not count, whatever `settle` says after the response
      [401, 6, 7],
    ] as const) {
      const request: PlainRequest = {}
      const response = new PlainResponse()
      expect(guard.check(request, response)).toBe(true)
      response.statusCode = status
      response.end('')
      await request.decision?.settle(actual)
      await request.decision?.settle(0)
      expect((await limiter.peek('k')).policies[0]?.used).toBe(used)
    }
  },
)

test.each([
  ['a response', false],
  ['a client that has disconnected', true],
] as const)(
  'settle after %s begins the ban of a failure that counts, if it spends the quota',
  async (_what, aborted) => {
    const limiter = new RateLimiter({ policies: '6/1h fixed-window', penalty: { on: 'spent', ban: '3h' } })
    const options = { limiter, keys, settle: true, count: 'failures' } as const
    const guard = createGuard<PlainRequest, PlainResponse>(plainFramework, options)
    const settled = async (actual: number) => {
      const request: PlainRequest = {}
      const response = new PlainResponse()
      expect(guard.check(request, response)).toBe(true)
      response.statusCode = 401
      if (aborted) response.emit('close')
      else response.end('')
      await request.decision?.settle(actual)
      const { policies: verdicts } = await limiter.peek('k')
      return { used: verdicts[0]?.used, banned: verdicts[1]?.allowed === false }
    }
    expect([await settled(3), await settled(0), await settled(4)]).toEqual([
      { used: 3, banned: false },
      { used: 3, banned: false },
      { used: 0, banned: true },
    ])
  },
)

test.each<[string, object, (response: Response) => unknown]>([
  ['a success, and throws', { count: 'successes' }, (response) => response.sendStatus(201)],
  ['a failure, and throws', { count: 'failures' }, (response) => response.sendStatus(401)],
  [
    'a failure, and throws; count is a function',
    { count: (_request: Request, { statusCode }: Response) => statusCode === 401 },
    (response) => response.status(401).json({ error: 'no' }),
  ],
])('Express: a handler that responds with %s', async (_what, limit, respond) => {
  const limiter = new RateLimiter({ policies, store: stillStore().store })
  const app = express()
  app.get('/', rateLimit({ limiter, keys, ...limit }), (_request, response) => {
    respond(response)
    throw new Error('thrown on purpose')
  })
  app.use((_error: unknown, _request: Request, response: Response, _next: unknown) => void response.status(500))
  const { url, close } = await serve(createServer(app))
  onTestFinished(close)
  for (const _ of [1, 2]) expect((await get(url)).status).not.toBe(429)
  await untilRemaining(limiter, 0)
  expect((await get(url)).status).toBe(429)
})
