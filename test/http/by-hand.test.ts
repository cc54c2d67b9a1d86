import { once } from 'node:events'
import { createServer, request as send } from 'node:http'
import { setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'
import { afterEach, beforeEach, describe, expect, onTestFinished, test, vi } from 'vitest'
import { type FetchResult, type LambdaEvent, lambdaRequest, lambdaResult, rateLimit } from '../../adapters/fetch.ts'
import { fixedWindow, RateLimiter } from '../../src/index.ts'
import { ManualClock } from '../../src/testing/index.ts'
import { signal, stillStore, until } from '../support/contract.ts'
import { get } from '../support/frameworks.ts'
import { passLeases, untilUsed, used } from '../support/leases.ts'
import { serve } from '../support/served-app.ts'
import { onNodeServer, onSrvx } from '../support/web-frameworks.ts'

/* Units in flight of handlers of fetch, where no connection tells the end of a request. */

beforeEach(() => void vi.useFakeTimers({ toFake: ['setInterval', 'clearInterval'] }))
afterEach(() => void vi.useRealTimers())

const keys = () => 'k'
const request = (init?: RequestInit) => new Request('http://a/', init)
const five = Array.from({ length: 5 }, (_, n) => n)

function start() {
  const { store, clock } = stillStore()
  const limiter = new RateLimiter({ policies: '10 at once lease 3s', store })
  return { limiter, clock, limit: rateLimit({ limiter, keys }) }
}

/** A body that a test writes to. `cancelled` is true once its reader has left. */
function openBody() {
  let controller: ReadableStreamDefaultController<Uint8Array> | undefined
  const source = {
    start(given: ReadableStreamDefaultController<Uint8Array>) {
      controller = given
    },
  }
  const body = new ReadableStream(source, { highWaterMark: 0 })
  const write = () => controller?.enqueue(new Uint8Array(1))
  return { body, write, close: () => controller?.close() }
}

type Apply = (result: FetchResult, path: string) => Response | undefined

/** What five handlers do by hand between the decision and their response, and what is used before any lease has passed. */
const endings: [string, Apply, number][] = [
  ['apply a response', (result) => result.apply(new Response('ok')), 0],
  ['apply a response without a body', (result) => result.apply(new Response(null, { status: 204 })), 0],
  ['apply undefined, as after an upgrade', (result) => result.apply(undefined), 0],
  ['call end', (result) => void result.end(), 0],
  ['call end after apply', (result) => [result.apply(new Response('ok')), result.end(200)][0] as Response, 0],
  ['apply nothing', () => new Response('forgotten'), 5],
  ['throw on text that the client chose', (result, path) => result.apply(Response.json(JSON.parse(path))), 5],
]

describe.each([
  ['@hono/node-server', onNodeServer],
  ['srvx', onSrvx],
])('five requests by hand on %s', (name, serveOn) => {
  test.each(endings)('that %s use nothing three leases later', async (_what, end, atOnce) => {
    const { limiter, clock, limit } = start()
    let handled = 0
    const handler = async (incoming: Request): Promise<Response> => {
      const result = await limit(incoming)
      handled++
      return end(result, new URL(incoming.url).search) ?? new Response('own')
    }
    const { url, close } = await serveOn((incoming) =>
      handler(incoming).catch(() => new Response('x', { status: 500 })),
    )
    onTestFinished(close)
    await Promise.all(five.map(() => get(`${url}/?{`)))
    // srvx shows the response of Node, which tells its end, whatever the application has done.
    await untilUsed(limiter, name === 'srvx' ? 0 : atOnce)
    await passLeases(clock, 3)
    expect([handled, await used(limiter)]).toEqual([5, 0])
  })
})

describe('a lease by hand', () => {
  test('is not renewed before apply, and ends when it would end', async () => {
    const { limiter, clock, limit } = start()
    await limit(request())
    clock.advance(2999)
    vi.advanceTimersByTime(2999)
    expect(await used(limiter)).toBe(1)
    clock.advance(1)
    expect(await used(limiter)).toBe(0)
  })

  test('is renewed while its body is read: a stream of events keeps its unit for an hour', async () => {
    const { limiter, clock, limit } = start()
    const { body, write, close } = openBody()
    const result = await limit(request())
    const reader = result.apply(new Response(body)).body?.getReader()
    for (let minute = 0; minute < 60; minute++) {
      const chunk = reader?.read()
      await passLeases(clock, 20)
      expect(await used(limiter)).toBe(1)
      write()
      await chunk
    }
    const end = reader?.read()
    close()
    await end
    await untilUsed(limiter, 0)
  })

  test.each([
    ['nobody has read', 0],
    ['nobody reads to its end', 1],
  ])('is not renewed for a body that %s', async (_what, reads) => {
    const { limiter, clock, limit } = start()
    const { body, write } = openBody()
    const response = (await limit(request())).apply(new Response(body))
    const reader = response.body?.getReader()
    for (let n = 0; n < reads; n++) await Promise.all([reader?.read(), write()])
    expect(await used(limiter)).toBe(1)
    await passLeases(clock, 3)
    expect([await used(limiter), response.bodyUsed]).toEqual([0, reads > 0])
  })

  test('is taken anew when a body is read again, if a unit is free', async () => {
    const { limiter, clock, limit } = start()
    const { body, write } = openBody()
    const reader = (await limit(request())).apply(new Response(body)).body?.getReader()
    await passLeases(clock, 3)
    expect(await used(limiter)).toBe(0)
    await Promise.all([reader?.read(), write()])
    await passLeases(clock, 1)
    expect(await used(limiter)).toBe(1)
    await reader?.cancel()
    await untilUsed(limiter, 0)
  })

  test('is renewed from apply on, also if it has ended before', async () => {
    const { limiter, clock, limit } = start()
    const result = await limit(request())
    await passLeases(clock, 2)
    expect(await used(limiter)).toBe(0)
    const text = result.apply(new Response(openBody().body)).text()
    await passLeases(clock, 20)
    expect([await used(limiter), text]).toEqual([1, expect.any(Promise)])
  })

  test('ends at once with a body that is cancelled, or whose client leaves', async () => {
    const { limiter, limit } = start()
    const leaving = new AbortController()
    const first = (await limit(request())).apply(new Response(openBody().body))
    const second = (await limit(request({ signal: leaving.signal }))).apply(new Response(openBody().body))
    await first.body?.cancel()
    await untilUsed(limiter, 1)
    leaving.abort()
    await untilUsed(limiter, 0)
    expect(second.bodyUsed).toBe(false)
  })

  test('ends with a refusal by a limit inside of it', async () => {
    const { limiter, limit } = start()
    const inner = rateLimit('0/1h', { address: () => '192.0.2.1' })
    const incoming = request()
    await limit(incoming)
    const { response } = await inner(incoming)
    expect(await response?.text()).toMatch(/^Too many/)
    await untilUsed(limiter, 0)
  })

  test('of one limit ends without that of another limit on the same request', async () => {
    const [first, second] = [start(), start()]
    const incoming = request()
    const result = await first.limit(incoming)
    await second.limit(incoming)
    result.end()
    expect([await used(first.limiter), await used(second.limiter)]).toEqual([0, 1])
  })
})

describe('wrap', () => {
  test('renews while its handler runs, and frees the unit when the body has ended', async () => {
    const { limiter, clock, limit } = start()
    const answer = signal()
    const answered = limit.wrap(() => answer.promise.then(() => new Response('ok')))(request())
    await passLeases(clock, 20)
    expect(await used(limiter)).toBe(1)
    answer.give()
    await (await answered).text()
    await untilUsed(limiter, 0)
  })

  test('around a handler that returns nothing, or throws, holds nothing afterwards', async () => {
    const { limiter, limit } = start()
    const handlers = [() => undefined, async () => undefined, () => Promise.reject(new Error('broken'))]
    for (const handler of handlers)
      await limit
        .wrap(handler)(request())
        .catch(() => undefined)
    expect(await used(limiter)).toBe(0)
  })

  test('around a handler that reads the response of a limit inside of it ends with the response that is sent', async () => {
    const [outer, inner] = [start(), start()]
    const answer = signal()
    const handler = inner.limit.wrap(() => new Response('no'))
    const answered = outer.limit.wrap(async (incoming) => {
      const read = await (await handler(incoming)).text()
      await answer.promise
      return new Response(read, { status: 401 })
    })(request())
    await passLeases(outer.clock, 20)
    expect(await used(outer.limiter)).toBe(1)
    answer.give()
    expect(await (await answered).text()).toBe('no')
    await untilUsed(outer.limiter, 0)
    await untilUsed(inner.limiter, 0)
  })

  test('judges the response that is sent, not the one of a limit inside of it', async () => {
    const limit = rateLimit({ policies: '5/1h', keys, count: 'failures', store: stillStore().store })
    const inner = start()
    const handler = limit.wrap(async (incoming) => {
      const read = await inner.limit.wrap(() => new Response('wrong password'))(incoming)
      return new Response(await read.text(), { status: 401 })
    })
    const statuses: number[] = []
    for (let n = 0; n < 10; n++) {
      const { status, body } = await handler(request())
      await body?.pipeTo(new WritableStream())
      statuses.push(status)
    }
    expect(statuses).toEqual([401, 401, 401, 401, 401, 429, 429, 429, 429, 429])
  })

  test('judges the response in place of an error of a limit inside of it', async () => {
    const limit = rateLimit({ policies: '5/1h', keys, count: 'successes', store: stillStore().store })
    const broken = start().limit.wrap(() => Promise.reject(new Error('broken')))
    const handler = limit.wrap((incoming) => broken(incoming).catch(() => new Response('made', { status: 201 })))
    for (let n = 0; n < 3; n++) await (await handler(request())).text()
    expect((await limit.limiter.peek('k')).remaining).toBe(2)
  })

  test.each(['failures', 'successes'] as const)('counts what is no answer, under count: %s', async (count) => {
    const limit = rateLimit({ policies: '50/1h', keys, count, store: stillStore().store })
    const odd = [Response.error(), {}, 5, 'text', { status: Number.NaN }] as Response[]
    for (const each of odd) expect(await limit.wrap(() => each)(request())).toBe(each)
    for (const status of [0, Number.NaN, -1, null, '', {}, 1000]) (await limit(request())).end(status as number)
    expect((await limit.limiter.peek('k')).remaining).toBe(50 - odd.length - 7)
  })

  test('around a response that is dropped does not renew', async () => {
    const { limiter, clock, limit } = start()
    const cache = [await limit.wrap(() => new Response('cached'))(request())]
    await passLeases(clock, 3)
    expect([await used(limiter), cache.length]).toEqual([0, 1])
  })

  test('holds its unit over a socket as long as the client reads', async () => {
    const { limiter, clock, limit } = start()
    const { body, write } = openBody()
    const limited = limit.wrap(() => new Response(body))
    const { url, close } = await onNodeServer((incoming) => limited(incoming), false)
    onTestFinished(close)
    const client = send(url, { agent: false }).on('error', () => undefined)
    client.end()
    write()
    const [response] = await once(client, 'response')
    response.on('error', () => undefined).resume()
    await passLeases(clock, 20)
    expect(await used(limiter)).toBe(1)
    client.destroy()
    await untilUsed(limiter, 0)
  })
})

describe('an answer that was collected', () => {
  setFlagsFromString('--expose-gc')
  const collect: () => void = runInNewContext('gc')
  const dropped: [string, (limit: ReturnType<typeof start>['limit']) => Promise<unknown>][] = [
    [
      'while its body was read',
      async (limit) => void (await limit(request())).apply(new Response(openBody().body)).text(),
    ],
    [
      'while its handler was waited for',
      async (limit) => void limit.wrap(() => new Promise<Response>(() => undefined))(request()),
    ],
  ]

  test.each(dropped)('has ended: %s', async (_what, drop) => {
    const { limiter, clock, limit } = start()
    await drop(limit)
    // An object that a weak reference has shown stays until the job has ended, and a collector may leave an object for its next run.
    for (let run = 0; run < 20 && (await used(limiter)) > 0; run++) {
      await until(() => true)
      collect()
      await passLeases(clock, 2)
    }
    expect(await used(limiter)).toBe(0)
  })

  test('has not ended while a server reads it', async () => {
    const { limiter, clock, limit } = start()
    const { body, write, close } = openBody()
    const text = (await limit(request())).apply(new Response(body)).text()
    for (let n = 0; n < 5; n++) {
      await passLeases(clock, 2)
      collect()
      expect(await used(limiter)).toBe(1)
      write()
    }
    close()
    expect(await text).toHaveLength(5)
    await untilUsed(limiter, 0)
  })
})

describe('AWS Lambda', () => {
  const event: LambdaEvent = { rawPath: '/', requestContext: { http: { method: 'GET', sourceIp: '192.0.2.1' } } }
  type Limit = ReturnType<typeof start>['limit']
  const handlers: [string, (limit: Limit) => Promise<unknown>, number][] = [
    [
      'answer',
      async (limit) => lambdaResult(await limit.wrap(() => new Response('hello'))(lambdaRequest(event)), event),
      0,
    ],
    ['throw', (limit) => limit.wrap(() => Promise.reject(new Error('broken')))(lambdaRequest(event)), 0],
    ['return nothing', (limit) => limit.wrap(() => undefined)(lambdaRequest(event)), 0],
    ['drop their response', (limit) => limit.wrap(() => new Response('dropped'))(lambdaRequest(event)), 5],
    ['end by hand', async (limit) => (await limit(lambdaRequest(event))).end(200), 0],
    ['forget to end by hand', (limit) => limit(lambdaRequest(event)), 5],
  ]

  test.each(handlers)('five calls that %s use nothing three leases later', async (_what, handler, atOnce) => {
    const { limiter, clock, limit } = start()
    const kept = await Promise.all(five.map(() => handler(limit).catch(String)))
    await untilUsed(limiter, atOnce)
    await passLeases(clock, 3)
    expect([kept.length, await used(limiter)]).toEqual([5, 0])
  })
})

describe('count by hand', () => {
  const hour = (count: unknown, clock = new ManualClock()) => {
    const limiter = new RateLimiter({ policies: fixedWindow({ limit: 10, window: '1h' }), store: stillStore().store })
    return { clock, limiter, limit: rateLimit({ limiter, keys, count: count as 'failures' }) }
  }

  test.each([
    ['failures', 200, 0],
    ['failures', 401, 5],
    ['successes', 200, 5],
    ['successes', 401, 0],
    ['failures', undefined, 5],
    ['successes', undefined, 5],
    [() => false, 401, 0],
    [() => false, undefined, 5],
  ])('%s judges the status that end gets: %s', async (count, status, after) => {
    const { limiter, limit } = hour(count)
    for (const _ of five) (await limit(request())).end(status)
    await untilUsed(limiter, after)
  })
})

describe('a response that only passes the request on', () => {
  const next = () => new Response(null, { headers: { 'x-middleware-next': '1' } })
  const rewrite = () => new Response(null, { headers: { 'x-middleware-rewrite': 'http://a/login' } })
  const noEnd = expect.objectContaining({
    code: 'HEADGATE_NO_END',
    message: expect.stringContaining('limit.wrap(handler)'),
  })
  const { store } = stillStore()
  const wrong: [string, object][] = [
    ['count: failures', { policies: '5/1h', count: 'failures' }],
    ['count: successes', { policies: '5/1h', count: 'successes' }],
    ['count by a function', { policies: '5/1h', count: () => true }],
    ['units in flight', { policies: '4 at once' }],
    ['both, under several policies', { policies: ['5/1h', '4 at once'], count: 'failures' }],
    ['a plan with units in flight', { policies: () => '4 at once' }],
  ]

  test.each(wrong)('is an error with %s, and holds nothing', async (_what, options) => {
    for (const response of [next, rewrite]) {
      const limit = rateLimit({ ...options, keys, store: stillStore().store } as never)
      expect(() => limit.limiter).not.toThrow()
      const result = await limit(request())
      expect(() => result.apply(response())).toThrow(noEnd)
      await expect(limit.wrap(response)(request())).rejects.toThrow(noEnd)
    }
  })

  test('frees the unit that it took, so that the error shows again', async () => {
    const { limiter, limit } = start()
    for (let n = 0; n < 20; n++) {
      const result = await limit(request())
      expect(() => result.apply(next())).toThrow(noEnd)
    }
    expect(await used(limiter)).toBe(0)
  })

  test('is an error for a limit without units too, if another limit of the request holds some', async () => {
    const { limiter, limit } = start()
    const plain = rateLimit('5/1h', { keys })
    const incoming = request()
    await limit(incoming)
    const result = await plain(incoming)
    expect(() => result.apply(next())).toThrow(noEnd)
    expect(await used(limiter)).toBe(0)
  })

  test('may be a refusal', async () => {
    const limit = rateLimit('0/1h', { keys, refuse: rewrite })
    const { response } = await limit(request())
    expect(response?.headers.get('x-middleware-rewrite')).toBe('http://a/login')
  })

  const right: [string, object][] = [
    ['a plain limit', { policies: '5/1h' }],
    ['count: all', { policies: '5/1h', count: 'all' }],
    ['settle', { policies: '5/1h', settle: true }],
    ['a request that is not limited', { policies: '4 at once', skip: () => true }],
    ['enforce: 0', { policies: '5/1h', enforce: 0 }],
  ]

  test.each(right)('gets the fields with %s', async (_what, options) => {
    const limit = rateLimit({ ...options, keys, store } as never)
    const result = await limit(request())
    expect(result.apply(next()).headers.get('x-middleware-next')).toBe('1')
    expect((await limit.wrap(rewrite)(request())).headers.has('x-middleware-rewrite')).toBe(true)
  })

  test('gets the fields of a plain limit, which refuses the sixth request', async () => {
    const limit = rateLimit({ policies: fixedWindow({ limit: 5, window: '1h' }), keys, store: stillStore().store })
    const seen: unknown[] = []
    for (let n = 0; n < 6; n++) {
      const result = await limit(request())
      seen.push((result.response ?? result.apply(next())).headers.get('x-ratelimit-remaining'))
    }
    expect(seen).toEqual(['4', '3', '2', '1', '0', '0'])
  })

  test('gets the fields of a limit that has delayed the request', async () => {
    const limit = rateLimit({ policies: '1/10ms token-bucket', keys, delay: { max: '1s' } })
    await limit(request())
    const late = await limit(request())
    expect(late.apply(next()).headers.get('x-middleware-next')).toBe('1')
  })
})

test('AWS Lambda over a socket: the unit is free when the result is made', async () => {
  const { limiter, limit } = start()
  const limited = limit.wrap(() => new Response('hello'))
  const server = await serve(
    createServer(async (incoming, outgoing) => {
      const event: LambdaEvent = { rawPath: incoming.url, requestContext: { http: { method: incoming.method } } }
      const { statusCode, headers, body } = await lambdaResult(await limited(lambdaRequest(event)), event)
      outgoing.writeHead(statusCode, headers).end(body)
    }),
  )
  onTestFinished(server.close)
  expect((await get(server.url)).body).toBe('hello')
  await untilUsed(limiter, 0)
})
