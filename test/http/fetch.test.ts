import { getEventListeners, once } from 'node:events'
import { createServer, request as send } from 'node:http'
import { setTimeout as sleep } from 'node:timers/promises'
import { createAdaptorServer } from '@hono/node-server'
import { afterEach, describe, expect, expectTypeOf, onTestFinished, test, vi } from 'vitest'
import { type LambdaEvent, lambdaAddress, lambdaRequest, lambdaResult, rateLimit } from '../../adapters/fetch.ts'
import { forgetWarnings } from '../../src/common/warn.ts'
import {
  byHeader,
  byIp,
  byParam,
  byRoute,
  combine,
  concurrency,
  fixedWindow,
  type PlanLimiter,
  RateLimiter,
} from '../../src/index.ts'
import { asyncStore } from '../support/async-store.ts'
import { stillStore, until } from '../support/contract.ts'
import { serve } from '../support/served-app.ts'

const address = () => '192.0.2.1'
const request = (path = '/', init?: RequestInit) => new Request(`http://a${path}`, init)
const hourly = (limit: number) => ({ policies: fixedWindow({ limit, window: '1h' }), store: stillStore().store })

test.each([20, 10])(
  'behind another limit, the decision is that of the limit whose route costs %i',
  async (estimate) => {
    const keys = () => 'k'
    const tokens = rateLimit({ ...hourly(1000), keys, cost: 10, settle: true })
    const requests = rateLimit({ ...hourly(100), keys, settle: true })
    const used = async () =>
      Promise.all([tokens, requests].map(async ({ limiter }) => (await limiter.peek('k')).policies[0]?.used))
    const priced = tokens.cost(() => estimate)
    const wrapped = tokens.wrap(
      requests.wrap(
        priced.wrap(async ({ rateLimit: decision }) => {
          await decision.settle(7)
          return new Response(String(decision.limit))
        }),
      ),
    )
    expect(await (await wrapped(request())).text()).toBe('1000')
    expect(await used()).toEqual([7, 1])
    const each = request()
    const limits: unknown[] = []
    for (const limit of [tokens, requests, priced, requests, tokens]) limits.push((await limit(each)).decision?.limit)
    expect(limits).toEqual([1000, 100, 1000, 100, 1000])
    expect(await used()).toEqual([7 + estimate, 3])
  },
)

test('the result of an exempt request has its own decision each time, also behind another limit', async () => {
  const outer = rateLimit({ ...hourly(9), keys: () => 'k' })
  const exemptions = [
    { skip: () => true },
    { address, allow: ['192.0.2.1'] },
    { keys: () => false },
    { policies: () => 'unlimited' },
  ]
  for (const exemption of exemptions) {
    for (const options of [exemption, { ...exemption, attach() {} }]) {
      const expected = 'policies' in exemption ? 'unlimited' : 'exempt'
      const limit = rateLimit({ ...hourly(9), keys: () => 'k', ...options } as never)
      for (const limits of [
        [limit, limit.cost(5), limit],
        [outer, limit, limit.cost(5)],
      ]) {
        const each = request()
        for (const [n, one] of limits.entries()) {
          const { response, decision } = await one(each)
          expect([response, decision?.policy]).toEqual([undefined, one === outer ? '1h' : expected])
          if (n === 1 && expected === 'exempt') await decision?.settle(70)
        }
      }
    }
  }
  expect((await outer.limiter.peek('k')).remaining).toBe(9 - 8)
})

test('the result of a limit with attach has its own decision, and after deny none', async () => {
  const outer = rateLimit({ ...hourly(9), keys: () => 'k' })
  const inner = rateLimit({ ...hourly(1), keys: () => 'k', attach() {} })
  const denied = rateLimit({ ...hourly(1), address, deny: ['192.0.2.1'] })
  const limits: unknown[] = []
  for (let n = 0; n < 2; n++) {
    const each = request()
    for (const limit of [outer, inner, denied]) {
      const { decision } = await limit(each)
      limits.push(decision && [decision.limit, decision.allowed])
    }
  }
  expect(limits).toEqual([[9, true], [1, true], undefined, [9, true], [1, false], undefined])
})

describe('after a refusal, the application asks another limit for the same Request', () => {
  const fourOfSix = async (options: object = {}) => {
    const limit = rateLimit({ ...hourly(6), address, headers: 'draft-8', ...options })
    await limit.limiter.consume('192.0.2.1', { cost: 4 })
    return limit
  }
  const remaining = async (limit: { limiter: RateLimiter }) => (await limit.limiter.peek('192.0.2.1')).remaining

  test.each<[string, (limit: Awaited<ReturnType<typeof fourOfSix>>) => typeof limit]>([
    ['the limit itself', (limit) => limit],
    ['its cost of 1', (limit) => limit.cost(1) as typeof limit],
  ])('%s decides again', async (_, cheaper) => {
    for (const options of [{}, { settle: true }, { store: asyncStore(stillStore().store) }]) {
      const limit = await fourOfSix(options)
      const results: unknown[] = []
      const cheap = cheaper(limit)
      const dear = limit.cost(5)
      for (let n = 0; n < 4; n++) {
        const each = request()
        expect((await dear(each)).response?.status).toBe(429)
        const { response, apply } = await cheap(each)
        results.push(response?.status ?? apply(new Response('short')).headers.get('ratelimit'))
      }
      expect(results).toEqual([expect.stringContaining('r=1'), expect.stringContaining('r=0'), 429, 429])
      expect(await remaining(limit)).toBe(0)
    }
  })

  test('the same cost is refused again', async () => {
    const limit = await fourOfSix()
    const dear = limit.cost(5)
    const each = request()
    for (let n = 0; n < 3; n++) expect((await dear(each)).response?.status).toBe(429)
    expect(await remaining(limit)).toBe(2)
  })

  test('the limit decides again also if refuse has thrown', async () => {
    const limit = await fourOfSix({
      refuse: () => {
        throw new Error('no')
      },
    })
    const each = request()
    await expect(limit.cost(5)(each)).rejects.toThrow('no')
    expect((await limit(each)).decision).toMatchObject({ allowed: true, remaining: 1 })
  })

  test('a request that refuse admits stays decided', async () => {
    const limit = await fourOfSix({ refuse: () => true })
    const dear = limit.cost(5)
    const each = request()
    for (const next of [dear, limit]) {
      const { response, decision } = await next(each)
      expect([response, decision?.allowed]).toEqual([undefined, false])
    }
    expect(await remaining(limit)).toBe(2)
  })
})

test.each(['an error', 'a Response'])(
  'after a wrapped handler has thrown %s, the next limit holds units and counts',
  async (what) => {
    const thrown = what === 'an error' ? new Error('no') : new Response(null, { status: 401 })
    const first = rateLimit({ policies: '1000/1h', name: 'first', address, headers: 'draft-8' }).wrap(() => {
      throw thrown
    })
    const limit = rateLimit({
      policies: ['1000/1h', '2 at once'],
      count: 'failures',
      name: 'next',
      address,
      headers: 'draft-8',
    })
    let [running, most] = [0, 0]
    const next = limit.wrap(async () => {
      running++
      most = Math.max(most, running)
      await sleep(20)
      running--
      return new Response('fallback')
    })
    const call = async () => {
      const asked = request()
      const response = await Promise.resolve(first(asked)).catch(() => next(asked))
      await response.text()
      return response
    }
    const responses = await Promise.all([1, 2, 3, 4].map(call))
    expect(responses.map(({ status }) => status).sort()).toEqual([200, 200, 429, 429])
    expect(most).toBe(2)
    const { policies } = await limit.limiter.peek('192.0.2.1')
    expect(policies.map(({ used }) => used)).toEqual([0, 0])
    const fields = responses.map(({ headers }) => headers.get('ratelimit-policy') ?? '')
    for (const field of fields) expect(field).toMatch(/.+, .+/)
  },
)

describe('a limiter that is called', () => {
  test('resolves to a refusal with a response, or to an admission with the fields', async () => {
    const limit = rateLimit(hourly(1), { address })
    const first = await limit(request())
    expect(first.response).toBe(undefined)
    expect(first.decision).toMatchObject({ allowed: true, remaining: 0 })
    const second = await limit(request())
    expect([second.response?.status, second.response?.headers.get('retry-after')]).toEqual([429, '3600'])
    expect(await second.response?.text()).toMatch(/^Too many requests/)
    const own = second.apply(Response.json({ slow: 'down' }, { status: 429 }))
    expect(own.headers.get('retry-after')).toBe('3600')
    expect(Object.keys(first.headers)).toEqual(['X-RateLimit-Limit', 'X-RateLimit-Remaining', 'X-RateLimit-Reset'])
  })

  test('has a decision that says so for a request that is not limited, and none for one that is denied', async () => {
    expect(await rateLimit({ ...hourly(1), skip: () => true }, { address })(request())).toMatchObject({
      decision: { policy: 'exempt', key: undefined },
      headers: {},
    })
    const denied = await rateLimit({ ...hourly(1), deny: ['192.0.2.1'] }, { address })(request())
    expect([denied.decision, denied.response?.status]).toEqual([undefined, 403])
  })

  test('rejects with an Error if a function in the options throws', async () => {
    const keys = () => {
      throw undefined
    }
    await expect(rateLimit({ ...hourly(1), keys })(request())).rejects.toMatchObject({ code: 'HEADGATE_THROWN' })
    await expect(rateLimit({ ...hourly(1), keys }).wrap(() => new Response())(request())).rejects.toThrow(Error)
  })

  test('gives its functions the request, the context and, at the end, the response', async () => {
    const seen: unknown[] = []
    const limit = rateLimit<{ user: string }>({
      ...hourly(2),
      keys: ({ request, context }) => `${request.method} ${context.user}`,
      count: ({ response }) => {
        seen.push(response?.status)
        return response?.status === 401
      },
    })
    for (const status of [204, 204, 401, 401]) {
      const result = await limit(request(), { user: 'ann' })
      expect(result.response).toBe(undefined)
      result.apply(new Response(null, { status }))
      await until(() => true)
    }
    expect(seen).toEqual([204, 204, 401, 401])
    expect((await limit(request(), { user: 'ann' })).response?.status).toBe(429)
    expect((await limit(request(), { user: 'bob' })).response).toBe(undefined)
  })
})

describe('the response of a handler', () => {
  const limited = (response: () => Response) => rateLimit(hourly(9), { address }).wrap(response)(request())

  test('stays the same object if its headers can be changed', async () => {
    const response = Response.json({ hello: 'world' })
    expect(await limited(() => response)).toBe(response)
    expect(response.headers.get('x-ratelimit-limit')).toBe('9')
  })

  test('is copied if its headers are immutable, with all that it has', async () => {
    const redirect = await limited(() => Response.redirect('http://a/elsewhere', 303))
    const fields = ['location', 'x-ratelimit-limit'].map((name) => redirect.headers.get(name))
    expect([redirect.status, ...fields]).toEqual([303, 'http://a/elsewhere', '9'])
    const server = await serve(
      createServer((_request, response) => {
        response.setHeader('set-cookie', ['a=1', 'b=2'])
        response.statusCode = 418
        response.end('fetched')
      }),
    )
    const fetched = await fetch(server.url)
    const copy = await limited(() => fetched)
    expect([
      copy.status,
      copy.headers.getSetCookie(),
      copy.headers.get('x-ratelimit-limit'),
      await copy.text(),
    ]).toEqual([418, ['a=1', 'b=2'], '9', 'fetched'])
    await server.close()
  })

  test('stays as it is if there can be no copy', async () => {
    const error = Response.error()
    expect(await limited(() => error)).toBe(error)
    const used = new Response('used')
    used.body?.getReader()
    expect(await limited(() => used)).toBe(used)
    const nothing = rateLimit(hourly(9), { address }).wrap(() => undefined)
    expect(await nothing(request())).toBe(undefined) // Bun, after an upgrade
  })

  test('a refusal is what refuse returns: a Response with its own status, or a text with 429', async () => {
    const returned = [() => Response.json({ slow: 'down' }, { status: 420 }), async () => 'slow down', () => undefined]
    const seen: unknown[] = []
    for (const refuse of returned) {
      const limit = rateLimit({ ...hourly(1), refuse }, { address }).wrap(() => new Response())
      await limit(request())
      const response = await limit(request())
      seen.push([response.status, await response.text(), response.headers.get('retry-after')])
    }
    expect(seen).toEqual([
      [420, '{"slow":"down"}', '3600'],
      [429, 'slow down', '3600'],
      [429, '', '3600'],
    ])
  })

  test('of nested limits gets the fields of both, as on a response of Node', async () => {
    const options = { headers: ['draft-11', 'legacy'] as const, address }
    const outer = rateLimit({ policies: fixedWindow({ name: 'daily', limit: 9, window: '1d' }), ...options } as never)
    const inner = rateLimit({ policies: fixedWindow({ name: 'burst', limit: 1, window: '1h' }), ...options } as never)
    const inside = inner.wrap(() => Response.redirect('http://a/', 302))
    const handler = outer.wrap(inside)
    for (const remaining of ['0', '0']) {
      const { headers } = await handler(request())
      expect(headers.get('ratelimit-policy')).toBe('"daily";q=9;w=86400, "burst";q=1;w=3600')
      expect([headers.get('x-ratelimit-limit'), headers.get('x-ratelimit-remaining')]).toEqual(['1', remaining])
    }
  })
})

describe('the end of a response', () => {
  const aborts: unknown[] = []
  afterEach(() => void aborts.splice(0))

  /** What a request has cost once it has ended: 0 if `count` refunds it, 1 if the client left first. */
  async function start(handler: (request: Request, context?: object) => Response | Promise<Response>) {
    const limiter = new RateLimiter(hourly(5))
    const limit = rateLimit({ limiter, keys: () => 'k', count: () => false })
    const used = async () => 5 - (await limiter.peek('k')).remaining
    return { limited: limit.wrap(handler), used }
  }

  test('is that of its body, which is read only as the server asks for it', async () => {
    let pulled = 0
    const { limited, used } = await start(() => {
      const source = {
        pull(controller: ReadableStreamDefaultController) {
          pulled++
          if (pulled > 3) controller.close()
          else controller.enqueue(new TextEncoder().encode('x'))
        },
      }
      return new Response(new ReadableStream(source, { highWaterMark: 0 }))
    })
    const reader = (await limited(request())).body?.getReader()
    expect([pulled, await used()]).toEqual([0, 1])
    await reader?.read()
    expect([pulled, await used()]).toEqual([1, 1])
    while (!(await reader?.read())?.done) expect(await used()).toBe(1)
    await until(() => true)
    expect(await used()).toBe(0)
  })

  test.each([
    ['cancelled', (body: ReadableStream) => body.cancel('gone')],
    ['broken off', (body: ReadableStream) => new Response(body).text().catch(() => undefined)],
  ])('of a body that is %s keeps its units', async (_what, end) => {
    const cancelled = vi.fn()
    const { limited, used } = await start(() => {
      const pull = (controller: ReadableStreamDefaultController) => controller.error(new Error('broken'))
      return new Response(new ReadableStream({ pull, cancel: cancelled }, { highWaterMark: 0 }))
    })
    const { body } = await limited(request())
    await end(body as ReadableStream)
    await until(() => true)
    expect([await used(), cancelled.mock.calls.length]).toEqual([1, _what === 'cancelled' ? 1 : 0])
  })

  test('is at once for a response without a body, and for a handler that throws', async () => {
    for (const method of ['GET', 'HEAD']) {
      for (const answer of [async () => new Response(null, { status: 304 }), () => Promise.reject(new Error('no'))]) {
        const { limited, used } = await start(answer)
        await limited(request('/', { method })).catch(String)
        await until(() => true)
        expect(await used()).toBe(0)
      }
    }
  })

  describe('of HEAD', () => {
    const head = { method: 'HEAD' }
    const slowly = () => new Response(new ReadableStream({ pull: () => new Promise(() => {}) }, { highWaterMark: 0 }))
    const read = ({ body }: Response) =>
      void body
        ?.getReader()
        .read()
        .catch(() => undefined)

    function inFlight() {
      const limiter = new RateLimiter({ policies: concurrency({ limit: 5 }), store: stillStore().store })
      const used = async () => (await limiter.usage('k')).policies[0]?.used
      return { limit: rateLimit({ limiter, keys: () => 'k' }), used }
    }

    test('is at once for count, because the response is its head', async () => {
      const { limited, used } = await start(slowly)
      await limited(request('/', head))
      await until(() => true)
      expect(await used()).toBe(0)
    })

    test('is that of the body for units in flight, if the server reads the body', async () => {
      const { limit, used } = inFlight()
      const reader = (await limit.wrap(() => new Response('body'))(request('/', head))).body?.getReader()
      await reader?.read()
      await sleep(150)
      expect(await used()).toBe(1)
      await reader?.read()
      await until(() => true)
      expect(await used()).toBe(0)
    })

    test.each(['before', 'after'])('is at once if the server cancels the body %s a read', async (when) => {
      const { limit, used } = inFlight()
      const reader = (await limit.wrap(slowly)(request('/', head))).body?.getReader()
      if (when === 'after') reader?.read().catch(() => undefined)
      await until(() => true)
      expect(await used()).toBe(1)
      await reader?.cancel()
      await until(() => true)
      expect(await used()).toBe(0)
    })

    test('is soon if nobody reads the body, and at once in Next.js, which drops it', async () => {
      const { limit, used } = inFlight()
      expect((await limit.wrap(slowly)(request('/', head))).bodyUsed).toBe(false)
      expect(await used()).toBe(1)
      await expect.poll(used).toBe(0)
      await limit.wrap(slowly)(Object.assign(request('/', head), { nextUrl: new URL('http://a') }))
      await until(() => true)
      expect(await used()).toBe(0)
    })

    test('comes with its body on the edge runtime of Next.js, which reads the body', async () => {
      vi.stubGlobal('EdgeRuntime', 'edge-runtime')
      onTestFinished(() => void vi.unstubAllGlobals())
      const { limit, used } = inFlight()
      read(await limit.wrap(slowly)(Object.assign(request('/', head), { nextUrl: new URL('http://a') })))
      await sleep(150)
      expect(await used()).toBe(1)
    })

    test('is when the client leaves, which has the whole response then, but not if a handler still runs', async () => {
      const failures = new RateLimiter(hourly(5))
      const { limit, used } = inFlight()
      const client = new AbortController()
      read(await limit.wrap(slowly)(request('/', { ...head, signal: client.signal })))
      expect(await used()).toBe(1)
      const inner = limit.wrap(slowly)
      const outer = rateLimit({ limiter: failures, keys: () => 'k', count: 'failures' }).wrap(async (each) => {
        read(await inner(each))
        client.abort()
        await until(() => true)
        return new Response('no', { status: 401 })
      })
      await outer(request('/', { ...head, signal: client.signal }))
      await until(() => true)
      expect([await used(), (await failures.usage('k')).policies[0]?.used]).toEqual([0, 1])
    })

    test('leaves no listener on a signal that lives longer', async () => {
      const { limit } = inFlight()
      const { signal } = new AbortController()
      const incoming = request('/')
      Object.defineProperty(incoming, 'signal', { value: signal })
      await (await limit.wrap(() => new Response('ok'))(incoming)).text()
      expect(getEventListeners(signal, 'abort')).toEqual([])
    })

    test.each(['GET', 'HEAD'])('of a %s is not that of a response that an outer wrap has replaced', async (method) => {
      const { limit, used } = inFlight()
      const replaced: Response[] = []
      const inner = rateLimit({ ...hourly(99), keys: () => 'k' }).wrap(() => new Response('ok'))
      const outer = limit.wrap(async (each) => {
        replaced.push(await inner(each))
        return slowly()
      })
      read(await outer(request('/', { method })))
      await replaced[0]?.text()
      await sleep(150)
      expect(await used()).toBe(1)
    })
  })

  test('of a body of one large chunk comes when the server has taken its last piece', async () => {
    const bytes = Uint8Array.from({ length: 200_001 }, (_, n) => n % 251)
    const { limited, used } = await start(() => new Response(bytes))
    const reader = (await limited(request())).body?.getReader()
    const pieces: Uint8Array[] = []
    for (let last = await reader?.read(); last?.done === false; last = await reader?.read()) {
      expect(await used()).toBe(1)
      pieces.push(last.value as Uint8Array)
    }
    expect(pieces.map(({ length }) => length)).toEqual([65_536, 65_536, 65_536, 3393])
    expect(Buffer.compare(Buffer.concat(pieces), bytes)).toBe(0)
    expect(await used()).toBe(0)
  })

  test.each(['by hand', 'by wrap'])(
    'is judged by the response behind the limit, also below an outer limit; %s',
    async (how) => {
      const login = rateLimit({ ...hourly(9), keys: () => 'k', count: 'failures' })
      const outer = rateLimit({ ...hourly(99), keys: () => 'all', count: 'failures' })
      const check = () => new Response(null, { status: 401 })
      const part = async (incoming: Request) => {
        if (how === 'by wrap') return login.wrap(check)(incoming)
        const { response, apply } = await login(incoming)
        return response ?? apply(check())
      }
      const batch = outer.wrap(async (incoming: Request) => {
        const statuses: number[] = []
        for (let n = 0; n < 3; n++) statuses.push((await part(incoming)).status)
        return Response.json(statuses)
      })
      expect(await (await batch(request())).json()).toEqual([401, 401, 401])
      await until(() => true)
      expect([(await login.limiter.peek('k')).remaining, (await outer.limiter.peek('all')).remaining]).toEqual([6, 99])
    },
  )

  test('is its own if another limited handler has answered the same Request before the store has decided', async () => {
    let decide = () => {}
    const ways = [new Promise<void>((resolve) => (decide = resolve))]
    const store = asyncStore(stillStore().store, () => ways.pop() ?? Promise.resolve())
    const policies = [fixedWindow({ limit: 9, window: '1h' }), concurrency({ limit: 1 })]
    const login = rateLimit({ policies, store, keys: () => 'k', count: 'failures' })
    const health = rateLimit({ ...hourly(9), keys: () => 'k', count: 'failures' })
    const used = async () => (await login.limiter.peek('k')).policies.map((verdict) => verdict.used)
    let check = (_response: Response) => {}
    const incoming = request()
    const slow = login.wrap(() => new Promise<Response>((resolve) => (check = resolve)))(incoming)
    expect(await (await health.wrap(() => new Response('up'))(incoming)).text()).toBe('up')
    decide()
    await expect.poll(used).toEqual([1, 1])
    check(new Response(null, { status: 401 }))
    expect((await slow).status).toBe(401)
    await expect.poll(used).toEqual([1, 0])
    expect((await health.limiter.peek('k')).remaining).toBe(9)
  })

  test('is judged by what the handler has thrown, if code around the limit has answered instead', async () => {
    const login = rateLimit({ ...hourly(9), keys: () => 'k', count: 'failures' })
    const limited = login.wrap(() => Promise.reject(new Error('no')))
    const outer = rateLimit({ ...hourly(99), keys: () => 'all' })
    const app = outer.wrap(async (incoming: Request) =>
      limited(incoming).catch(() => new Response(null, { status: 303 })),
    )
    expect((await app(request())).status).toBe(303)
    await until(() => true)
    expect((await login.limiter.peek('k')).remaining).toBe(8)
  })

  test('is there too if the handler throws a value that cannot be read', async () => {
    const limit = rateLimit({ policies: ['9/1h', '1 at once'], keys: () => 'k' })
    const limited = limit.wrap(() => {
      throw Object.defineProperty(new Error('no'), 'status', {
        get() {
          throw new Error('unreadable')
        },
      })
    })
    for (let n = 0; n < 3; n++) await expect(limited(request())).rejects.toThrow('no')
    expect((await limit.limiter.peek('k')).policies.map(({ used }) => used)).toEqual([3, 0])
  })

  test('counts for a POST with status 304, because a plugin for ETags may have replaced a failure', async () => {
    const { limited, used } = await start(() => new Response(null, { status: 304 }))
    for (const method of ['GET', 'HEAD', 'POST', 'PUT']) await limited(request('/', { method }))
    await until(() => true)
    expect(await used()).toBe(2)
  })

  test.each([
    ['never reads', 'GET', async () => {}],
    ['never reads', 'POST', async () => {}],
    ['cancels', 'GET', (body: ReadableStream | null) => body?.cancel()],
  ])(
    'of a page that the client has is that of status 304, if SvelteKit %s the page of %s',
    async (_what, method, leave) => {
      const { limited, used } = await start(() => new Response('page', { headers: { etag: '"1"' } }))
      const event = { isSubRequest: false, getClientAddress: address }
      const asked = (tags: string) => limited(request('/', { method, headers: { 'if-none-match': tags } }), event)
      await leave((await asked('W/"1"')).body)
      while ((await used()) > 0) await sleep(20)
      const read = await asked('"1"')
      expect(await read.text()).toBe('page')
      expect(await used()).toBe(0)
      // SvelteKit knows neither lists nor `*`: it sends the page.
      for (const tags of ['"2"', '*', '"0", "1"']) await leave((await asked(tags)).body)
      await sleep(150)
      expect(await used()).toBe(3)
    },
  )

  test('of a page that the client has comes with its body in other frameworks, however late the body is read', async () => {
    const { limited, used } = await start(() => new Response('page', { headers: { etag: '"1"' } }))
    const response = await limited(request('/', { headers: { 'if-none-match': '"1"' } }))
    await sleep(150)
    expect(await used()).toBe(1)
    await response.text()
    expect(await used()).toBe(0)
  })

  test.each([
    [303, 'failures', 0],
    [303, 'successes', 1],
    [401, 'failures', 1],
  ] as const)('of a thrown Response with status %s counts by its status: %s', async (status, count, used) => {
    const limit = rateLimit({ ...hourly(5), keys: () => 'k', count })
    const limited = limit.wrap(() => {
      throw new Response('thrown', { status })
    })
    await expect(limited(request())).rejects.toMatchObject({ status })
    await until(() => true)
    expect(5 - (await limit.limiter.peek('k')).remaining).toBe(used)
  })

  test.each<[string, unknown, number]>([
    ['a Response', new Response(null, { status: 401 }), 401],
    ['an error of SvelteKit', { status: 401, body: { message: 'no' } }, 401],
    ['a redirect of SvelteKit', { status: 303, location: '/' }, 303],
    ['unauthorized() of Next.js', Object.assign(new Error(), { digest: 'NEXT_HTTP_ERROR_FALLBACK;401' }), 401],
    ['redirect() of Next.js', Object.assign(new Error(), { digest: 'NEXT_REDIRECT;push;/;307;' }), 307],
    ['an object with a status of no failure', { status: 200 }, 500],
    ['a wrong digest', Object.assign(new Error(), { digest: 'NEXT_HTTP_ERROR_FALLBACK;999' }), 500],
    ['Response.error()', Response.error(), 500],
    ['an error with a status', Object.assign(new Error(), { status: 401 }), 500],
    ['nothing', undefined, 500],
  ])('a function in count gets the status of %s that the handler throws', async (_what, thrown, status) => {
    const limit = rateLimit({ ...hourly(5), keys: () => 'k', count: ({ response }) => response?.status === status })
    const limited = limit.wrap(() => Promise.reject(thrown))
    await expect(limited(request())).rejects.toBe(thrown)
    await until(() => true)
    expect((await limit.limiter.peek('k')).remaining).toBe(4)
  })

  test.each([
    ['at once', () => 'k'],
    ['later', async () => 'k'],
  ])('if a function in the options throws after a decision %s, the unit in flight is free', async (_when, keys) => {
    const attach = () => {
      throw new Error('no')
    }
    const limit = rateLimit({ policies: '2 at once', keys, attach })
    const limited = limit.wrap(() => new Response())
    for (const call of [limit, limited, limit, limited]) await expect(call(request())).rejects.toThrow('no')
    await until(() => true)
    expect((await limit.limiter.peek('k')).remaining).toBe(2)
  })

  test('a function in count gets the status that the application passes to end', async () => {
    const limit = rateLimit({ ...hourly(5), keys: () => 'k', count: ({ response }) => response?.status === 401 })
    for (const status of [401, 200, 101]) await (await limit(request())).end(status)
    await until(() => true)
    expect((await limit.limiter.peek('k')).remaining).toBe(4)
  })

  test.each([
    ['values', (id: unknown) => ({ id })],
    ['a promise of values, as in Next.js', async (id: unknown) => ({ id })],
  ])('byParam finds a parameter in %s', async (_what, paramsOf) => {
    const limited = rateLimit({ ...hourly(1), keys: combine(byIp(), byParam('id')) }, { address }).wrap(
      (_request: Request, _context: object) => new Response(),
    )
    const statuses: number[] = []
    for (const id of ['ann', 'bob', 'ann', ['a', 'b'], ['a', 'c'], ['a', 'b'], 12, 13, 12, true, false, true, 5n, 5n]) {
      statuses.push((await limited(request(), { params: paramsOf(id) })).status)
    }
    const ofThree = [200, 200, 429]
    expect(statuses).toEqual([...ofThree, ...ofThree, ...ofThree, ...ofThree, 200, 429])
  })

  test('without count, the body is left as it is', async () => {
    const body = new ReadableStream()
    const response = new Response(body)
    expect((await rateLimit(hourly(1), { address }).wrap(() => response)(request())).body).toBe(body)
  })

  test('comes over a socket when the client leaves in the middle of a stream, also under two limits', async () => {
    const { limited, used } = await start(() => {
      const pull = (controller: ReadableStreamDefaultController) => controller.enqueue(new Uint8Array(1000))
      return new Response(new ReadableStream({ pull, cancel: () => void aborts.push('cancelled') }))
    })
    const outer = rateLimit({ ...hourly(5), count: () => false }, { address })
    const options = { fetch: outer.wrap(limited) as never, createServer, overrideGlobalObjects: false }
    const server = await serve(createAdaptorServer(options) as never)
    const client = send(server.url, { agent: false }).end()
    const [response] = await once(client, 'response')
    await once(response, 'data')
    client.on('error', () => undefined)
    response.on('error', () => undefined)
    client.destroy()
    await until(() => aborts.length > 0)
    await until(() => true)
    const { remaining } = await outer.limiter.peek('192.0.2.1')
    expect([await used(), remaining]).toEqual([1, 4])
    await server.close()
  })

  test('a client that leaves while its request is delayed returns its units, and no handler runs', async () => {
    const limiter = new RateLimiter({ policies: '1/1h token-bucket', store: stillStore().store })
    const handler = vi.fn(() => new Response())
    const limit = rateLimit({ limiter, keys: () => 'k', delay: { max: '1h' } })
    await limiter.consume('k')
    const leaving = new AbortController()
    const response = limit.wrap(handler)(request('/', { signal: leaving.signal }))
    leaving.abort()
    expect((await response).status).toBe(499)
    expect([handler.mock.calls.length, (await limiter.peek('k')).retryAfter]).toEqual([0, 3_600_000])
  })
})

describe('an address', () => {
  const byUser = { policies: fixedWindow({ limit: 1, window: '1h', scope: 'user' }) }
  const refused: [string, object][] = [
    ['no keys', {}],
    ['byIp()', { keys: byIp() }],
    ['byIp() with trusted proxies', { keys: byIp({ trustedProxies: 1 }) }],
    ['byIp() in combine', { keys: combine(byHeader('x-api-key'), byIp()) }],
    ['byIp() for a scope', { ...byUser, keys: { user: byIp() } }],
    ['a default scope without keys', { policies: ['1/1m', byUser.policies], keys: { user: byHeader('x-user') } }],
    ['an allow list', { keys: byHeader('x-api-key'), allow: ['10.0.0.0/8'] }],
    ['a deny list', { keys: byHeader('x-api-key'), deny: ['10.0.0.0/8'] }],
    ['plans', { policies: () => '1/1h' }],
  ]

  test.each(refused)('that nothing can find is an error when the limiter is made: %s', (_what, options) => {
    const wrong = expect.objectContaining({ code: 'HEADGATE_OPTION', message: expect.stringContaining('address') })
    expect(() => rateLimit({ ...hourly(1), ...options } as never)).toThrow(wrong)
    expect(() => rateLimit({ ...hourly(1), ...options, address } as never)).not.toThrow()
  })

  test('is not needed for keys that are no address', () => {
    rateLimit('1/1h', { keys: byHeader('x-api-key') })
    rateLimit('1/1h', { keys: byHeader('x-api-key'), deny: () => false, allow: [] })
    rateLimit({ policies: () => '1/1h', keys: byHeader('x-api-key') })
    rateLimit({ ...byUser, keys: { user: byHeader('x-user') } })
  })

  test('that a platform has to report is no reason to advise another platform', async () => {
    forgetWarnings()
    const warned = vi.spyOn(process, 'emitWarning').mockImplementation(() => undefined)
    const limit = rateLimit({ ...hourly(9), keys: byIp({ platform: 'vercel', warn: false }) })
    const forged = new Request('http://x/', { headers: { 'cf-connecting-ip': '192.0.2.1' } })
    expect((await limit(forged)).response?.status).toBe(403)
    expect(JSON.stringify(warned.mock.calls)).not.toContain('HEADGATE_FORWARDED')
    warned.mockRestore()
    forgetWarnings()
  })

  test('that is missing from a request is refused, with a warning, and no quota is shared', async () => {
    forgetWarnings()
    const warned = vi.spyOn(process, 'emitWarning').mockImplementation(() => undefined)
    const limit = rateLimit(hourly(9), { address: () => null })
    const keyless = rateLimit({ ...hourly(9), keys: byHeader('x-api-key') })
    expect([(await limit(request())).response?.status, (await keyless(request())).response?.status]).toEqual([403, 403])
    expect(warned.mock.calls).toEqual([
      [expect.stringContaining('address'), { type: 'HeadgateWarning', code: 'HEADGATE_NO_ADDRESS' }],
    ])
    warned.mockRestore()
    forgetWarnings()
  })

  test('behind trusted proxies is read from the end of X-Forwarded-For', async () => {
    const limit = rateLimit(hourly(1), { address: () => '10.0.0.1', trustedProxies: ['10.0.0.0/8'] })
    const from = (forwarded: string) => limit(request('/', { headers: { 'x-forwarded-for': forwarded } }))
    const seen = [await from('6.6.6.6, 192.0.2.1'), await from('7.7.7.7, 192.0.2.1, 10.0.0.2'), await from('192.0.2.2')]
    expect(seen.map(({ response }) => response?.status)).toEqual([undefined, 429, undefined])
  })

  test('a route that is a promise is an error, and its rejection ends nothing', async () => {
    const route = (async () => Promise.reject(new Error('late'))) as never
    const limit = rateLimit({ ...hourly(1), keys: byRoute() }, { address, route })
    await expect(limit(request('/'))).rejects.toThrow(/^route must not return a promise/)
  })

  test.each([{ address: '192.0.2.1' }, { route: 5 }, { trustedProxies: 0 }, { address: null }, { adress: address }])(
    '%j is an error',
    (options) => {
      const wrong = expect.objectContaining({ code: 'HEADGATE_OPTION' })
      expect(() => rateLimit('1/1h', options as never)).toThrow(wrong)
      expect(() => rateLimit({ limit: 1, window: '1h', ...options } as never)).toThrow(wrong)
    },
  )
})

test('a handler that is not a function is an error at the start', () => {
  const wrong = expect.objectContaining({ code: 'HEADGATE_OPTION', message: expect.stringContaining('wrap: handler') })
  for (const handler of [undefined, new Response('hello')]) {
    expect(() => rateLimit('1/1h', { address }).wrap(handler as never)).toThrow(wrong)
  }
})

test('the types of a handler stay its own', () => {
  interface NextishRequest extends Request {
    readonly nextUrl: URL
  }
  const limit = rateLimit('1/1h', { address })
  const handler = limit.wrap(async (request: NextishRequest, context: { params: Promise<{ id: string }> }) => {
    expectTypeOf(request.nextUrl).toEqualTypeOf<URL>()
    expectTypeOf(request.rateLimit?.remaining).toEqualTypeOf<number | undefined>()
    return Response.json(await context.params)
  })
  expectTypeOf(handler).parameters.toEqualTypeOf<[NextishRequest, { params: Promise<{ id: string }> }]>()
  expectTypeOf(handler).returns.toExtend<Promise<Response>>()
  expectTypeOf(limit.wrap((request) => new Response(request.url))).toBeCallableWith(new Request('http://a'))
  expectTypeOf(rateLimit({ policies: () => '1/1h' }, { address }).limiter).toEqualTypeOf<PlanLimiter>()
  rateLimit('1/1h', { address: (_request, server: { ip: string }) => server.ip })
  rateLimit('1/1h', { address: (request: NextishRequest) => request.nextUrl.hostname })
})

describe('AWS Lambda', () => {
  const functionUrl: LambdaEvent = {
    rawPath: '/a b',
    rawQueryString: 'q=1&q=2',
    headers: { host: 'x.lambda-url.aws', 'content-type': 'text/plain' },
    cookies: ['a=1', 'b=2'],
    body: 'aMOk',
    isBase64Encoded: true,
    requestContext: { http: { method: 'POST', sourceIp: '192.0.2.1' } },
  }
  const restApi: LambdaEvent = {
    path: '//evil/x',
    httpMethod: 'GET',
    headers: { host: 'api.example' },
    multiValueHeaders: { accept: ['text/html', 'application/json'] },
    multiValueQueryStringParameters: { q: ['1', 'ä'] },
    body: null,
    requestContext: { identity: { sourceIp: '192.0.2.2' } },
  }

  test('an event becomes a Request', async () => {
    const first = lambdaRequest(functionUrl)
    expect([first.method, first.url, first.headers.get('cookie'), await first.text()]).toEqual([
      'POST',
      'https://x.lambda-url.aws/a%20b?q=1&q=2',
      'a=1; b=2',
      'hä',
    ])
    const second = lambdaRequest(restApi)
    expect([second.url, second.headers.get('accept')]).toEqual([
      'https://api.example//evil/x?q=1&q=%C3%A4',
      'text/html, application/json',
    ])
    expect(lambdaRequest({ headers: { host: 'a b' }, requestContext: {} }).url).toBe('https://localhost/')
    expect([functionUrl, restApi, {}].map(lambdaAddress)).toEqual(['192.0.2.1', '192.0.2.2', undefined])
  })

  test('a Response becomes a result, and a refusal is one', async () => {
    const limit = rateLimit(hourly(1), { address: (_request, event: LambdaEvent) => lambdaAddress(event) })
    const limited = limit.wrap((_request: Request, _event: LambdaEvent) => {
      const response = new Response(new Uint8Array([255, 0]), { headers: { 'content-type': 'image/png' } })
      for (const cookie of ['a=1', 'b=2']) response.headers.append('set-cookie', cookie)
      return response
    })
    const call = async (event: LambdaEvent) => lambdaResult(await limited(lambdaRequest(event), event), event)
    expect(await call(functionUrl)).toMatchObject({
      statusCode: 200,
      headers: { 'content-type': 'image/png', 'x-ratelimit-limit': '1' },
      cookies: ['a=1', 'b=2'],
      body: '/wA=',
      isBase64Encoded: true,
    })
    expect(await call(functionUrl)).toMatchObject({ statusCode: 429, isBase64Encoded: false, body: /^Too many/ })
    expect(await call(restApi)).toMatchObject({ multiValueHeaders: { 'set-cookie': ['a=1', 'b=2'] } })
  })
})
