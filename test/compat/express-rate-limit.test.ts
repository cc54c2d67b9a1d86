/* The package and the module that stands in for it, side by side: the same requests must get the same answers. */
import { createServer, request as send } from 'node:http'
import connect from 'connect'
import express5, { type Request, type Response } from 'express'
import * as original from 'express-rate-limit'
import express4 from 'express4'
import polka from 'polka'
import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest'
import * as compat from '../../adapters/compat/express-rate-limit.ts'
import { memoryStore } from '../../src/index.ts'
import { sampled } from '../support/depth.ts'
import { get, serve } from '../support/frameworks.ts'

const start = Date.UTC(2026, 0, 1, 0, 0, 0, 250)
beforeEach(() => void vi.useFakeTimers({ now: start, toFake: ['Date'] }))
afterEach(() => {
  vi.useRealTimers()
  vi.restoreAllMocks()
})

type Module = Pick<typeof compat, 'rateLimit' | 'MemoryStore' | 'ipKeyGenerator'>
const modules = { original: original as unknown as Module, compat: compat as Module }

/** One request of a script: after how many milliseconds, and what it asks for. */
interface Step {
  readonly later?: number
  readonly path?: string
  readonly user?: string
  readonly from?: string
}

interface Scenario {
  readonly options: (module: Module) => Partial<compat.Options>
  readonly steps: readonly Step[]
  readonly proxy?: boolean
}

const times = (count: number, step: Step = {}): Step[] => Array.from({ length: count }, () => step)

function ask(url: string, { path = '/', user, from }: Step): Promise<unknown> {
  const headers = { ...(user && { 'x-user': user }), ...(from && { 'x-forwarded-for': from }) }
  return new Promise((resolve, reject) => {
    const request = send(url + path, { headers, agent: false }, (response) => {
      let body = ''
      response.on('data', (chunk) => {
        body += chunk
      })
      response.on('end', () => {
        const { date, ...headers } = response.headers
        // Without the legacy fields, the server writes its own Date.
        const own = 'x-ratelimit-reset' in headers ? { date } : {}
        resolve({ status: response.statusCode, headers: { ...headers, ...own }, body })
      })
    })
    request.on('error', reject)
    request.end()
  })
}

/** Plays the script on one module. The answers have all fields, the body, and the numbers on the request. */
async function play(express: typeof express5, module: Module, { options, steps, proxy }: Scenario): Promise<unknown[]> {
  const app = express()
  if (proxy) app.set('trust proxy', 1)
  const given = { validate: false, ...options(module) }
  app.use(module.rateLimit(given) as never)
  app.get('/fail', (_request, response) => void response.status(500).send('failed'))
  app.get('/', (request, response) => {
    const info = (request as unknown as Record<string, object>)[given.requestPropertyName ?? 'rateLimit']
    const current = info && (info as { current?: number }).current
    response.send({ info, current })
  })
  app.use((error: Error, _request: Request, response: Response, _next: unknown) => {
    response.status(503).send(error.message)
  })
  const { url, close } = await serve(createServer(app))
  const answers: unknown[] = []
  for (const step of steps) {
    vi.setSystemTime(Date.now() + (step.later ?? 0))
    answers.push(await ask(url, step))
    await new Promise((resolve) => setImmediate(resolve)) // hits are taken back after the response
  }
  await close()
  vi.setSystemTime(start)
  return answers
}

const byUser = (request: Request) => request.get('x-user') ?? 'nobody'
const legacy = (): compat.LegacyStore => {
  const hits = new Map<string, number>()
  return {
    incr(key, callback) {
      hits.set(key, (hits.get(key) ?? 0) + 1)
      callback(undefined, hits.get(key) as number, new Date(start + 90_000))
    },
    decrement: (key) => void hits.set(key, (hits.get(key) ?? 0) - 1),
    resetKey: (key) => void hits.delete(key),
  }
}
const failing = (): compat.Store => ({
  increment: async () => {
    throw new Error('the store is down')
  },
  decrement: () => undefined,
  resetKey: () => undefined,
})
const untimed = (): compat.Store => {
  let hits = 0
  return {
    increment: () => ({ totalHits: ++hits, resetTime: undefined }),
    decrement: () => undefined,
    resetKey: () => undefined,
  }
}
const quiet = { error() {}, warn() {} }

const windows: Step[] = [...times(3), { later: 59_000 }, { later: 999 }, { later: 1 }, ...times(3), { later: 120_000 }]
const mixed: Step[] = [
  { path: '/fail' },
  {},
  { path: '/fail' },
  {},
  {},
  { later: 70_000 },
  { path: '/fail' },
  {},
  {},
  {},
]

/** What a function may do instead of what it is for. */
const results: Record<string, () => unknown> = {
  throws: () => {
    throw new Error('no')
  },
  rejects: async () => {
    throw new Error('no')
  },
  'returns nothing': () => undefined,
  'returns a number': () => 2,
  'resolves to a text': async () => '2',
}
const functions = [
  ...['skip', 'keyGenerator', 'limit', 'message', 'identifier', 'retryAfter', 'handler', 'requestWasSuccessful'],
]

/** A limit is a number, and a handler that does nothing answers nothing. */
function fits(option: string, what: string): boolean {
  return (option !== 'handler' || !what.includes(' ')) && (option !== 'limit' || what !== 'returns nothing')
}

const values: Record<string, unknown[]> = {
  limit: [0, -1, Infinity, 1.5, '2', true],
  max: [0, -1, Infinity, 1.5, '2', true],
  retryAfter: [0, -1, NaN, Infinity, 1.5, '2', null, true],
  ipv6Subnet: [0, -1, NaN, Infinity, 1.5, '2', null, true],
  message: ['', null, 0, 7, false, ['a'], Buffer.from('bytes'), '<b>slow</b>'],
  statusCode: [200, 204, 403, '429', 600, 99],
}

const scenarios: Record<string, Scenario> = {
  defaults: { options: () => ({}), steps: times(7) },
  'no options at all': { options: () => undefined as never, steps: times(6) },
  'windows open with the first request': { options: () => ({ limit: 2, windowMs: 60_000 }), steps: windows },
  'max and headers, the former names': { options: () => ({ max: 1, headers: false }), steps: times(2) },
  'a limit of 0': { options: () => ({ limit: 0 }), steps: times(2) },
  'undefined options': { options: () => ({ limit: undefined as never, message: undefined }), steps: times(6) },
  'no fields': { options: () => ({ limit: 1, legacyHeaders: false }), steps: times(2) },
  'standardHeaders: true': { options: () => ({ limit: 2, standardHeaders: true }), steps: windows },
  'draft-6': { options: () => ({ limit: 2, standardHeaders: 'draft-6', windowMs: 90_500 }), steps: windows },
  'draft-7': { options: () => ({ limit: 2, standardHeaders: 'draft-7', legacyHeaders: false }), steps: windows },
  'draft-8': { options: () => ({ limit: 2, standardHeaders: 'draft-8' }), steps: windows },
  'draft-8 with a name': {
    options: () => ({ limit: 2, standardHeaders: 'draft-8', identifier: 'mine' }),
    steps: times(3),
  },
  'draft-8 with a name by a function': {
    options: () => ({ limit: 2, standardHeaders: 'draft-8', identifier: async (request) => `${request.path.length}x` }),
    steps: times(3),
  },
  ...Object.fromEntries(
    [1000, 30_000, 60_000, 90_000, 3_600_000, 7_200_000, 86_400_000, 172_800_000].map((windowMs) => [
      `draft-8 with a window of ${windowMs} ms`,
      { options: () => ({ windowMs, standardHeaders: 'draft-8' as const }), steps: times(1) },
    ]),
  ),
  'two limiters of draft-8': {
    options: (module) => {
      const other = module.rateLimit({ limit: 9, standardHeaders: 'draft-8', validate: false })
      return {
        limit: 1,
        standardHeaders: 'draft-8',
        skip: (a, b) => Promise.resolve(other(a, b, () => {})).then(() => false),
      }
    },
    steps: times(2),
  },
  'a draft that does not exist': {
    options: () => ({ standardHeaders: 'draft-0' as never, logger: quiet }),
    steps: times(1),
  },
  'an object as the message': { options: () => ({ limit: 1, message: { code: 1 } }), steps: times(2) },
  'a message by a function': { options: () => ({ limit: 1, message: async () => 'slow' }), steps: times(2) },
  'another status': { options: () => ({ limit: 1, statusCode: 503 }), steps: times(2) },
  'retryAfter as a number': { options: () => ({ limit: 1, retryAfter: 7 }), steps: times(2) },
  'retryAfter by a function': { options: () => ({ limit: 1, retryAfter: async () => 8 }), steps: times(2) },
  'a limit by a function': {
    options: () => ({ limit: async (request) => (request.get('x-user') ? 3 : 1) }),
    steps: [...times(2), ...times(2, { user: 'ann' })],
  },
  'keys by a function': {
    options: () => ({ limit: 1, keyGenerator: async (request) => byUser(request) }),
    steps: [...times(2, { user: 'ann' }), ...times(2, { user: 'bob' })],
  },
  'another property': {
    options: () => ({ limit: 1, requestPropertyName: 'quota', standardHeaders: 'draft-8' }),
    steps: times(2),
  },
  skip: {
    options: () => ({ limit: 1, skip: (request) => request.get('x-user') === 'ann' }),
    steps: [...times(2, { user: 'ann' }), ...times(2)],
  },
  'a handler that answers': {
    options: () => ({
      limit: 1,
      handler: (_request, response, _next, { statusCode, limit }) => void response.status(statusCode).send({ limit }),
    }),
    steps: times(2),
  },
  'a handler that lets the request go on': {
    options: () => ({ limit: 1, handler: (_request, _response, next) => next() }),
    steps: times(2),
  },
  'failed requests do not count': { options: () => ({ limit: 2, skipFailedRequests: true }), steps: mixed.slice(1) },
  'successful requests do not count': {
    options: () => ({ limit: 1, skipSuccessfulRequests: true }),
    steps: [{ path: '/fail' }, {}, { path: '/fail' }, {}],
  },
  'success by a function': {
    options: () => ({ limit: 2, skipFailedRequests: true, requestWasSuccessful: async () => true }),
    steps: mixed,
  },
  'IPv4 and IPv6 behind a proxy': {
    proxy: true,
    options: () => ({ limit: 2 }),
    steps: ['192.0.2.1', '::ffff:192.0.2.1', '2001:db8:0:1::1', '2001:db8:0:2::1', '2001:db8:0:100::1', '::1'].map(
      (from) => ({ from }),
    ),
  },
  'another network of IPv6': {
    proxy: true,
    options: () => ({ limit: 2, ipv6Subnet: 64 }),
    steps: ['2001:db8:0:1::1', '2001:db8:0:2::1'].map((from) => ({ from })),
  },
  'the network by a function': {
    proxy: true,
    options: () => ({ limit: 2, ipv6Subnet: async () => 48 }),
    steps: ['2001:db8:0:1::1', '2001:db8:0:2::1', '192.0.2.1'].map((from) => ({ from })),
  },
  'the whole address': {
    proxy: true,
    options: () => ({ limit: 2, ipv6Subnet: false }),
    steps: ['2001:DB8:0:1::1', '2001:db8:0:1::2'].map((from) => ({ from })),
  },
  'a store before version 6': { options: () => ({ limit: 2, store: legacy() }), steps: times(4) },
  'the exported store': { options: ({ MemoryStore }) => ({ limit: 1, store: new MemoryStore() }), steps: times(2) },
  'a store without a reset time': {
    options: () => ({ limit: 1, store: untimed(), standardHeaders: 'draft-7' }),
    steps: times(2),
  },
  'a store that fails': { options: () => ({ store: failing() }), steps: times(1) },
  'a store that fails, and requests that pass': {
    options: () => ({ store: failing(), passOnStoreError: true, logger: quiet }),
    steps: times(2),
  },
  'an error of skip': {
    options: () => ({
      skip: () => {
        throw new Error('no')
      },
    }),
    steps: times(1),
  },
  'a store that throws at once': {
    options: () => ({
      store: {
        ...untimed(),
        increment: () => {
          throw new Error('down')
        },
      },
    }),
    steps: times(1),
  },
  'a store that throws no error': {
    options: () => ({ store: { ...untimed(), increment: () => Promise.reject('down') } }),
    steps: times(1),
  },
  'a name with quotes': {
    options: () => ({ standardHeaders: 'draft-8', identifier: 'a"b\\c' }),
    steps: times(1),
  },
  'a name that is empty': { options: () => ({ standardHeaders: 'draft-8', identifier: '' }), steps: times(1) },
  'a response that is sent already': {
    options: () => ({
      limit: 1,
      standardHeaders: 'draft-7',
      handler: (_request, response) => void response.status(418).end('mine'),
    }),
    steps: times(2),
  },
  'a message that answers by itself': {
    options: () => ({
      limit: 1,
      message: (_request: Request, response: Response) => {
        response.status(418).send('mine')
      },
    }),
    steps: times(2),
  },
  'both kinds do not count': {
    options: () => ({ limit: 1, skipFailedRequests: true, skipSuccessfulRequests: true }),
    steps: mixed.slice(1),
  },
  'what the handler gets': {
    options: () => ({
      limit: 1,
      handler: (_request, response, _next, options) => {
        const { store, logger, ...rest } = options as unknown as Record<string, unknown>
        const shown = Object.entries(rest).map(([name, value]) => [
          name,
          typeof value === 'function' ? 'function' : value,
        ])
        response.send(Object.fromEntries(shown.sort(([a], [b]) => String(a).localeCompare(String(b)))))
      },
    }),
    steps: times(2),
  },
}

/** Values that are odd or wrong. */
const odd: Record<string, Scenario> = {
  ...Object.fromEntries(
    Object.entries(results).flatMap(([what, result]) =>
      functions
        .filter((option) => fits(option, what))
        .map((option) => [
          `${option} ${what}`,
          {
            options: () => ({ limit: 1, skipFailedRequests: true, logger: quiet, [option]: result }) as never,
            steps: [...times(3), { path: '/fail' }, ...times(2)],
          },
        ]),
    ),
  ),
  ...Object.fromEntries(
    Object.entries(values).flatMap(([option, all]) =>
      all.map((value) => [
        `${option}: ${JSON.stringify(value) === 'null' ? value : JSON.stringify(value)}`,
        {
          options: () => ({ limit: 1, standardHeaders: 'draft-7', logger: quiet, [option]: value }) as never,
          steps: times(3),
        },
      ]),
    ),
  ),
  ...Object.fromEntries(
    [1500, 999, 59_999, 3_600_000 * 36].flatMap((windowMs) =>
      (['draft-6', 'draft-7', 'draft-8'] as const).map((standardHeaders) => [
        `a window of ${windowMs} ms, ${standardHeaders}`,
        { options: () => ({ limit: 1, windowMs, standardHeaders }), steps: [...times(2), { later: 400 }] },
      ]),
    ),
  ),
  ...Object.fromEntries(
    Object.entries({
      'a date in the past': { totalHits: 3, resetTime: new Date(start - 5000) },
      'hits as a text': { totalHits: '3', resetTime: new Date(start + 5000) },
      'no hits': { resetTime: new Date(start + 5000) },
      'null as hits': { totalHits: null, resetTime: new Date(start + 5000) },
      'NaN hits': { totalHits: NaN, resetTime: new Date(start + 5000) },
      'words as hits': { totalHits: 'many', resetTime: new Date(start + 5000) },
      'Infinity as hits': { totalHits: Infinity, resetTime: new Date(start + 5000) },
      'hits as an object': { totalHits: { valueOf: (): number => 3 }, resetTime: new Date(start + 5000) },
      'nothing at all': {},
      'null as the date': { totalHits: 3, resetTime: null },
    }).flatMap(([name, hits]) =>
      ([false, 'draft-6', 'draft-7', 'draft-8'] as const).map((standardHeaders) => [
        `a store that tells ${name}, ${standardHeaders}`,
        {
          options: () => ({
            limit: 2,
            standardHeaders,
            store: { ...untimed(), increment: () => hits } as never,
            logger: quiet,
          }),
          steps: times(1),
        },
      ]),
    ),
  ),
}

describe.each([
  ['Express 5', express5],
  ['Express 4', express4 as unknown as typeof express5],
])('%s', (_, express) => {
  test.each(sampled(Object.entries(scenarios), Math.ceil(Object.keys(scenarios).length / 3)))(
    '%s',
    async (_name, scenario) => {
      const expected = await play(express, modules.original, scenario)
      expect(await play(express, modules.compat, scenario)).toEqual(expected)
      expect(expected).toHaveLength(scenario.steps.length)
    },
  )
})

test.each(Object.entries(odd))('%s', async (_name, scenario) => {
  expect(await play(express5, modules.compat, scenario)).toEqual(await play(express5, modules.original, scenario))
})

describe('the exports', () => {
  test('are the same, and more', () => {
    expect(Object.keys(compat)).toEqual(expect.arrayContaining(Object.keys(original)))
    expect(compat.default).toBe(compat.rateLimit)
    const { SECOND, MINUTE, HOUR, DAY } = compat
    expect([SECOND, MINUTE, HOUR, DAY]).toEqual([original.SECOND, original.MINUTE, original.HOUR, original.DAY])
  })

  const addresses = ['192.0.2.1', '::ffff:192.0.2.1', '::ffff:c000:201', '2001:db8::', '2001:DB8:0:1:2:3:4:5', '::1']
  const old = [
    '::192.0.2.1',
    '0:0:0:0:0:0:192.0.2.1',
    '0::0:192.0.2.1',
    '::c000:201',
    '::1:192.0.2.1',
    '2001:db8::192.0.2.1',
  ]
  const more = [
    ...old,
    'fe80::1',
    '1:0:0:2:0:0:0:3',
    '::2:0:0:0:0',
    'no address',
    '',
    '64:ff9b::192.0.2.1',
    'ffff:ffff:ffff::',
  ]
  test.each([...addresses, ...more])('ipKeyGenerator gives the same key: %s', (ip) => {
    for (const subnet of [undefined, 56, 64, 48, 1, 127, 128, false, 0, null as never, '' as never] as const) {
      expect([subnet, compat.ipKeyGenerator(ip, subnet)]).toEqual([subnet, original.ipKeyGenerator(ip, subnet)])
    }
  })
})

describe('MemoryStore', () => {
  test('answers every method as the original does', async () => {
    const script = async ({ MemoryStore }: Module) => {
      vi.setSystemTime(start)
      const store = new MemoryStore()
      store.init({ windowMs: 1000 } as never)
      const answers: unknown[] = [store.localKeys, await store.get('ann')]
      const note = async (answer: unknown) => answers.push({ ...((await answer) as object) })
      await note(store.increment('ann'))
      vi.setSystemTime(start + 400)
      await note(store.increment('ann'))
      await note(store.increment('bob'))
      await store.decrement('ann')
      await note(store.get('ann'))
      await store.decrement('nobody')
      await note(store.get('nobody'))
      await store.decrement('bob')
      await store.decrement('bob')
      await note(store.get('bob'))
      await store.resetKey('bob')
      answers.push(await store.get('bob'))
      const number = 7 as unknown as string
      await note(store.increment(number))
      await store.decrement(number)
      await note(store.get(number))
      await store.resetKey(number)
      answers.push(await store.get(number))
      vi.setSystemTime(start + 1000)
      answers.push(await store.get('ann'))
      await note(store.increment('ann'))
      await store.resetAll()
      answers.push(await store.get('ann'))
      store.shutdown()
      return answers
    }
    expect(await script(modules.compat)).toEqual(await script(modules.original))
  })

  test('follows fake timers that begin in 1970', async () => {
    vi.setSystemTime(0)
    const store = new compat.MemoryStore()
    store.init({ windowMs: 1000 })
    const { totalHits, resetTime } = await store.increment('ann')
    expect([totalHits, resetTime?.getTime()]).toEqual([1, 1000])
  })
})

/** A host that is not Express: it knows the address, and has no `app`. */
type Handler = (request: Request, response: Response, next: (error?: unknown) => void) => void
const hosts: Record<string, (handlers: Handler[]) => Parameters<typeof createServer>[1]> = {
  Connect: (handlers) => {
    const app = connect()
    for (const handler of handlers) app.use(handler as never)
    return app
  },
  Polka: (handlers) => {
    const app = polka()
    app.use(...(handlers as never[]))
    return app.handler as never
  },
  'node:http': (handlers) => (request, response) => {
    const go = (n: number) => (error?: unknown) => {
      if (error !== undefined) response.writeHead(500).end(String(error))
      else handlers[n]?.(request as Request, response as Response, go(n + 1))
    }
    go(0)()
  },
}

async function playOn(
  host: (handlers: Handler[]) => Parameters<typeof createServer>[1],
  { rateLimit }: Module,
  options: Partial<compat.Options>,
  headers: Record<string, string> = {},
): Promise<unknown[]> {
  const limit = rateLimit({
    limit: 2,
    logger: quiet,
    handler: (_request, response) => void Object.assign(response, { statusCode: 429 }).end('slow'),
    ...options,
  })
  const withAddress: Handler = (request, _response, next) => {
    Object.assign(request, { ip: request.socket.remoteAddress })
    next()
  }
  const { url, close } = await serve(
    createServer(host([withAddress, limit as never, (_request, response) => void response.end('hello')])),
  )
  const answers: unknown[] = []
  for (let count = 0; count < 4; count++) {
    const { status, body, headers: fields } = await get(url, headers)
    answers.push([status, body, fields['x-ratelimit-remaining'], fields['retry-after']])
  }
  await close()
  return answers
}

describe.each(Object.entries(hosts))('behind %s', (_, host) => {
  const forwarded = { 'x-forwarded-for': '192.0.2.2', forwarded: 'for=192.0.2.2' }
  test.each<[string, Partial<compat.Options>, Record<string, string>]>([
    ['with all validations', {}, {}],
    ['with all validations, and a proxy', {}, forwarded],
    ['without validations', { validate: false }, forwarded],
    ['with one validation', { validate: { default: false, trustProxy: true } }, forwarded],
  ])('requests are limited from the first one on, %s', async (_name, options, headers) => {
    const expected = await playOn(host, modules.original, options, headers)
    expect(await playOn(host, modules.compat, options, headers)).toEqual(expected)
    expect(expected.map((answer) => (answer as unknown[])[0])).toEqual([200, 200, 429, 429])
  })
})

describe('the middleware', () => {
  test.each(Object.entries(modules))('takes a request of a unit test (%s)', async (_, { rateLimit }) => {
    const requests = [
      {},
      { headers: {} },
      { app: {} },
      { app: { get: undefined } },
      { socket: null },
      { ip: undefined, socket: null },
    ]
    const throwing = { app: { get: () => fail() }, headers: {} }
    const fail = () => {
      throw new Error('no setting here')
    }
    for (const request of [...requests, throwing]) {
      for (const validate of [true, false]) {
        const next = vi.fn()
        const response = { setHeader: () => undefined } as unknown as Response
        const limit = rateLimit({ validate, logger: quiet })
        await limit({ ip: '192.0.2.1', ...request } as unknown as Request, response, next)
        expect(next.mock.calls).toEqual([[]])
      }
    }
  })

  test.each(Object.entries(modules))(
    'passes what the next handler throws on to next (%s)',
    async (_, { rateLimit }) => {
      const error = new Error('thrown on purpose')
      const next = vi.fn((given?: unknown) => {
        if (given === undefined) throw error
      })
      const response = { setHeader: () => undefined } as unknown as Response
      await rateLimit({ validate: false })({ ip: '192.0.2.1' } as unknown as Request, response, next)
      expect(next.mock.calls).toEqual([[], [error]])
    },
  )

  test('logs the same texts', async () => {
    const script = async ({ rateLimit }: Module) => {
      const logged: unknown[] = []
      const log = (level: string) => (error: unknown, message?: string) => logged.push([level, String(error), message])
      const logger = { error: log('error'), warn: log('warn') }
      const down = () => {
        throw new Error('down')
      }
      const start = { ...untimed(), validate: false, logger }
      rateLimit({ validate: false, logger, store: { ...start, init: down } })
      rateLimit({ validate: false, logger, store: { ...start, init: async () => down() } })
      const limit = rateLimit({ validate: false, logger, passOnStoreError: true, store: failing() })
      await limit({ ip: '192.0.2.1' } as Request, {} as Response, () => undefined)
      return logged
    }
    const expected = await script(modules.original)
    expect(await script(modules.compat)).toEqual(expected)
    expect(expected).toHaveLength(3)
  })

  test.each(Object.entries(modules))('rejects a logger that cannot log (%s)', (_, { rateLimit }) => {
    for (const logger of [{ error: 'no' }, { error() {} }, { warn() {} }, 'console']) {
      expect(() => rateLimit({ logger: logger as never })).toThrow(TypeError)
    }
  })

  test.each([Number.NaN, 'a minute', {}])('says at once that a window of %s is none', (windowMs) => {
    expect(() => compat.rateLimit({ windowMs: windowMs as never })).toThrow(/^windowMs must be a number, got/)
  })

  test.each(Object.entries(modules))('has getKey and resetKey (%s)', async (_, module) => {
    const limit = module.rateLimit({ keyGenerator: () => 'ann', validate: false })
    const request = { app: { get: () => false }, headers: {} } as unknown as Request
    const response = { setHeader: () => undefined, headersSent: false } as unknown as Response
    await limit(request, response, () => undefined)
    expect(await limit.getKey('ann')).toMatchObject({ totalHits: 1 })
    await limit.resetKey('ann')
    expect(await limit.getKey('ann')).toBeUndefined()
  })

  test.each(Object.entries(modules))('rejects a store that is none (%s)', (_, { rateLimit }) => {
    expect(() => rateLimit({ store: {} as never, validate: false })).toThrow(TypeError)
  })

  test.each(Object.entries(modules))('counts in memory for a store that is null (%s)', async (_, { rateLimit }) => {
    const limit = rateLimit({ store: null as never, validate: null as never, keyGenerator: () => 'ann' })
    await limit({ ip: '192.0.2.1' } as never, { setHeader: () => undefined } as never, () => undefined)
    expect(await limit.getKey('ann')).toMatchObject({ totalHits: 1 })
  })

  test.each(Object.entries(modules))(
    'starts its store with the options, and logs a failure (%s)',
    async (_, module) => {
      const seen: unknown[] = []
      const error = vi.fn()
      const store = {
        ...untimed(),
        init: async (options: compat.Options) => seen.push([options.windowMs, options.limit]),
      }
      module.rateLimit({ store: store as never, windowMs: 7000, limit: 3, validate: false })
      expect(seen).toEqual([[7000, 3]])
      const init = () => {
        throw new Error('no')
      }
      module.rateLimit({ store: { ...untimed(), init }, validate: false, logger: { error, warn: error } })
      expect(error).toHaveBeenCalledOnce()
    },
  )

  test.each([Number.NaN, null, 'many', {}])('says at once that a limit of %s is none', (limit) => {
    for (const options of [{ limit }, ...(limit === null ? [] : [{ max: limit }])]) {
      expect(() => compat.rateLimit(options as never)).toThrow(/limit must be a number/)
    }
  })

  test.each([undefined, Number.NaN])('hands a limit of %s by a function to the error handler', async (limit) => {
    const options = () => ({ limit: () => limit as never, legacyHeaders: false })
    const [answer] = await play(express5, modules.compat, { options, steps: times(1) })
    expect(answer).toMatchObject({ status: 503, body: expect.stringContaining('limit must be a number') })
  })

  test('takes a store of headgate', async () => {
    const store = memoryStore({ clock: () => Date.now() * 1000 })
    const other = compat.rateLimit({ store, name: 'other', limit: 9, validate: false, keyGenerator: () => 'ann' })
    expect(other).toBeTypeOf('function')
    const scenario = { options: () => ({ store, limit: 1, name: 'mine' }), steps: windows }
    const expected = await play(express5, modules.original, { options: () => ({ limit: 1 }), steps: windows })
    expect(await play(express5, modules.compat, scenario)).toEqual(expected)
  })
})

describe('validations', () => {
  const codesOf = async (
    { rateLimit }: Module,
    options: Partial<compat.Options>,
    headers: Record<string, string> = {},
  ) => {
    const found: [string, string][] = []
    const log = (level: string) => (error: unknown) => void found.push([level, (error as { code: string }).code])
    const logger = { error: log('error'), warn: log('warn') }
    const limit = rateLimit({ ...options, logger })
    const app = { get: () => headers['trust-all'] === 'yes' }
    const request = { app, ip: headers.ip ?? '192.0.2.1', headers, socket: { remoteAddress: '192.0.2.1' } }
    const response = {
      setHeader: () => undefined,
      append: () => undefined,
      headersSent: false,
      status: () => response,
      send() {},
    }
    for (let count = 0; count < 2; count++) {
      await limit(request as unknown as Request, response as unknown as Response, () => undefined)
    }
    return found
  }

  test.each<[string, () => Partial<compat.Options>, Record<string, string>]>([
    ['a request that is counted twice', () => ({}), {}],
    ['an address with a port', () => ({}), { ip: '192.0.2.1:80' }],
    ['X-Forwarded-For without a proxy', () => ({}), { 'x-forwarded-for': '192.0.2.2' }],
    ['every proxy trusted', () => ({}), { 'trust-all': 'yes' }],
    ['Forwarded', () => ({}), { forwarded: 'for=192.0.2.2' }],
    ['an unknown option', () => ({ nothing: 1 }) as never, {}],
    ['an unknown validation', () => ({ validate: { nothing: true } as never }), {}],
    ['a limit of 0', () => ({ limit: 0 }), {}],
    ['draft_polli_ratelimit_headers', () => ({ draft_polli_ratelimit_headers: true }) as never, {}],
    ['onLimitReached', () => ({ onLimitReached: () => undefined }) as never, {}],
    [
      'a store that returns no hits',
      () => ({ store: { ...untimed(), increment: () => ({ totalHits: 0, resetTime: undefined }) } }),
      {},
    ],
    ['a draft that does not exist', () => ({ standardHeaders: 'draft-0' as never }), {}],
    ['a draft that needs a reset time', () => ({ store: untimed(), standardHeaders: 'draft-7' }), {}],
    ['a network that is too large', () => ({ ipv6Subnet: 8 }), {}],
    ...[0, -5, 0.5, '60000', Infinity].map((windowMs): [string, () => Partial<compat.Options>, object] => [
      `a window of ${windowMs} ms`,
      () => ({ windowMs: windowMs as number }),
      {},
    ]),
    ['a window of a store that keeps its own', () => ({ windowMs: 0, store: untimed() }), {}],
    ['a store that returns no number', () => ({ store: { ...untimed(), increment: () => ({}) as never } }), {}],
    [
      'a store that returns words',
      () => ({ store: { ...untimed(), increment: () => ({ totalHits: 'a' }) as never } }),
      {},
    ],
    ['none if they are off', () => ({ limit: 0, validate: false }), { 'x-forwarded-for': '192.0.2.2' }],
    ['all but some', () => ({ limit: 0, validate: { limit: false } }), {}],
    ['only some', () => ({ limit: 0, validate: { default: false, limit: true } }), {}],
  ])('the same codes: %s', async (_name, options, headers) => {
    expect(await codesOf(modules.compat, options(), headers)).toEqual(
      await codesOf(modules.original, options(), headers),
    )
  })

  test.each([
    ['Express 5', express5],
    ['Express 4', express4 as unknown as typeof express5],
  ])('a limiter that a handler of %s makes', async (_, express) => {
    const codes = async ({ rateLimit }: Module, validate: boolean | compat.EnabledValidations, isAsync = false) => {
      const found: unknown[] = []
      const note = (error: unknown) => void found.push((error as { code: string }).code)
      const logger = { error: note, warn: note }
      const app = express()
      app.use((request, response, next) => {
        const make = () => void rateLimit({ logger, validate })(request, response, next)
        if (isAsync) setImmediate(make)
        else make()
      })
      app.get('/', (_request, response) => void response.send('hello'))
      const { url, close } = await serve(createServer(app))
      for (let count = 0; count < 2; count++) await get(url)
      await close()
      return found
    }
    const twice = ['ERR_ERL_CREATED_IN_REQUEST_HANDLER', 'ERR_ERL_CREATED_IN_REQUEST_HANDLER']
    for (const [validate, expected] of [
      [true, twice],
      [false, []],
      [{ creationStack: false }, []],
    ] as const) {
      expect(await codes(modules.original, validate)).toEqual(expected)
      expect(await codes(modules.compat, validate)).toEqual(expected)
    }
    expect(await codes(modules.compat, true, true)).toEqual(await codes(modules.original, true, true))
  })

  test('a store that two limiters share', () => {
    const reuse = ({ rateLimit }: Module) => {
      const codes: unknown[] = []
      const error = (thrown: unknown) => void codes.push((thrown as { code: string }).code)
      const store = untimed()
      for (let count = 0; count < 2; count++) rateLimit({ store, logger: { error, warn: error } })
      return codes
    }
    expect(reuse(modules.compat)).toEqual(reuse(modules.original))
  })
})
