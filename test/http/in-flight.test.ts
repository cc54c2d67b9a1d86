import { createServer, type IncomingMessage, ServerResponse } from 'node:http'
import { connect as connectTcp } from 'node:net'
import { afterEach, beforeEach, expect, test, vi } from 'vitest'
import { forgetWarnings } from '../../src/common/warn.ts'
import { createGuard } from '../../src/http.ts'
import { concurrency, fixedWindow, memoryStore, RateLimiter, type Store } from '../../src/index.ts'
import { asyncStore, remoteStore } from '../support/async-store.ts'
import { contract, hangUp, signal, stillStore, tested, until } from '../support/contract.ts'
import { get, serve } from '../support/frameworks.ts'
import { PlainResponse, plainFramework } from '../support/plain-framework.ts'
import { queryOf } from '../support/shapes.ts'

const warned = vi.spyOn(process, 'emitWarning')
beforeEach(() => {
  warned.mockReset().mockImplementation(() => undefined)
  forgetWarnings()
})
afterEach(() => warned.mockReset())
const codes = () => warned.mock.calls.map(([, options]) => (options as { code?: string } | undefined)?.code)

const keys = () => 'k'
const hour = fixedWindow({ name: 'hour', limit: 100, window: '1h' })

/** What is left under each policy. */
async function left(limiter: RateLimiter): Promise<Record<string, number>> {
  const { policies } = await limiter.peek('k')
  return Object.fromEntries(policies.map(({ name, remaining }) => [name, remaining]))
}

async function untilLeft(limiter: RateLimiter, expected: Record<string, number>): Promise<void> {
  let seen = await left(limiter)
  for (let turn = 0; turn < 100_000 && JSON.stringify(seen) !== JSON.stringify(expected); turn++) {
    await new Promise((resolve) => setImmediate(resolve))
    seen = await left(limiter)
  }
  expect(seen).toEqual(expected)
}

contract((app) => {
  test.each([false, true])('100 requests at once against 4 at once; asynchronous store: %s', async (later) => {
    const store = memoryStore()
    const limiter = new RateLimiter({ policies: '4 at once', store: later ? asyncStore(store) : store })
    let active = 0
    let most = 0
    let refused = 0
    const release = signal()
    const { url, handled } = await app(
      { limiter, keys },
      {
        handle: async () => {
          most = Math.max(most, ++active)
          await release.promise
          await new Promise((resolve) => setImmediate(resolve))
          active--
          return 200
        },
      },
    )
    const clients = Array.from({ length: 100 }, async () => {
      while ((await get(url)).status !== 200) refused++
    })
    await until(() => refused >= 100)
    expect([active, handled()]).toEqual([4, 4])
    release.give()
    await Promise.all(clients)
    expect([most, handled()]).toEqual([4, 100])
    await untilLeft(limiter, { 'at-once': 4 })
  })

  const never = () => false
  const options: [string, object, number][] = [
    ['alone', {}, 99],
    ['settle', { settle: true }, 99],
    ['count: failures', { count: 'failures' }, 100],
    ['count: successes', { count: 'successes' }, 99],
    ['count by a function that waits', { count: async () => never() }, 100],
    ['enforce: 0', { enforce: 0 }, 99],
  ]

  test.each(options)(
    'the units of a request are free when its response has ended: %s',
    async (_name, option, after) => {
      for (const later of [false, true]) {
        const store = memoryStore()
        const limiter = new RateLimiter({ policies: [hour, '4 at once'], store: later ? asyncStore(store) : store })
        const [begun, release] = [signal(), signal()]
        const handle = async () => {
          begun.give()
          await release.promise
          return 200
        }
        const { url } = await app({ limiter, keys, ...option }, { handle })
        const response = get(url)
        await begun.promise
        expect(await left(limiter)).toEqual({ hour: 99, 'at-once': 3 })
        release.give()
        expect((await response).status).toBe(200)
        await untilLeft(limiter, { hour: after, 'at-once': 4 })
      }
    },
  )

  test.each(options)('the units of a request are free when it fails: %s', async (_name, option) => {
    const limiter = new RateLimiter({ policies: [hour, '4 at once'] })
    const handle = async (): Promise<number> => Promise.reject(new Error('broken'))
    const { url } = await app({ limiter, keys, ...option }, { handle })
    expect((await get(url)).status).toBe(500)
    const counts = 'count' in option && option.count !== 'failures' ? 100 : 99
    await untilLeft(limiter, { hour: counts, 'at-once': 4 })
  })

  test.each(options)('the units of a request are free when its client leaves: %s', async (_name, option) => {
    const limiter = new RateLimiter({ policies: [hour, '4 at once'] })
    const [begun, release] = [signal(), signal()]
    const handle = async () => {
      begun.give()
      await release.promise
      return 200
    }
    const { url } = await app({ limiter, keys, ...option }, { handle })
    await hangUp(url, begun.promise)
    await untilLeft(limiter, { hour: 99, 'at-once': 4 }) // the handler still runs
    release.give()
  })

  test('a plan by the request holds its units too, under the policies of the plan', async () => {
    const [begun, release] = [signal(), signal()]
    const handle = async () => {
      begun.give()
      await release.promise
      return 200
    }
    const policies = (request: unknown) => (queryOf(request, 'big') === undefined ? '1 at once' : '4 at once')
    const { url, limiter } = await app({ policies, keys }, { handle })
    const held = get(url)
    await begun.promise
    expect((await get(url)).status).toBe(429)
    const big = get(`${url}/?big`)
    const peek = async () => (await (limiter as never as RateLimiter).withPlan('4 at once').peek('k')).remaining
    while ((await peek()) !== 2) await new Promise((resolve) => setImmediate(resolve))
    release.give()
    expect([(await held).status, (await big).status]).toEqual([200, 200])
    while ((await peek()) !== 4) await new Promise((resolve) => setImmediate(resolve))
  })

  test('settle corrects the cost, and the units stay in flight until the response has ended', async () => {
    for (const [count, after] of [
      [undefined, 97],
      ['failures', 97],
    ] as const) {
      const limiter = new RateLimiter({ policies: [hour, '4 at once'] })
      const seen: unknown[] = []
      const { url } = await app(
        { limiter, keys, settle: true, cost: { hour: 10, 'at-once': 1 }, ...(count && { count }) },
        {
          handle: async (decision) => {
            await decision?.settle?.({ hour: 3 })
            seen.push(await left(limiter))
            await decision?.settle?.({ hour: 50 })
            return 200
          },
        },
      )
      expect((await get(url)).status).toBe(200)
      expect(seen).toEqual([{ hour: 97, 'at-once': 3 }])
      await untilLeft(limiter, { hour: after, 'at-once': 4 })
    }
  })

  test('a refused request holds nothing', async () => {
    const limiter = new RateLimiter({ policies: [fixedWindow({ limit: 1, window: '1h' }), '4 at once'] })
    const { url } = await app({ limiter, keys })
    expect([(await get(url)).status, (await get(url)).status]).toEqual([200, 429])
    await untilLeft(limiter, { '1h': 0, 'at-once': 4 })
  })

  test('a request whose lease was lost goes on, with a warning, and counts again when a unit is free', async () => {
    const { store, clock } = stillStore()
    const limiter = new RateLimiter({ policies: '1 at once lease 60ms', store })
    const release = [signal(), signal()]
    const { url, handled } = await app(
      { limiter, keys },
      { handle: () => (release[handled() - 1] as (typeof release)[0]).promise.then(() => 200) },
    )
    const first = get(url)
    await until(() => handled() === 1)
    clock.advance('60ms') // the process was blocked for that long
    const second = get(url)
    await until(() => handled() === 2)
    while (!codes().includes('HEADGATE_LEASE')) await new Promise((resolve) => setTimeout(resolve, 5))
    release[1]?.give()
    expect((await second).status).toBe(200)
    while ((await left(limiter))['at-once'] !== 0) await new Promise((resolve) => setTimeout(resolve, 5))
    release[0]?.give()
    expect((await first).status).toBe(200)
    await untilLeft(limiter, { 'at-once': 1 })
    expect(codes().filter((code) => code === 'HEADGATE_LEASE')).toHaveLength(1)
  })

  test('a client that leaves while it waits gives its units in flight back', async () => {
    const store = memoryStore()
    const rate = fixedWindow({ name: 'hour', limit: 1, window: '1h' })
    const limiter = new RateLimiter({ policies: [rate, concurrency({ limit: 4, shadow: true })], store })
    const { url, handled } = await app({ limiter, keys, delay: { max: '1h' } })
    expect((await get(url)).status).toBe(200)
    await untilLeft(limiter, { hour: 0, 'at-once': 4 })
    const waiting = signal()
    const left3 = async () => {
      while ((await left(limiter))['at-once'] !== 3) await new Promise((resolve) => setImmediate(resolve))
      waiting.give()
    }
    await Promise.all([left3(), hangUp(url, waiting.promise)])
    await untilLeft(limiter, { hour: 0, 'at-once': 4 })
    expect(handled()).toBe(1)
  })

  test('a store that fails to free the units breaks no request, and onStoreError sees it', async () => {
    const { store } = stillStore()
    const failing: Store = {
      synchronous: true,
      open(terms) {
        const ledger = store.open(terms)
        return {
          run(command) {
            if (command.verb === 'settle') throw new Error('the store is down')
            return ledger.run(command)
          },
        }
      },
    }
    const onStoreError = vi.fn()
    const { url } = await app({ policies: '2 at once', keys, store: failing, onStoreError })
    expect([(await get(url)).status, (await get(url)).status, (await get(url)).status]).toEqual([200, 200, 429])
    expect(onStoreError).toHaveBeenCalledTimes(2)
    expect(codes()).toEqual(['HEADGATE_SETTLE'])
  })
})

test.concurrent.each(tested)(
  '%s: a response that takes longer than the lease keeps its units, whatever the number of leases',
  async (_, start) => {
    const release = signal()
    const limiter = new RateLimiter({ policies: '1 at once lease 600ms' })
    const { url, handled, close } = await start({
      limit: { limiter, keys },
      handle: () => release.promise.then(() => 200),
    })
    const slow = get(url)
    await until(() => handled() === 1)
    const end = performance.now() + 1500
    while (performance.now() < end) {
      expect((await get(url)).status).toBe(429)
      await new Promise((resolve) => setTimeout(resolve, 50))
    }
    release.give()
    expect((await slow).status).toBe(200)
    await untilLeft(limiter, { 'at-once': 1 })
    await close()
    expect(codes()).not.toContain('HEADGATE_LEASE')
  },
)

test('an upgraded connection holds its units until it is closed', async () => {
  const limiter = new RateLimiter({ policies: '1 at once' })
  const guard = createGuard<IncomingMessage, ServerResponse>(
    { ...(plainFramework as never as Record<string, never>), attach() {}, headersSent: () => false } as never,
    { limiter, keys, headers: false },
  )
  const server = createServer()
  server.on('upgrade', async (request, socket) => {
    const admitted = await guard.check(request, new ServerResponse(request))
    socket.write(`HTTP/1.1 ${admitted ? '101 Switching Protocols' : '429 Too Many Requests'}\r\n\r\n`)
    socket.on('data', () => socket.destroy())
  })
  const { url, close } = await serve(server)
  const socket = connectTcp(Number(new URL(url).port), '127.0.0.1').on('error', () => undefined)
  socket.write('GET / HTTP/1.1\r\nHost: a\r\nConnection: Upgrade\r\nUpgrade: echo\r\n\r\n')
  const [status] = await new Promise<[string]>((resolve) => socket.once('data', (data) => resolve([`${data}`])))
  expect(status).toContain('101')
  expect(await left(limiter)).toEqual({ 'at-once': 0 })
  socket.write('bye')
  await untilLeft(limiter, { 'at-once': 1 })
  await close()
})

test('an error in the application between the decision and the response leaks nothing', () => {
  const limiter = new RateLimiter({ policies: '1 at once' })
  const attach = () => {
    throw new Error('frozen')
  }
  const guard = createGuard({ ...plainFramework, attach }, { limiter, keys })
  const response = new PlainResponse()
  expect(() => guard.check({ address: '192.0.2.1' }, response)).toThrow('frozen')
  expect(limiter.consumeSync('k').allowed).toBe(false)
  response.end('500')
  expect(limiter.consumeSync('k').allowed).toBe(true)
})

test('a request that was answered before it was limited holds nothing', () => {
  const limiter = new RateLimiter({ policies: '1 at once' })
  const guard = createGuard(plainFramework, { limiter, keys })
  const response = new PlainResponse()
  response.end('first')
  void guard.check({ address: '192.0.2.1' }, response)
  expect(limiter.consumeSync('k').allowed).toBe(true)
})

test('the leases of many requests are renewed some at a time, so that other calls of the store are not held up', async () => {
  let [renewing, most, renewed] = [0, 0, 0]
  const inner = memoryStore()
  const store: Store = remoteStore((terms) => {
    const ledger = inner.open(terms)
    const run = async (command: Parameters<typeof ledger.run>[0]) => {
      if (command.verb !== 'renew') return ledger.run(command)
      most = Math.max(most, ++renewing)
      await new Promise((resolve) => setTimeout(resolve, 2))
      renewing--
      renewed++
      return ledger.run(command)
    }
    return { run: run as typeof ledger.run }
  })
  const guard = createGuard(plainFramework, { policies: '500 at once lease 1200ms', keys, store })
  const responses = Array.from({ length: 200 }, () => new PlainResponse())
  for (const response of responses) expect(await guard.check({}, response)).toBe(true)
  await vi.waitFor(() => expect(renewed).toBeGreaterThanOrEqual(200), { timeout: 2000 })
  expect(most).toBeLessThanOrEqual(30)
  expect((await guard.limiter.peek('k')).remaining).toBe(300)
  for (const response of responses) response.end('')
})
