import { subscribe, unsubscribe } from 'node:diagnostics_channel'
import { setTimeout as sleep } from 'node:timers/promises'
import fastify from 'fastify'
import { expect, test, vi } from 'vitest'
import { rateLimit as forExpress } from '../../adapters/express.ts'
import { rateLimit as forFastify } from '../../adapters/fastify/index.ts'
import { memoryStore, RateLimiter, type Store, type StoreErrorEvent } from '../../src/index.ts'
import { brokenStore, remoteStore } from '../support/async-store.ts'
import { contract, statuses } from '../support/contract.ts'
import { get } from '../support/frameworks.ts'
import { headerOf } from '../support/shapes.ts'

/** A store that is down. A new one each time, because each store has a breaker. */
const down = (): Store => brokenStore(() => Promise.reject(new Error('store is down')))
const fields = (headers: Record<string, unknown>) => Object.keys(headers).filter((name) => name.includes('ratelimit'))

test('the limiter of a middleware decides as the middleware does if the store fails', async () => {
  const failing = () => ({ store: down(), onStoreError: 'closed' }) as const
  const unavailable = { code: 'HEADGATE_STORE_UNAVAILABLE' }
  await expect(forExpress({ policies: '9/1h', ...failing() }).limiter.consume('k')).rejects.toMatchObject(unavailable)
  await expect(forExpress({ limit: 9, window: '1h', ...failing() }).limiter.consume('k')).rejects.toMatchObject(
    unavailable,
  )
  const plans = forExpress({ policies: () => '9/1h', ...failing() }).limiter
  await expect(plans.withPlan({ policies: '9/1h' }).consume('k')).rejects.toMatchObject(unavailable)
})

contract((app) => {
  test('closed responds with 503 with Retry-After, in the form that the client accepts, and admits no request', async () => {
    const { url, handled } = await app({ policies: '9/1h', store: down(), onStoreError: 'closed' })
    const plain = await get(url)
    expect(plain).toMatchObject({ status: 503, body: 'Service unavailable. Try again in 1 second.\n' })
    expect(plain.headers).toMatchObject({
      'retry-after': '1',
      'cache-control': 'no-store',
      'content-type': 'text/plain; charset=utf-8',
    })
    expect(fields(plain.headers)).toEqual([])
    const json = await get(url, { accept: 'application/json' })
    expect([json.status, JSON.parse(json.body)]).toEqual([
      503,
      { error: 'unavailable', message: 'Service unavailable. Try again in 1 second.', retryAfter: 1 },
    ])
    expect(handled()).toBe(0)
  })

  test('closed responds with problem details if they are asked for', async () => {
    const { url } = await app({ policies: '9/1h', store: down(), onStoreError: 'closed', problem: true })
    const { status, headers, body } = await get(url)
    expect([status, headers['content-type']]).toEqual([503, expect.stringMatching(/^application\/problem\+json/)])
    expect(JSON.parse(body)).toEqual({
      type: 'about:blank',
      title: 'Service Unavailable',
      status: 503,
      detail: 'Service unavailable. Try again in 1 second.',
    })
  })

  test('closed works with settle, count and delay; with enforce: 0 no request is refused', async () => {
    for (const more of [{ settle: true }, { count: 'failures' }, { delay: { max: '1s' } }]) {
      const limit = { policies: '9/1h token-bucket', store: down(), onStoreError: 'closed', ...more }
      expect(await statuses((await app(limit)).url, Array(7).fill({}))).toEqual(Array(7).fill(503))
    }
    for (const more of [{ enforce: 0 }, { enforce: 0, headers: 'legacy' }] as const) {
      const limit = { policies: '9/1h', store: down(), onStoreError: 'closed', ...more }
      expect(await statuses((await app(limit)).url, Array(7).fill({}))).toEqual(Array(7).fill(200))
    }
  })

  test('open admits requests without fields, because no number is known', async () => {
    const { url, decision } = await app({
      policies: '1/1h',
      store: down(),
      onStoreError: 'open',
      headers: ['legacy', 'draft-11'],
    })
    expect(await statuses(url, Array(7).fill({}))).toEqual(Array(7).fill(200))
    expect(fields((await get(url)).headers)).toEqual([])
    expect(decision()).toMatchObject({ allowed: true, source: 'open' })
  })

  test('local, the default, applies this process’s share of the limit', async () => {
    const { url, decision } = await app({ limit: 8, window: '1h', store: down(), instances: 4 })
    const { status, headers } = await get(url)
    expect([status, headers['x-ratelimit-limit'], headers['x-ratelimit-remaining']]).toEqual([200, '2', '1'])
    expect(decision()).toMatchObject({ source: 'fallback' })
    expect(await statuses(url, [{}, {}])).toEqual([200, 429])
  })

  test('a function chooses for each request', async () => {
    const seen: StoreErrorEvent[] = []
    const onStoreError = (event: StoreErrorEvent) => {
      seen.push(event)
      return event.key === 'vip' ? 'open' : event.key === 'login' ? 'closed' : undefined
    }
    const keys = (request: unknown) => headerOf(request, 'x-key')
    const { url } = await app({ policies: '1/1h', store: down(), keys, onStoreError })
    const responses = await statuses(
      url,
      ['vip', 'vip', 'login', 'ann', 'ann'].map((key) => ({ 'x-key': key })),
    )
    expect(responses).toEqual([200, 200, 503, 200, 429])
    expect(seen.map(({ key }) => key)).toEqual(['vip', 'vip', 'login', 'ann', 'ann'])
    expect(seen[0]).toMatchObject({ limiter: 'default', error: { message: 'store is down' } })
    expect([seen[0]?.request, seen[0]?.response]).not.toContain(undefined)
  })

  test("throw hands the store's error to the framework, and tells of it once", async () => {
    for (const more of [{}, { settle: true }, { count: 'failures' }]) {
      const seen: unknown[] = []
      const listen = (event: unknown) => seen.push(event)
      subscribe('headgate:store-error', listen)
      const { url, handled } = await app({ policies: '9/1h', store: down(), onStoreError: 'throw', ...more })
      const { status, body } = await get(url)
      unsubscribe('headgate:store-error', listen)
      expect([status, body.includes('store is down'), handled(), seen.length]).toEqual([500, true, 0, 1])
      // Also while the breaker is open.
      expect(await statuses(url, Array(7).fill({}))).toEqual(Array(7).fill(500))
    }
    const chosen = await app({ policies: '9/1h', store: down(), onStoreError: () => 'throw' })
    expect((await get(chosen.url)).status).toBe(500)
    const watched = await app({ policies: '9/1h', store: down(), onStoreError: 'throw', enforce: 0 })
    expect(await statuses(watched.url, [{}, {}])).toEqual([200, 200])
  })

  test('storeTimeout: Infinity waits for as long as the store does', async () => {
    let answer = (_decision: unknown) => {}
    const slow = remoteStore((terms) => {
      const ledger = memoryStore().open(terms)
      return {
        run: (command) =>
          new Promise((resolve) => {
            answer = () => resolve(ledger.run(command))
          }),
      }
    })
    const { url } = await app({ policies: '9/1h', store: slow, storeTimeout: Infinity, onStoreError: 'closed' })
    const response = get(url)
    expect(await Promise.race([response, sleep(250, 'waits')])).toBe('waits')
    answer(undefined)
    expect((await response).status).toBe(200)
  })

  test('a store that never responds delays no request for longer than its timeout', async () => {
    const store = brokenStore(() => new Promise<never>(() => undefined))
    const { url } = await app({ policies: '9/1h', store, storeTimeout: 20, onStoreError: 'closed' })
    expect(await statuses(url, [{}, {}])).toEqual([503, 503])
  })
})

test("a middleware's choice overrides that of the limiter it was given", async () => {
  const limiter = new RateLimiter({ policies: '1/1h', store: down(), onStoreError: 'closed' })
  await expect(limiter.consume('k')).rejects.toMatchObject({ code: 'HEADGATE_STORE_UNAVAILABLE' })
  const status = async (options: object) => {
    const next = vi.fn()
    const ended = new Promise((resolve) => {
      const response = { setHeader: vi.fn(), hasHeader: () => false, end: resolve, statusCode: 200, headersSent: false }
      forExpress(limiter, { keys: () => 'k', ...options })(
        { headers: {} } as never,
        response as never,
        (error?: unknown) => {
          next(error)
          resolve('next')
        },
      )
    })
    return (await ended) === 'next' ? 'in' : 'out'
  }
  expect([await status({}), await status({ onStoreError: 'open' })]).toEqual(['out', 'in'])
})

test("a limiter with throw rejects with the store's own error, by every verb", async () => {
  const limiter = new RateLimiter({ policies: '9/1h', store: down(), onStoreError: 'throw', storeTimeout: Infinity })
  for (const call of [
    () => limiter.consume('k'),
    () => limiter.peek('k'),
    () => limiter.reserve('k'),
    () => limiter.charge('k'),
    () => limiter.refund('k'),
    () => limiter.reset('k'),
  ]) {
    await expect(call()).rejects.toThrow(/^store is down$/)
  }
  expect(limiter.health()).toMatchObject({ state: 'open', failedClosed: 6 })
})

test("Fastify: a route's own limit inherits the choice", async () => {
  const app = fastify()
  await app.register(forFastify({ policies: '9/1h', store: down(), onStoreError: 'closed' }))
  app.get('/own', { config: { rateLimit: { policies: '5/1h', store: down() } } }, async () => 'own')
  app.get(
    '/other',
    { config: { rateLimit: { policies: '5/1h', store: down(), onStoreError: 'open' } } },
    async () => '',
  )
  expect([(await app.inject('/own')).statusCode, (await app.inject('/other')).statusCode]).toEqual([503, 200])
  await app.close()
})
