/* The package and the module that stands in for it, side by side: the same requests must get the same answers. */
import type { Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import { createAdaptorServer, upgradeWebSocket } from '@hono/node-server'
import { type Context, Hono } from 'hono'
import { HTTPException } from 'hono/http-exception'
import * as original from 'hono-rate-limiter'
import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest'
import { WebSocket, WebSocketServer } from 'ws'
import * as compat from '../../adapters/compat/hono-rate-limiter.ts'
import { forgetWarnings } from '../../src/common/warn.ts'
import { memoryStore, wallClock } from '../../src/index.ts'
import { faultyStore } from '../../src/testing/index.ts'
import { get, serve } from '../support/frameworks.ts'

const start = Date.UTC(2026, 0, 1, 0, 0, 0, 250)
beforeEach(() => void vi.useFakeTimers({ now: start, toFake: ['Date'] }))
afterEach(() => void vi.useRealTimers())

type Module = Pick<typeof compat, 'rateLimiter' | 'webSocketLimiter' | 'MemoryStore'>
const modules = { original: original as unknown as Module, compat: compat as Module }
type Options = Partial<compat.HonoConfigProps> | (Partial<compat.CloudflareConfigProps> & { binding: unknown })

/** One request of a script: after how many milliseconds, and what it asks for. */
interface Step {
  readonly later?: number
  readonly path?: string
  readonly user?: string
}

interface Scenario {
  readonly options: (module: Module) => Options
  readonly steps: readonly Step[]
}

const times = (count: number, step: Step = {}): Step[] => Array.from({ length: count }, () => step)
const user = (context: Context) => context.req.header('x-user') ?? 'nobody'

/** Plays the script on one module. The answers have all fields, the body, and the numbers on the context. */
async function play({ rateLimiter }: Pick<Module, 'rateLimiter'>, { options, steps }: Scenario, module: Module) {
  const given = options(module)
  const app = new Hono()
  app.use(rateLimiter({ keyGenerator: user, ...given } as never))
  app.get('/fail', (context) => context.text('failed', 500))
  app.get('/crash', () => {
    throw new HTTPException(400, { message: 'Oops!' })
  })
  app.get('/raw', () => new Response('raw', { headers: { 'x-own': 'yes' } }))
  app.get('/forget', async (context) => {
    const { getKey, resetKey } = context.get('rateLimitStore' as never) as Required<compat.Store> & {
      getKey: NonNullable<compat.Store['get']>
    }
    const before = await getKey(user(context))
    await resetKey(user(context))
    return context.json([before?.totalHits, before?.resetTime, (await getKey(user(context)))?.totalHits])
  })
  const { requestPropertyName = 'rateLimit' } = given as compat.HonoConfigProps
  app.get('/', (context) => context.json({ info: context.get(requestPropertyName as never) ?? 'no numbers' }))
  app.onError((error, context) => {
    if (error instanceof HTTPException) return error.getResponse()
    return context.text(error.message.includes('is not a function') ? 'not a function' : error.message, 503)
  })
  const { url, close } = await serve(createAdaptorServer(app) as Server)
  const answers: unknown[] = []
  for (const { later = 0, path = '/', user } of steps) {
    vi.setSystemTime(Date.now() + later)
    const { status, headers, body } = await get(url + path, user === undefined ? {} : { 'x-user': user })
    const { date, connection, 'keep-alive': _, ...fields } = headers
    answers.push({ status, fields, body })
  }
  await close()
  vi.setSystemTime(start)
  return answers as { status: number; fields: Record<string, string>; body: string }[]
}

const windows: Step[] = [...times(3), { later: 59_000 }, { later: 999 }, { later: 1 }, ...times(3), { later: 120_000 }]
const mixed: Step[] = [{}, { path: '/fail' }, { path: '/crash' }, {}, {}, { path: '/fail' }, {}, {}]
/** A store of others, without what is optional. */
const plain = (hits: (count: number) => unknown = (totalHits) => ({ totalHits })) => {
  let count = 0
  return { increment: () => hits(++count), decrement: () => void count--, resetKey() {} } as never
}
const results: Record<string, () => unknown> = {
  throws: () => {
    throw new Error('no')
  },
  rejects: async () => {
    throw new Error('no')
  },
  'returns a number': () => 2,
  'returns nothing': () => undefined,
  'resolves to a text': async () => '2',
}
const functions = ['skip', 'keyGenerator', 'limit', 'message', 'requestWasSuccessful']

const scenarios: Record<string, Scenario> = {
  defaults: { options: () => ({}), steps: times(7) },
  'undefined options': { options: () => ({ limit: undefined, windowMs: undefined }) as never, steps: times(7) },
  'windows open with the first request': { options: () => ({ limit: 2 }), steps: windows },
  'draft-6': { options: () => ({ limit: 2, standardHeaders: 'draft-6', windowMs: 90_500 }), steps: windows },
  'draft-7': { options: () => ({ limit: 2, standardHeaders: 'draft-7' }), steps: windows },
  'true for draft-6': { options: () => ({ limit: 1, standardHeaders: true }), steps: times(2) },
  'no fields': { options: () => ({ limit: 1, standardHeaders: false }), steps: times(2) },
  'a limit of 0': { options: () => ({ limit: 0 }), steps: times(2) },
  'a limit by a function': {
    options: () => ({ limit: async (context) => (user(context) === 'ann' ? 3 : 1) }),
    steps: [...times(2), ...times(4, { user: 'ann' })],
  },
  'keys by a promise': {
    options: () => ({ limit: 1, keyGenerator: async (context) => user(context) }),
    steps: [...times(2, { user: 'ann' }), ...times(2, { user: 'bob' })],
  },
  skip: {
    options: () => ({ limit: 1, skip: async (context) => user(context) === 'ann' }),
    steps: [...times(2, { user: 'ann' }), ...times(2)],
  },
  'an object as the message': { options: () => ({ limit: 1, message: { code: 1 } }), steps: times(2) },
  'a message by a function': { options: () => ({ limit: 1, message: async () => 'slow' }), steps: times(2) },
  'an empty message': { options: () => ({ limit: 1, message: '' }), steps: times(2) },
  'another status': { options: () => ({ limit: 1, statusCode: 503 }), steps: times(2) },
  'a handler that answers': {
    options: () => ({
      limit: 1,
      handler: (context, _next, options) =>
        context.json(JSON.parse(JSON.stringify({ ...options, store: undefined })), 418),
    }),
    steps: times(2),
  },
  'a handler that lets the request go on': {
    options: () => ({ limit: 1, handler: (_context, next) => next() }),
    steps: times(2),
  },
  'a handler that throws': {
    options: () => ({
      limit: 1,
      handler: () => {
        throw new Error('no')
      },
    }),
    steps: times(2),
  },
  'other names of variables': {
    options: () => ({ limit: 1, requestPropertyName: 'quota', requestStorePropertyName: 'rateLimitStore' }),
    steps: times(2),
  },
  'the store on the context': { options: () => ({ limit: 2 }), steps: [{}, { path: '/forget' }, {}, {}, {}] },
  'responses that a handler makes itself': { options: () => ({ limit: 2 }), steps: times(3, { path: '/raw' }) },
  'paths that do not exist': { options: () => ({ limit: 2 }), steps: times(3, { path: '/nothing' }) },
  'failed requests do not count': { options: () => ({ limit: 2, skipFailedRequests: true }), steps: mixed },
  'successful requests do not count': {
    options: () => ({ limit: 1, skipSuccessfulRequests: true }),
    steps: mixed.slice(1),
  },
  'keys that are numbers, where successes do not count': {
    options: () => ({ limit: 1, skipSuccessfulRequests: true, keyGenerator: (() => 7) as never }),
    steps: mixed,
  },
  'no keys, where failures do not count': {
    options: () => ({ limit: 1, skipFailedRequests: true, keyGenerator: (() => undefined) as never }),
    steps: mixed,
  },
  'neither counts': {
    options: () => ({ limit: 1, skipFailedRequests: true, skipSuccessfulRequests: true }),
    steps: mixed,
  },
  'success by a function': {
    options: () => ({
      limit: 2,
      skipFailedRequests: true,
      requestWasSuccessful: async ({ req }) => req.path === '/fail',
    }),
    steps: mixed,
  },
  'the exported store': { options: ({ MemoryStore }) => ({ limit: 1, store: new MemoryStore() }), steps: windows },
  'a store of others': { options: () => ({ limit: 1, store: plain() }), steps: times(2) },
  'a store of others, draft-7': {
    options: () => ({ limit: 1, store: plain(), standardHeaders: 'draft-7' }),
    steps: times(2),
  },
  'a store whose init is none': {
    options: () => ({ store: { ...(plain() as object), init: 'no' } as never }),
    steps: times(1),
  },
  'a store that fails': { options: () => ({ store: plain(() => Promise.reject(new Error('down'))) }), steps: times(2) },
  'a store that throws': {
    options: () => ({
      store: plain(() => {
        throw new Error('down')
      }),
    }),
    steps: times(2),
  },
  'a binding of Cloudflare': {
    options: () => {
      let left = 1
      return { binding: { limit: async ({ key }: { key: string }) => ({ success: key !== 'ann' || left-- > 0 }) } }
    },
    steps: [...times(2, { user: 'ann' }), ...times(2)],
  },
  'a binding by a function': {
    options: () => ({
      binding: (context: Context) => ({ limit: () => ({ success: user(context) === 'ann' }) }),
      message: { slow: true },
      statusCode: 503,
      skip: (context: Context) => user(context) === 'bob',
    }),
    steps: [{ user: 'ann' }, { user: 'bob' }, {}],
  },
  'a binding that fails': {
    options: () => ({ binding: { limit: () => Promise.reject(new Error('down')) } }),
    steps: times(1),
  },
  ...Object.fromEntries(
    Object.entries(results).flatMap(([what, result]) =>
      functions
        .filter((option) => option !== 'limit' || what !== 'returns nothing')
        .filter((option) => option !== 'message' || what !== 'returns nothing')
        .map((option) => [
          `${option} ${what}`,
          {
            options: () => ({ limit: 1, skipFailedRequests: true, [option]: result }) as never,
            steps: [...times(3), { path: '/fail' }, { path: '/crash' }, ...times(2)],
          },
        ]),
    ),
  ),
  ...Object.fromEntries(
    Object.entries({
      'no hits': {},
      'NaN hits': { totalHits: NaN },
      'hits as a text': { totalHits: '3' },
      'a time in the past': { totalHits: 3, resetTime: new Date(start - 5000) },
      'a time': { totalHits: 3, resetTime: new Date(start + 5000) },
    }).flatMap(([what, hits]) =>
      (['draft-6', 'draft-7', false] as const).map((standardHeaders) => [
        `a store that tells ${what}, ${standardHeaders}`,
        { options: () => ({ limit: 2, standardHeaders, store: plain(() => hits) }), steps: times(1) },
      ]),
    ),
  ),
  ...Object.fromEntries(
    [-1, Infinity, 1.5, '2', true].map((limit) => [
      `limit: ${JSON.stringify(limit)}`,
      { options: () => ({ limit }) as never, steps: times(3) },
    ]),
  ),
}

test.each(Object.entries(scenarios))('%s', async (_, scenario) => {
  const expected = await play(modules.original, scenario, modules.original)
  expect(await play(modules.compat, scenario, modules.compat)).toEqual(expected)
  expect(expected).toHaveLength(scenario.steps.length)
})

test('the exports are the same, without the two stores for Redis and unstorage', () => {
  expect(Object.keys(compat).sort()).toEqual(
    Object.keys(original)
      .filter((name) => !/^(Redis|Unstorage)/.test(name))
      .sort(),
  )
})

test('takes the stores of the package, which keep their types', async () => {
  const values = new Map<string, unknown>()
  const storage = {
    get: async (key: string) => values.get(key),
    set: async (key: string, value: unknown) => void values.set(key, value),
    remove: async (key: string) => void values.delete(key),
  }
  const store = () => new original.UnstorageStore({ storage })
  const limit = compat.rateLimiter({ keyGenerator: user, limit: 2, store: store() })
  expect(limit).toBeTypeOf('function')
  const scenario = (which: () => unknown) => ({
    options: () => ({ limit: 2, store: which() }) as never,
    steps: windows,
  })
  const expected = await play(modules.original, scenario(store), modules.original)
  values.clear()
  expect(await play(modules.compat, scenario(store), modules.compat)).toEqual(expected)
  values.clear()
  const inMemory = await play(
    modules.compat,
    scenario(() => new original.MemoryStore()),
    modules.compat,
  )
  expect(inMemory).toEqual(expected)
})

test('takes a store of headgate, with a name for each limiter', async () => {
  const store = memoryStore({ clock: wallClock })
  compat.rateLimiter({ store, name: 'other', limit: 9, keyGenerator: user })
  const expected = await play(modules.original, { options: () => ({ limit: 2 }), steps: windows }, modules.original)
  const onStore = { options: () => ({ limit: 2, store, name: 'mine' }), steps: windows }
  expect(await play(modules.compat, onStore, modules.compat)).toEqual(expected)
})

test.each<[object, RegExp]>([
  [{ keyGenerator: undefined }, /^keyGenerator must be a function/],
  [{ keyGenerator: 'ip' }, /^keyGenerator must be a function/],
  [{ limit: Number.NaN }, /^limit must be a number/],
  [{ limit: null }, /^limit must be a number/],
  [{ limit: 'many' }, /^limit must be a number/],
  [{ windowMs: Number.NaN }, /^windowMs must be a number, got NaN/],
  [{ windowMs: 'a minute' }, /^windowMs must be a number, got "a minute"/],
  [{ store: {} }, /^store must have increment/],
  [{ store: null }, /^store must have increment/],
  [{ store: memoryStore(), name: 'é' }, /^name must be 1 to 128 printable ASCII characters/],
])('says at once that an option is wrong: %o', (options, message) => {
  const wrong = { keyGenerator: user, ...options } as never
  expect(() => compat.rateLimiter(wrong)).toThrow(message)
  expect(() => compat.webSocketLimiter(wrong)).toThrow(message)
})

test.each([undefined, Number.NaN])('a limit of %s by a function is an error of the request', async (limit) => {
  const [answer] = await play(
    modules.compat,
    { options: () => ({ limit: () => limit as never }), steps: times(1) },
    modules.compat,
  )
  expect(answer).toMatchObject({ status: 503, body: expect.stringContaining('limit must be a number') })
})

test('takes no hit back from a window that opened after the request', async () => {
  const limit = compat.rateLimiter({ keyGenerator: user, limit: 2, skipFailedRequests: true })
  const app = new Hono()
  app.use(limit)
  app.get('/slow', (context) => {
    vi.setSystemTime(start + 60_000)
    return context.text('failed', 500)
  })
  app.get('/', (context) => context.json((context.get('rateLimit' as never) as compat.RateLimitInfo).used))
  const { url, close } = await serve(createAdaptorServer(app) as Server)
  await get(`${url}/slow`)
  const used = [(await get(url)).body, (await get(url)).body]
  await close()
  expect(used).toEqual(['1', '2'])
})

test('an error of the store after the handler does not replace the response', async () => {
  forgetWarnings()
  const warn = vi.spyOn(process, 'emitWarning').mockImplementation(() => undefined)
  const store = faultyStore(memoryStore())
  const app = new Hono()
  app.use(compat.rateLimiter({ name: 'later', store, skipSuccessfulRequests: true, keyGenerator: () => 'k' }))
  app.get('/', (c) => {
    store.fail('error')
    return c.text('done')
  })
  expect((await app.request('/')).status).toBe(200)
  expect(warn.mock.calls.map(([, options]) => (options as { code: string }).code)).toEqual(['HEADGATE_MESSAGE'])
  warn.mockRestore()
  forgetWarnings()
})

describe('webSocketLimiter', () => {
  /** Sends messages over a real socket. Each answer is a text, or the code and the reason with which the socket was closed. */
  async function talk(module: Module, options: object, messages: readonly string[]): Promise<unknown[]> {
    const { webSocketLimiter } = module
    const heard: unknown[] = []
    const app = new Hono()
    const limit = webSocketLimiter({ keyGenerator: user, ...options } as never)
    const events = limit((context) => ({
      async onMessage(event, socket) {
        if (event.data === 'fail') socket.send('failing')
        if (event.data === 'fail') throw new Error('failed')
        const info = context.get('rateLimit' as never) as compat.RateLimitInfo | undefined
        socket.send(JSON.stringify([event.data, info?.used, info?.remaining]))
      },
    }))
    // A function that throws rejects the promise of onMessage, which nobody awaits there.
    const caught = async (context: Context) => {
      const { onMessage, ...others } = await events(context as never)
      return {
        ...others,
        onMessage: (event: never, socket: never) =>
          void Promise.resolve(onMessage?.(event, socket)).catch((error: Error) => heard.push(error.message)),
      }
    }
    app.get('/', upgradeWebSocket(caught as never))
    const sockets = new WebSocketServer({ noServer: true })
    const server = createAdaptorServer({ fetch: app.fetch, websocket: { server: sockets as never } })
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
    const socket = new WebSocket(`ws://127.0.0.1:${(server.address() as AddressInfo).port}`)
    await new Promise((resolve) => socket.once('open', resolve))
    let closed = false
    socket.on('message', (data) => heard.push(String(data)))
    socket.on('close', (code, reason) => {
      closed = true
      heard.push([code, String(reason)])
    })
    for (const message of messages) {
      const before = heard.length
      const answers = message === 'fail' && !closed ? 2 : 1
      if (closed) break
      socket.send(message)
      await expect.poll(() => heard.length, { interval: 2 }).toBe(before + answers)
    }
    socket.removeAllListeners('close').terminate()
    await new Promise((resolve) => server.close(resolve))
    return heard
  }

  test('a message whose limit is no number is dropped, because nobody would get the error', async () => {
    forgetWarnings()
    const warn = vi.spyOn(process, 'emitWarning').mockImplementation(() => undefined)
    const limit = compat.webSocketLimiter({ limit: (() => undefined) as never, keyGenerator: () => 'k' })
    const seen: unknown[] = []
    const app = new Hono().get('/', async (c) => {
      const { onMessage } = await limit(() => ({ onMessage: ({ data }) => void seen.push(data) }))(c)
      await (onMessage as (event: never, socket: never) => unknown)({ data: 'a' } as never, {} as never)
      return c.text('done')
    })
    expect(await (await app.request('/')).text()).toBe('done')
    expect([seen, warn.mock.calls.length]).toEqual([[], 1])
    warn.mockRestore()
    forgetWarnings()
  })

  test('a message that comes while a store of headgate fails is dropped, and causes a warning and no error', async () => {
    forgetWarnings()
    const warn = vi.spyOn(process, 'emitWarning').mockImplementation(() => undefined)
    const store = faultyStore(memoryStore())
    const seen: unknown[] = []
    const limit = compat.webSocketLimiter({
      name: 'messages',
      store,
      skipSuccessfulRequests: true,
      keyGenerator: () => 'k',
    })
    const context = new Hono().get('/', async (c) => {
      const { onMessage } = await limit(() => ({ onMessage: ({ data }) => void seen.push(data) }))(c)
      const send = async (data: string) => onMessage?.({ data } as never, {} as never)
      await send('a')
      store.fail('error')
      await send('b')
      store.heal()
      await send('c')
      return c.text('done')
    })
    expect(await (await context.request('/')).text()).toBe('done')
    expect(seen).toEqual(['a', 'c'])
    expect(warn.mock.calls.map(([, options]) => (options as { code: string }).code)).toEqual(['HEADGATE_MESSAGE'])
    warn.mockRestore()
    forgetWarnings()
  })

  test.each<[string, (module: Module) => object]>([
    ['defaults', () => ({})],
    ['a limit', () => ({ limit: 2 })],
    [
      'a limit by a function, another code and reason',
      () => ({ limit: async () => 1, statusCode: 1003, message: 'slow' }),
    ],
    ['skip', () => ({ limit: 1, skip: ({ data }: { data: string }) => data === 'b' })],
    ['messages that succeed do not count', () => ({ limit: 1, skipSuccessfulRequests: true })],
    [
      'a handler',
      () => ({ limit: 1, handler: (_event: unknown, socket: { send: (text: string) => void }) => socket.send('no') }),
    ],
    ['another variable', () => ({ limit: 2, requestPropertyName: 'quota' })],
    ['a store of others', () => ({ limit: 2, store: plain() })],
    ['the exported store', ({ MemoryStore }) => ({ limit: 2, store: new MemoryStore() })],
  ])('answers the same: %s', async (_, options) => {
    const messages = ['a', 'b', 'c', 'd', 'e', 'f', 'g']
    const expected = await talk(modules.original, options(modules.original), messages)
    expect(await talk(modules.compat, options(modules.compat), messages)).toEqual(expected)
    expect(expected.length).toBeGreaterThan(1)
  })

  test.each([true, false])('a message that fails counts unless skipFailedRequests: %s', async (skipFailedRequests) => {
    const options = { limit: 3, skipFailedRequests }
    const messages = ['a', 'fail', 'b', 'c', 'd']
    const expected = await talk(modules.original, options, messages)
    expect(await talk(modules.compat, options, messages)).toEqual(expected)
  })

  test.each(Object.entries(modules))(
    'an error of a connection gives no message back (%s)',
    async (_, { webSocketLimiter }) => {
      const seen: unknown[] = []
      const limit = webSocketLimiter({ keyGenerator: () => 'k', limit: 1, skipFailedRequests: true })
      const app = new Hono().get('/', async (c) => {
        const events = await limit(() => ({ onMessage: ({ data }) => void seen.push(data) }))(c)
        for (const data of ['a', 'b']) {
          await events.onMessage?.({ data } as never, { close() {} } as never)
          await events.onError?.({} as never, {} as never)
        }
        return c.text('done')
      })
      await app.request('/')
      expect(seen).toEqual(['a'])
    },
  )
})
