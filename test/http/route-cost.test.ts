import { createServer } from 'node:http'
import express from 'express'
import { expect, test, vi } from 'vitest'
import { rateLimit } from '../../adapters/express.ts'
import { forgetWarnings } from '../../src/common/warn.ts'
import { createGuard } from '../../src/http.ts'
import {
  concurrency,
  type Decision,
  type Dialect,
  fixedWindow,
  memoryStore,
  type Policy,
  RateLimiter,
  type RequestDecision,
  slidingLog,
  tokenBucket,
} from '../../src/index.ts'
import { ManualClock } from '../../src/testing/index.ts'
import { samples } from '../../src/testing/sample-policies.ts'
import { asyncStore, remoteStore } from '../support/async-store.ts'
import { contract, midnight, signal, statuses, stillStore, until } from '../support/contract.ts'
import { type AppOptions, get, serve } from '../support/frameworks.ts'
import { type PlainRequest, PlainResponse, plainFramework } from '../support/plain-framework.ts'
import { seededRandom } from '../support/seeded-random.ts'
import { queryOf } from '../support/shapes.ts'

const hourly = fixedWindow({ name: 'hour', limit: 10, window: '1h' })
const keys = () => 'ann'

type Search = NonNullable<AppOptions['search']>

async function used(limiter: RateLimiter): Promise<readonly number[]> {
  return (await limiter.peek('ann')).policies.map((policy) => policy.used)
}

const around: Search = (limit, cost) => [limit, cost(5)]

contract((app) => {
  test.each<[string, Search, number]>([
    ['around the route', around, 5],
    ['on the route alone', (_limit, cost) => [cost(5)], 5],
    ['behind the route', (limit, cost) => [cost(5), limit], 5],
    ['around and behind', (limit, cost) => [limit, cost(5), limit], 5],
    ['around, and the cost is lower', (limit, cost) => [limit, cost(1)], 1],
    ['around, and two costs: the last one counts', (limit, cost) => [limit, cost(7), cost(3)], 3],
    ['a record', (limit, cost) => [limit, cost({ hour: 4 })], 4],
    ['a record with 0', (limit, cost) => [limit, cost({ hour: 0 })], 0],
    ['a function', (limit, cost) => [limit, cost((r: unknown) => Number(queryOf(r, 'units')))], 2],
    ['an async function', (limit, cost) => [limit, cost(async (r: unknown) => Number(queryOf(r, 'units')))], 2],
  ])('the request costs what its route says: the limit %s', async (_name, search, units) => {
    for (const options of [{}, { settle: true }, { count: () => true }]) {
      for (const later of [false, true]) {
        const { store } = stillStore()
        const limiter = new RateLimiter({ policies: hourly, store: later ? asyncStore(store) : store })
        const { url, handled, decision } = await app({ limiter, keys, headers: 'draft-11', ...options }, { search })
        const { status, headers } = await get(`${url}/search?units=2`)
        expect([status, handled(), await used(limiter)]).toEqual([200, 1, [units]])
        expect(decision()).toMatchObject({
          allowed: true,
          remaining: 10 - units,
          key: 'ann',
          policies: [{ used: units }],
        })
        expect(headers.ratelimit).toBe(`"hour";r=${10 - units}${units > 0 ? ';t=3600' : ''}`)
        expect(headers['ratelimit-policy']).toBe('"hour";q=10;w=3600')
      }
    }
  })

  test('the cost of a route may be a list, of which the first that is admitted is taken', async () => {
    const pool = fixedWindow({ name: 'pool', limit: 3, window: '1h' })
    const limiter = new RateLimiter({ policies: [hourly, pool], store: stillStore().store })
    const list = [
      { hour: 6, pool: 0 },
      { hour: 0, pool: 3 },
    ]
    const { url } = await app({ limiter, keys }, { search: (limit, cost) => [limit, cost(list)] })
    expect(await statuses(`${url}/search`, [{}, {}, {}])).toEqual([200, 200, 429])
    expect(await used(limiter)).toEqual([6, 3])
  })

  test('a request that its route makes too dear is refused once, takes nothing, and is told the truth', async () => {
    const { store, clock } = stillStore()
    const limiter = new RateLimiter({ policies: slidingLog({ name: 'log', limit: 10, window: '1m' }), store })
    const refusals: number[] = []
    const refuse = ({ retryAfter }: Decision) => refusals.push(retryAfter) < 0
    const { url, handled } = await app({ limiter, keys, refuse }, { search: (limit, cost) => [limit, cost(4)] })
    const ask = async () => (await get(`${url}/search`)).status
    expect([await ask(), await ask()]).toEqual([200, 200])
    clock.advance('10s')
    const refused = await get(`${url}/search`)
    expect([refused.status, refused.headers['retry-after'], refused.headers['x-ratelimit-remaining']]).toEqual([
      429,
      '50',
      '2',
    ])
    expect([handled(), await used(limiter)]).toEqual([2, [8]])
    clock.advance((refusals[0] as number) - 1)
    expect(await ask()).toBe(429)
    clock.advance(1)
    expect([await ask(), await ask()]).toEqual([200, 200])
    expect(refusals).toEqual([50_000, 1])
  })

  test('count gives back what the route has cost', async () => {
    for (const [status, units] of [
      [200, 0],
      [500, 5],
    ] as const) {
      const limiter = new RateLimiter({ policies: hourly, store: stillStore().store })
      const { url } = await app({ limiter, keys, count: 'failures' }, { search: around, handle: () => status })
      await get(`${url}/search`)
      await expect.poll(() => used(limiter)).toEqual([units])
    }
  })

  test('a penalty for a spent quota bans for what the routes cost, and not for the first decision', async () => {
    const penalty = { on: 'spent', ban: '2h' } as const
    const handle = (_decision: unknown, url: string) => Number(queryOf({ url }, 'status') ?? 200)
    for (const count of ['all', 'failures'] as const) {
      const limiter = new RateLimiter({ policies: hourly, penalty, store: stillStore().store })
      const [dear, cheap] = [
        await app({ limiter, keys, count, cost: 10 }, { search: around, handle }),
        await app({ limiter, keys, count }, { search: around, handle }),
      ]
      expect((await get(`${dear.url}/search?status=401`)).status).toBe(401)
      expect((await get(`${cheap.url}/search?status=401`)).status).toBe(401)
      await expect.poll(async () => (await limiter.peek('ann')).policy).toBe('penalty')
      expect((await get(`${cheap.url}/search`)).headers['retry-after']).toBe('7200')
    }
  })

  test('settle corrects what the route has cost', async () => {
    const limiter = new RateLimiter({ policies: hourly, store: stillStore().store })
    const handle = async (decision: RequestDecision | undefined) => {
      await decision?.settle(2)
      return 200
    }
    const { url } = await app({ limiter, keys, settle: true }, { search: around, handle })
    await get(`${url}/search`)
    expect(await used(limiter)).toEqual([2])
  })

  test('units in flight are taken once, held while the request runs, and freed at its end', async () => {
    const { store } = stillStore()
    const slots = concurrency({ name: 'at-once', limit: 2, lease: '1m' })
    const limiter = new RateLimiter({ policies: [hourly, slots], store })
    const [begun, goOn] = [signal(), signal()]
    const handle = async () => {
      begun.give()
      await goOn.promise
      return 200
    }
    const cost = { hour: 5, 'at-once': 1 }
    const { url } = await app({ limiter, keys }, { search: (limit, of) => [limit, of(cost), limit, of(cost)], handle })
    const first = get(`${url}/search`)
    await begun.promise
    expect([await used(limiter), limiter.load.inFlight]).toEqual([[5, 1], 1])
    goOn.give()
    await first
    await until(() => limiter.load.inFlight === 0)
    expect(await used(limiter)).toEqual([5, 0])
  })

  test('with delay, a request waits for what its route costs, no longer than max in all', async () => {
    const policies = tokenBucket({ name: 'bucket', limit: 100, window: '1s', burst: 10 })
    const limiter = new RateLimiter({ policies })
    const { url } = await app(
      { limiter, keys, delay: { max: '200ms' } },
      { search: (limit, cost) => [limit, cost(10)] },
    )
    const seen = await Promise.all(Array.from({ length: 8 }, () => get(`${url}/search`)))
    const admitted = seen.filter(({ status }) => status === 200).length
    expect(admitted).toBeGreaterThanOrEqual(2) // 10 at once, and 10 every 100 ms
    expect(admitted).toBeLessThanOrEqual(4)
  })

  test('an exempt request stays exempt, and a key extractor is called once', async () => {
    let asked = 0
    const found = () => {
      asked++
      return 'ann'
    }
    let skipped = 0
    for (const exemption of [{ skip: () => ++skipped > 0 }, { allow: ['127.0.0.1'] }, { keys: () => false }]) {
      const limiter = new RateLimiter({ policies: hourly, store: stillStore().store })
      const { url, decision } = await app({ limiter, keys, ...exemption }, { search: around })
      expect((await get(`${url}/search`)).status).toBe(200)
      expect(decision()).toMatchObject({ allowed: true, policy: 'exempt', key: undefined })
      expect(await used(limiter)).toEqual([0])
    }
    const { url } = await app({ policies: hourly, keys: found }, { search: around })
    await get(`${url}/search`)
    expect([asked, skipped]).toEqual([1, 1])
  })

  test('under plans, the request keeps the plan that it had, and each plan checks the cost', async () => {
    const plans: Record<string, unknown> = {
      free: hourly,
      pro: fixedWindow({ name: 'hour', limit: 100, window: '1h' }),
    }
    let asked = 0
    const policies = (request: unknown) => {
      asked++
      return plans[queryOf(request, 'plan') as string] ?? 'unlimited'
    }
    const { store } = stillStore()
    const { url, decision } = await app({ policies, keys, store }, { search: (limit, cost) => [limit, cost(20)] })
    const ask = async (plan: string) => (await get(`${url}/search?plan=${plan}`)).status
    expect([await ask('free'), await ask('pro'), await ask('enterprise')]).toEqual([429, 200, 200])
    expect([asked, decision()?.policy]).toEqual([3, 'unlimited'])
    expect(decision()?.remaining).toBe(Infinity)
  })

  test('a cost function that fails goes to the error handler, and no handler runs', async () => {
    for (const bad of [() => 0, () => undefined, async () => -1, () => ({ minute: 1 })]) {
      const limiter = new RateLimiter({ policies: hourly, store: stillStore().store })
      const { url, handled } = await app({ limiter, keys }, { search: (limit, cost) => [limit, cost(bad)] })
      expect([(await get(`${url}/search`)).status, handled()]).toEqual([500, 0])
    }
  })

  test('enforce: 0 refuses nothing, and tells what would be', async () => {
    const limiter = new RateLimiter({ policies: hourly, store: stillStore().store })
    const { url, decision } = await app({ limiter, keys, enforce: 0 }, { search: (limit, cost) => [limit, cost(6)] })
    expect(await statuses(`${url}/search`, [{}, {}])).toEqual([200, 200])
    expect([decision()?.allowed, await used(limiter)]).toEqual([false, [6]])
  })

  test('a burst admits exactly what the costs allow', async () => {
    const limiter = new RateLimiter({ policies: '100/1h fixed-window', store: asyncStore(memoryStore()) })
    const { url } = await app({ limiter, keys }, { search: around })
    const seen = await Promise.all(Array.from({ length: 40 }, () => get(`${url}/search`)))
    const admitted = seen.filter(({ status }) => status === 200).length
    // While a request exchanges its unit for five, its unit may be in the way of another.
    expect(admitted).toBeLessThanOrEqual(20)
    expect(await used(limiter)).toEqual([admitted * 5])
  })

  test('a store that fails at the decision of the route: the choice of onStoreError holds', async () => {
    for (const [onStoreError, status] of [
      ['closed', 503],
      ['open', 200],
      ['local', 200],
    ] as const) {
      const { store } = stillStore()
      const failing = remoteStore((terms) => {
        const ledger = store.open(terms)
        return {
          async run(command) {
            if ('costs' in command && command.costs === 5) throw new Error('store is down')
            return await ledger.run(command)
          },
        }
      })
      const { url, handled } = await app({ policies: hourly, keys, store: failing, onStoreError }, { search: around })
      expect([(await get(`${url}/search`)).status, handled()]).toEqual([status, status === 200 ? 1 : 0])
    }
  })
})

test('two limits around a route: their lists have each policy once', async () => {
  const app = express()
  const limitOf = (policies: Policy, headers: Dialect) =>
    rateLimit({ policies, headers, keys, store: stillStore().store })
  const [own, other] = [
    limitOf(hourly, 'draft-11'),
    limitOf(fixedWindow({ name: 'other', limit: 9, window: '1h' }), 'draft-11'),
  ]
  const send: express.RequestHandler = (_request, response) => void response.send('found')
  app.get('/first', own, other, own.cost(5), send)
  app.get('/last', other, own, own.cost(5), send)
  app.get('/both', own, other, own.cost(2), other.cost(3), own.cost(2), send)
  const server = await serve(createServer(app))
  const listed = async (path: string) => (await get(`${server.url}/${path}`)).headers.ratelimit
  expect(await listed('first')).toBe('"other";r=8;t=3600, "hour";r=5;t=3600')
  expect(await listed('last')).toBe('"other";r=7;t=3600, "hour";r=0;t=3600')
  await own.limiter.reset('ann')
  expect(await listed('both')).toBe('"hour";r=8;t=3600, "other";r=4;t=3600')
  await server.close()
})

test('a cost is checked when the middleware of the route is made', () => {
  const limit = rateLimit({ policies: hourly })
  for (const wrong of [undefined, null, 0, -1, 1.5, '5', 11, { minute: 1 }, { hour: 11 }, {}, []]) {
    expect(() => limit.cost(wrong as never)).toThrow(expect.objectContaining({ code: 'HEADGATE_COST' }))
  }
})

test('a limit counts twice, and warns, if a request passes it twice and no route says a cost', async () => {
  const limiter = new RateLimiter({ policies: hourly, store: stillStore().store })
  const guard = createGuard(plainFramework, { limiter, keys })
  guard.withCost(5)
  const request = {}
  for (let n = 0; n < 2; n++) expect(await guard.check(request, new PlainResponse())).toBe(true)
  expect(await used(limiter)).toEqual([2])
})

test.each([1, 2])('a client that leaves before its route says the cost %i is stopped', async (cost) => {
  const limiter = new RateLimiter({ policies: [hourly, concurrency({ limit: 5 })], store: stillStore().store })
  let left = false
  const around = createGuard({ ...plainFramework, left: () => left }, { limiter, keys })
  const route = around.withCost({ hour: cost, 'at-once': 1 })
  const same = around.withCost(1)
  const [request, response]: [PlainRequest, PlainResponse] = [{}, new PlainResponse()]
  expect(await around.check(request, response)).toBe(true)
  left = true
  expect(await (cost === 1 ? same : route).check(request, response)).toBe(false)
})

test('with delay, a request that has waited for the limit may wait for its route only until max', async () => {
  vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] })
  try {
    for (const [max, status] of [
      ['200ms', 200],
      ['150ms', 429],
      ['100ms', 429],
    ] as const) {
      const { store, clock } = stillStore()
      const policies = tokenBucket({ name: 'bucket', limit: 10, window: '1s', burst: 2 })
      const limiter = new RateLimiter({ policies, store })
      const around = createGuard(plainFramework, { limiter, keys, delay: { max, queue: 1 } })
      const route = around.withCost(2)
      limiter.consumeSync('ann', { cost: 2 })
      // Twice: the first request has left its place in the queue.
      for (let n = 0; n < 2; n++) {
        const [request, response]: [PlainRequest, PlainResponse] = [{}, new PlainResponse()]
        const checked = (async () =>
          (await around.check(request, response)) && (await route.check(request, response)))()
        let ended = false
        void checked.then(() => {
          ended = true
        })
        while (!ended) {
          await new Promise((resolve) => setImmediate(resolve))
          clock.advance('50ms')
          vi.advanceTimersByTime(50)
        }
        expect(response.statusCode).toBe(status)
        await limiter.reset('ann')
        limiter.consumeSync('ann', { cost: 2 })
      }
    }
  } finally {
    vi.useRealTimers()
  }
})

test('the first decision of a request is over: count is asked once, its lease is not renewed, and nothing is warned of', async () => {
  vi.useFakeTimers({ toFake: ['setInterval', 'clearInterval'] })
  const warned = vi.spyOn(process, 'emitWarning').mockImplementation(() => undefined)
  forgetWarnings()
  try {
    let asked = 0
    const limiter = new RateLimiter({
      policies: [hourly, concurrency({ limit: 9, lease: '3s' })],
      store: stillStore().store,
    })
    const framework = { ...plainFramework, attached: ({ decision }: PlainRequest) => decision }
    const around = createGuard(framework, { limiter, keys, count: () => ++asked > 1 })
    const [one, two] = [around.withCost(2), around.withCost(3)]
    const [request, response]: [PlainRequest, PlainResponse] = [{}, new PlainResponse()]
    for (const guard of [around, one, two, two]) expect(await guard.check(request, response)).toBe(true)
    expect(await used(limiter)).toEqual([3, 3])
    vi.advanceTimersByTime(4000)
    await until(() => true)
    expect(await used(limiter)).toEqual([3, 3])
    response.end('done')
    await until(() => asked === 1)
    await expect.poll(() => used(limiter)).toEqual([0, 0])
    expect([asked, limiter.load.inFlight, warned.mock.calls]).toEqual([1, 0, []])
  } finally {
    vi.useRealTimers()
    warned.mockRestore()
  }
})

test('with near, the fields tell of the second decision, if the first one has set them', async () => {
  const limiter = new RateLimiter({ policies: hourly, store: stillStore().store })
  const headers = { near: true, dialects: ['legacy', 'draft-11'] } as const
  const around = createGuard(plainFramework, { limiter, keys, cost: 8, headers })
  const response = new PlainResponse()
  const request = {}
  for (const guard of [around, around.withCost(5)]) expect(await guard.check(request, response)).toBe(true)
  expect([response.headers['X-RateLimit-Remaining'], response.headers.RateLimit]).toEqual(['5', '"hour";r=5;t=3600'])
})

test('a client that leaves between the two decisions pays what the route costs, also under a penalty for a spent quota', async () => {
  for (const options of [{}, { count: 'failures' }] as const) {
    const limiter = new RateLimiter({
      policies: [hourly, concurrency({ limit: 9 })],
      penalty: { on: 'spent', ban: '2h' },
      store: stillStore().store,
    })
    const around = createGuard(plainFramework, { limiter, keys, cost: 4, ...options })
    const route = around.withCost(3)
    const [request, response]: [PlainRequest, PlainResponse] = [{}, new PlainResponse()]
    expect(await around.check(request, response)).toBe(true)
    response.destroyed = true
    response.emit('close')
    expect(await route.check(request, response)).toBe(false)
    expect(await used(limiter)).toEqual([3, 0, 0])
  }
})

/** A limit around a route, and a twin on a store of its own that is asked once for the cost of the route. */
function twins(policies: Policy) {
  const clock = new ManualClock(midnight)
  const made = () => new RateLimiter({ policies, store: memoryStore({ clock: clock.now }) })
  const [limiter, twin] = [made(), made()]
  let units = 1
  let pause = 0
  const around = createGuard(plainFramework, { limiter, keys })
  const route = around.withCost(() => {
    clock.advance(pause)
    return units
  })
  /** Sends a request to the route, which has this cost, and takes some time before it says so. */
  async function ask(cost: number, time = 0) {
    ;[units, pause] = [cost, time]
    const [request, response]: [PlainRequest, PlainResponse] = [{}, new PlainResponse()]
    const admitted = (await around.check(request, response)) && (await route.check(request, response))
    return { admitted, decision: request.decision as RequestDecision }
  }
  return { clock, ask, twin }
}

const asked = Object.entries(samples).filter(([name]) => name !== 'concurrency')

test.each(asked)(
  '%s: a limit around a route leaves the state that one call with the cost would leave',
  async (_name, of) => {
    const random = seededRandom(7)
    for (let run = 0; run < 20; run++) {
      const { clock, ask, twin } = twins(of({ limit: 6, window: '1s' }))
      for (let step = 0; step < 30; step++) {
        clock.advance(random(400))
        const cost = 1 + random(2)
        const { admitted, decision } = await ask(cost)
        const { allowed, remaining, retryAfter, resetAfter, policies } = twin.consumeSync('ann', { cost })
        const { retryAfter: wait, ...told } = decision
        expect([admitted, told]).toMatchObject([
          allowed,
          { remaining, resetAfter, policies: [{ used: policies[0]?.used }] },
        ])
        // A request that the limit refuses before the route is told the wait of its own unit.
        if (remaining > 0 || allowed) expect(wait).toBe(retryAfter)
      }
    }
  },
)

test.each(asked)(
  '%s: a refusal on the route tells the exact wait, however long the route took to say its cost',
  async (_name, of) => {
    const random = seededRandom(11)
    let refusals = 0
    for (let run = 0; run < 40; run++) {
      const { clock, ask } = twins(of({ limit: 6, window: '1s' }))
      for (let step = 0; step < 8; step++) {
        clock.advance(random(200))
        const { admitted, decision } = await ask(2, random(50))
        if (admitted) continue
        refusals++
        clock.advance(decision.retryAfter - 1)
        expect(await ask(decision.remaining > 0 ? 2 : 1)).toMatchObject({ admitted: false })
        clock.advance(1)
        expect(await ask(decision.remaining > 0 ? 2 : 1)).toMatchObject({ admitted: true })
      }
    }
    expect(refusals).toBeGreaterThan(20)
  },
)
