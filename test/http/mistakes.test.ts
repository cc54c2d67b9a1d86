import { EventEmitter } from 'node:events'
import { createServer, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import { getRequestListener } from '@hono/node-server'
import { getConnInfo } from '@hono/node-server/conninfo'
import express5 from 'express'
import express4 from 'express4'
import fastify from 'fastify'
import { H3, toNodeHandler } from 'h3'
import { Hono } from 'hono'
import Koa from 'koa'
import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest'
import { rateLimit as forExpress } from '../../adapters/express.ts'
import { rateLimit as forFastify } from '../../adapters/fastify/index.ts'
import { rateLimit as forFetch } from '../../adapters/fetch.ts'
import { rateLimit as forH3 } from '../../adapters/h3.ts'
import { rateLimit as forHono } from '../../adapters/hono.ts'
import { rateLimit as forKoa } from '../../adapters/koa.ts'
import { rateLimit as forNode } from '../../adapters/node.ts'
import { limitMessages } from '../../adapters/sockets/index.ts'
import { calendarWindow, quota } from '../../src/calendar/index.ts'
import { forgetWarnings } from '../../src/common/warn.ts'
import { watchForwarded } from '../../src/http/keys/by-ip.ts'
import {
  byHeader,
  byIp,
  concurrency,
  fixedWindow,
  HeadgateError,
  lruStore,
  memoryStore,
  policy,
  RateLimiter,
  slidingWindow,
  smoothBursty,
  tokenBucket,
} from '../../src/index.ts'
import { forgetLimiters } from '../../src/limiter/plans.ts'
import { Pacer, pacedFetch } from '../../src/pacer/index.ts'
import { compareAndSetStore } from '../../src/store.ts'
import { redisStore } from '../../src/stores/redis/index.ts'
import { statuses, tested } from '../support/contract.ts'
import { get } from '../support/frameworks.ts'

/* One table of mistakes: each is an error at start or gives one warning, with the words of the fix. */

// biome-ignore lint/suspicious/noExplicitAny: mistakes are what is tested
type Unchecked = any
type Door = (options: Unchecked, more?: Unchecked) => Unchecked

const warned = vi.spyOn(process, 'emitWarning')
const running: (() => Promise<unknown> | unknown)[] = []
beforeEach(() => {
  forgetWarnings()
  watchForwarded()
  forgetLimiters()
  warned.mockReset().mockReturnValue(undefined)
})
afterEach(async () => {
  forgetWarnings()
  for (const close of running.splice(0)) await close()
})

/** What a reader sees: the code and the words of each warning, or of the error. */
function seen(act: () => unknown): string[] {
  try {
    act()
  } catch (error) {
    expect(error).toBeInstanceOf(HeadgateError)
    return [`${(error as HeadgateError).code} ${(error as HeadgateError).message}`]
  }
  return warnings()
}

const warnings = () => warned.mock.calls.map(([message, options]) => `${(options as Unchecked)?.code} ${message}`)

const address = () => '192.0.2.1'
const middleware: Record<string, Door> = {
  Express: forExpress as Door,
  Koa: forKoa as Door,
  Fastify: forFastify as Door,
  Hono: (options, more) => forHono(options, { connInfo: getConnInfo, ...more }),
  h3: forH3 as Door,
  fetch: (options, more) => forFetch(options, { address, ...more }),
  node: forNode as Door,
}

/** A door's options, the code, and words of the message. */
type Row = readonly [mistake: string, options: object, code: string, ...words: string[]]

const given = { policies: '100/15m' }
const bucket = { policies: '9/1h token-bucket' }
const ofMiddleware: readonly Row[] = [
  ['windowMs', { limit: 5, windowMs: 900_000 }, 'HEADGATE_OPTION', "Write window: '15m'."],
  ['timeWindow', { limit: 5, timeWindow: '1m' }, 'HEADGATE_OPTION', "Write window: '15m'."],
  ['max', { window: '15m', max: 5 }, 'HEADGATE_OPTION', 'Write limit: 100.'],
  ['windowMs beside policies', { ...given, windowMs: 60_000 }, 'HEADGATE_OPTION', "Write policies: '100/15m'."],
  ['message', { ...given, message: 'Slow.' }, 'HEADGATE_OPTION', 'Write refuse: (decision, request, response) => ...'],
  ['statusCode', { ...given, statusCode: 503 }, 'HEADGATE_OPTION', 'Write refuse:'],
  ['handler', { ...given, handler: () => 5 }, 'HEADGATE_OPTION', 'Write refuse:'],
  ['policy', { policy: '60/1m' }, 'HEADGATE_OPTION', "Write policies: '100/15m'."],
  ['plans', { plans: { free: '60/1m' } }, 'HEADGATE_OPTION', 'Write policies: (request) => plans[request.user.plan]'],
  [
    'plans as policies',
    { policies: { free: '60/1m', pro: ['600/1m'] } },
    'HEADGATE_OPTION',
    'has no option "free"',
    'write policies: (request) => plans[request.user.plan]',
  ],
  ['a client as the store', { ...given, name: 'a', store: {} }, 'HEADGATE_OPTION', 'redisStore({ client })'],
  ['header', { ...given, header: true }, 'HEADGATE_OPTION', "Write headers: 'draft-11'."],
  ['trustProxy', { ...given, trustProxy: 1 }, 'HEADGATE_OPTION', 'rustedProxies: 1'],
  ['ban', { ...given, ban: '1h' }, 'HEADGATE_OPTION', "Write penalty: { on: 'spent', ban: '1h' }."],
  ['on: spend', { ...given, penalty: { on: 'spend', ban: '1h' } }, 'HEADGATE_OPTION', "Write on: 'spent'."],
  [
    'a ban that nothing begins',
    { ...given, count: 'failures', penalty: { ban: '1h' } },
    'HEADGATE_PENALTY',
    "Write after: 10, within: '1m'.",
    "write on: 'spent'",
  ],
  [
    'a ban that gives away the times of waiting requests',
    { ...given, delay: { max: '2s' }, penalty: { after: 1, within: '1m', ban: '1s', restart: true } },
    'HEADGATE_PENALTY',
    'Leave restart out.',
  ],
  ['key', { ...given, key: byIp() }, 'HEADGATE_OPTION', "Write keys: byHeader('x-api-key')."],
  ['keyGenerator', { ...given, keyGenerator: () => 'a' }, 'HEADGATE_OPTION', 'Write keys:'],
  ['skipSuccessfulRequests', { ...given, skipSuccessfulRequests: true }, 'HEADGATE_OPTION', "Write count: 'failures'."],
  ['allowList', { ...given, allowList: ['10.0.0.1'] }, 'HEADGATE_OPTION', "Write allow: ['10.0.0.0/8']."],
  ['functiontimeout', { ...given, functiontimeout: '1s' }, 'HEADGATE_OPTION', 'Write functionTimeout.'],
  ['shadow', { ...given, shadow: true }, 'HEADGATE_OPTION', 'Write enforce: 0 to decide and refuse no request.'],
  ['platform', { ...given, platform: 'fly' }, 'HEADGATE_OPTION', "Write keys: byIp({ platform: 'cloudflare' })."],
  [
    'keys for a scope of no policy',
    { ...given, keys: { user: byHeader('x-user') } },
    'HEADGATE_OPTION',
    'no policy has that scope',
    '{ scope: "user" }',
    'The policies have: "default".',
  ],
  ['delay in seconds', { ...bucket, delay: { max: 2 } }, 'HEADGATE_SECONDS', 'delay: max is 2 milliseconds', "'2s'"],
  [
    'functionTimeout in seconds',
    { ...given, functionTimeout: 5 },
    'HEADGATE_SECONDS',
    'functionTimeout',
    "'5s'",
    "'5ms'",
  ],
  ['storeTimeout in seconds', { ...given, storeTimeout: 5 }, 'HEADGATE_SECONDS', 'storeTimeout is 5 milli', "'5s'"],
  ['a minute in seconds', { limit: 5, window: 60 }, 'HEADGATE_SECONDS', 'window is 60 milliseconds', "'60s'"],
  ['an hour in seconds', { limit: 5, window: 3600 }, 'HEADGATE_SECONDS', 'window is 3600 milliseconds', "'3600s'"],
  ['half an hour in seconds', { limit: 5, window: 1800 }, 'HEADGATE_SECONDS', "'1800s'", "'1800ms'"],
  ['a day in seconds', { limit: 5, window: 86_400 }, 'HEADGATE_SECONDS', "'86400s'"],
  ['a week in seconds', { limit: 5, window: 604_800 }, 'HEADGATE_SECONDS', "'604800s'"],
  ['30 days in seconds', { limit: 5, window: 2_592_000 }, 'HEADGATE_SECONDS', "'2592000s'"],
  [
    'store: undefined',
    { ...given, store: undefined },
    'HEADGATE_NO_STORE',
    'a setting that is missing',
    'memoryStore()',
  ],
  ['store: undefined with a limit', { limit: 5, window: '1m', store: undefined }, 'HEADGATE_NO_STORE', 'counts alone'],
  ['store: undefined with plans', { policies: () => '5/1m', store: undefined }, 'HEADGATE_NO_STORE', 'counts alone'],
]

describe.each(Object.entries(middleware))('rateLimit of %s', (_, rateLimit) => {
  test.each(ofMiddleware)('%s', (_mistake, options, code, ...words) => {
    for (let n = 0; n < 2; n++) {
      const all = seen(() => rateLimit(options))
      expect(all).toEqual([expect.stringMatching(`^${code} `)]) // a warning is given once
      for (const each of words) expect(all[0]).toContain(each)
    }
  })
})

const proxies: readonly (readonly [unknown, string])[] = [
  [[], 'got an empty list'],
  [100, 'trusts 100 proxies, so clients could choose their address'],
  [['0.0.0.0/0'], 'trusts a range of that size'],
  [['10.0.0.0/8', '::/0'], 'trusts a range of that size'],
  [['0.0.0.0/1', '128.0.0.0/1'], 'trusts a range of that size'],
  [['::ffff:0.0.0.0/96'], 'trusts a range of that size'],
]

test.each(proxies)('trustedProxies: %j is an error at every place', (trustedProxies, words) => {
  const places = [
    () => byIp({ trustedProxies: trustedProxies as string[] }),
    ...['Hono', 'h3', 'fetch', 'node'].map((name) => () => (middleware[name] as Door)('9/1h', { trustedProxies })),
  ]
  for (const place of places) {
    const [error] = seen(place)
    expect(error).toMatch(/^HEADGATE_OPTION trustedProxies .*trustedProxies: 1/)
    expect(error).toContain(words)
  }
})

test.each([1, 10, ['10.0.0.0/8'], ['fc00::/7', '192.0.2.1']])('trustedProxies: %j is right', (trustedProxies) => {
  byIp({ trustedProxies })
  expect(warned).not.toHaveBeenCalled()
})

class OwnClient {
  readonly options = {}
}
const client = { evalSha: async () => [], eval: async () => [] }
const socket = Object.assign(new EventEmitter(), { send: () => 0, close: () => 0, pause: () => 0, resume: () => 0 })

/** Mistakes at the other doors. */
const elsewhere: readonly (readonly [mistake: string, make: () => unknown, code: string, ...words: string[]])[] = [
  [
    'RateLimiter: limit',
    () => new RateLimiter({ limit: 5, window: '1m' } as Unchecked),
    'HEADGATE_OPTION',
    "Write policies: '100/15m'.",
  ],
  ['RateLimiter: max', () => new RateLimiter({ max: 5 } as Unchecked), 'HEADGATE_OPTION', "Write policies: '100/15m'."],
  ['RateLimiter: points', () => new RateLimiter({ points: 5 } as Unchecked), 'HEADGATE_OPTION', 'Write policies:'],
  [
    'RateLimiter: keyPrefix',
    () => new RateLimiter({ ...given, keyPrefix: 'a' } as Unchecked),
    'HEADGATE_OPTION',
    "Write name: 'api'.",
  ],
  [
    'RateLimiter: redis',
    () => new RateLimiter({ ...given, redis: 5 } as Unchecked),
    'HEADGATE_OPTION',
    'Write store: redisStore({ client }).',
  ],
  ['RateLimiter: storeTimeout', () => new RateLimiter({ ...given, storeTimeout: 5 }), 'HEADGATE_SECONDS', "'5s'"],
  [
    'RateLimiter: store',
    () => new RateLimiter({ ...given, store: undefined } as Unchecked),
    'HEADGATE_NO_STORE',
    'memoryStore()',
  ],
  [
    'a policy: windowMs',
    () => slidingWindow({ limit: 5, windowMs: 5 } as Unchecked),
    'HEADGATE_OPTION',
    "Write window: '15m'.",
  ],
  ['a policy: max', () => tokenBucket({ window: '1m', max: 5 } as Unchecked), 'HEADGATE_OPTION', 'Write limit: 100.'],
  ['a policy: 3600', () => fixedWindow({ limit: 5, window: 3600 }), 'HEADGATE_SECONDS', "'3600s'"],
  ['per: 3600', () => smoothBursty({ rate: 5, per: 3600 }), 'HEADGATE_SECONDS', "'3600s'"],
  ['lease: 7200', () => concurrency({ limit: 5, lease: 7200 }), 'HEADGATE_SECONDS', "'7200s'"],
  [
    'ban: 3600',
    () => new RateLimiter({ ...given, penalty: { after: 5, within: '1m', ban: 3600 } }),
    'HEADGATE_SECONDS',
    'penalty: ban',
  ],
  ['redisStore(client)', () => redisStore(new OwnClient() as Unchecked), 'HEADGATE_OPTION', 'Write { client }'],
  ['redisStore: redis', () => redisStore({ redis: client } as Unchecked), 'HEADGATE_OPTION', 'Write client: new Redis'],
  [
    'redisStore: url',
    () => redisStore({ url: 'redis://a' } as Unchecked),
    'HEADGATE_OPTION',
    'Write client: new Redis',
  ],
  ['byIp: trustProxy', () => byIp({ trustProxy: 1 } as Unchecked), 'HEADGATE_OPTION', 'Write trustedProxies: 1.'],
  [
    'quota: options',
    () => quota({ limit: 5, every: 'month' } as Unchecked),
    'HEADGATE_POLICY',
    "write calendarWindow({ limit: 1000, every: 'month' })",
  ],
  [
    'calendarWindow: window',
    () => calendarWindow({ limit: 5, window: 'month' } as Unchecked),
    'HEADGATE_OPTION',
    "Write every: 'month'.",
  ],
  [
    'an undefined plan',
    () => forExpress({ policies: () => '5/1m' }).limiter.withPlan(undefined as Unchecked),
    'HEADGATE_POLICY',
    'the function policies returned nothing',
    "return 'unlimited'",
  ],
  [
    'pacedFetch: a pacer',
    () => pacedFetch(fetch, new Pacer('5/1m') as Unchecked),
    'HEADGATE_OPTION',
    'Write { pacer }',
  ],
  [
    'pacedFetch: timeout',
    () => pacedFetch(fetch, { pacer: new Pacer('5/1m'), timeout: 5 } as Unchecked),
    'HEADGATE_OPTION',
    "Write runTimeout: '10s'.",
  ],
  [
    'pacedFetch: maxHold',
    () => pacedFetch(fetch, { pacer: new Pacer('5/1m'), maxHold: 300 }),
    'HEADGATE_SECONDS',
    "'300s'",
  ],
  [
    'Pacer: timeout',
    () => new Pacer('5/1m', { timeout: 5 } as Unchecked),
    'HEADGATE_OPTION',
    "Write pacer.acquire(1, { timeout: '2s' }).",
  ],
  ['hold in seconds', () => new Pacer('5/1m').hold(30), 'HEADGATE_SECONDS', 'hold is 30 milliseconds', "'30s'"],
  ['redisStore: timeout', () => redisStore({ client, timeout: 5 } as Unchecked), 'HEADGATE_SECONDS', "'5s'"],
  [
    'Pacer: interval',
    () => new Pacer('5/1m', { maxConcurrent: 4 } as Unchecked),
    'HEADGATE_OPTION',
    'Write concurrency: 4.',
  ],
  ['Pacer: storeTimeout', () => new Pacer('5/1m', { storeTimeout: 5 }), 'HEADGATE_SECONDS', "'5s'"],
  ['Pacer: store', () => new Pacer('5/1m', { store: undefined } as Unchecked), 'HEADGATE_NO_STORE', 'memoryStore()'],
  ['Pacer: window', () => new Pacer({ policies: { limit: 5, window: 3600 } }), 'HEADGATE_SECONDS', "'3600s'"],
  [
    'limitMessages: a window',
    () => limitMessages(socket as Unchecked, { limit: 5, window: 3600 }),
    'HEADGATE_SECONDS',
    "'3600s'",
  ],
  [
    'limitMessages: max',
    () => limitMessages(socket as Unchecked, { max: 5, window: '1m' } as Unchecked),
    'HEADGATE_OPTION',
    'Write limit: 100.',
  ],
  [
    'limitMessages: maxWait',
    () => limitMessages(socket as Unchecked, '5/1m', { overLimit: 'delay', maxWait: 30 } as Unchecked),
    'HEADGATE_SECONDS',
    "'30s'",
  ],
]

test.each(elsewhere)('%s', (...row) => {
  const [, make, code, ...words] = row as unknown as (typeof elsewhere)[number]
  for (let n = 0; n < 2; n++) {
    const all = seen(make)
    expect(all).toEqual([expect.stringMatching(`^${code} `)])
    for (const each of words) expect(all[0]).toContain(each)
  }
})

test.each([
  ['two scopes', '"account" and "default"', 'Write { "account": \'...\' }.'],
  ['one scope', 'a string, or a record', 'Write { "default": \'...\' }.'],
])('unban of a wrong key says what to write, under %s', async (scopes, ...words) => {
  const policies = scopes === 'one scope' ? '5/1m' : [policy('5/1m', { scope: 'account' }), '5/1h']
  const limiter = new RateLimiter({ policies })
  const unban = limiter.unban(scopes === 'one scope' ? ({ user: 'ann' } as Unchecked) : 'ann')
  for (const each of words) await expect(unban).rejects.toThrow(each)
  if (scopes === 'two scopes') await limiter.unban({ account: 'ann' })
})

test('options in place of the cost are an error that says where they go', async () => {
  const wrong = new Pacer('5/1m').acquire({ priority: 1 } as Unchecked)
  await expect(wrong).rejects.toMatchObject({ code: 'HEADGATE_COST' })
  await expect(wrong).rejects.toThrow('acquire(1, { priority })')
})

test('a pacer takes a list of policies', async () => {
  const pacer = new Pacer(['5/1s', '9/1m'])
  expect(pacer.policies.map(({ name }) => name)).toEqual(['1s', '1m'])
})

test('pacedFetch gives no warning for the short holds that a server asks for', async () => {
  const headers = { 'retry-after-ms': '1' }
  const responses = [new Response('', { status: 429, headers }), new Response('')]
  await pacedFetch((async () => responses.shift()) as Unchecked, { pacer: new Pacer('9/1s') })('http://localhost/')
  expect(warnings()).toEqual([])
})

test('a computed hold of 0 gives no warning, because 0 means the same in every unit', () => {
  new Pacer('5/1m').hold(Math.max(0, 1000 - Date.now()))
  expect(warnings()).toEqual([])
})

test('right values give no warning', () => {
  for (const window of [1000, 1500, 2000, 4500, 9000, 10_000, 45_000, 60_000, 90_000, 900_000, 3_600_000, 10_800_000]) {
    slidingWindow({ limit: 5, window })
    expect(warnings(), String(window)).toEqual([])
  }
  for (const window of [43_200_000, 86_400_000, 604_800_000, 2_592_000_000]) slidingWindow({ limit: 5, window })
  forExpress({ ...bucket, delay: { max: 200 }, functionTimeout: 250, storeTimeout: 50, store: memoryStore() })
  forExpress({ ...bucket, delay: { max: '2ms' }, functionTimeout: '5ms', storeTimeout: '5ms' })
  forExpress({ ...bucket, functionTimeout: Infinity, storeTimeout: Infinity })
  expect(warnings()).toEqual([])
})

async function serve(server: Server): Promise<string> {
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  running.push(() => new Promise((resolve) => server.close(resolve)))
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`
}

/** Apps that use a value as a middleware, and answer with the message of an error. */
const apps: Record<string, (used: Unchecked) => Promise<string>> = {
  'Express 4': (used) => startExpress(express4, used),
  'Express 5': (used) => startExpress(express5, used),
  Koa(used) {
    const app = new Koa()
    app.use(async (context, next) => {
      await next().catch((error: Error) => {
        context.status = 500
        context.body = error.message
      })
    })
    app.use(used).use((context) => {
      context.body = 'ok'
    })
    return serve(createServer(app.callback() as never))
  },
  async Fastify(used) {
    const app = fastify()
    app.setErrorHandler((error: Error, _request, reply) => void reply.code(500).send(error.message))
    app.addHook('onRequest', used)
    app.get('/', async () => 'ok')
    running.push(() => app.close())
    return app.listen({ host: '127.0.0.1', port: 0 })
  },
  Hono(used) {
    const app = new Hono()
    app.onError((error, context) => context.text(error.message, 500))
    app.use(used).get('/', (context) => context.text('ok'))
    return serve(createServer(getRequestListener(app.fetch, { overrideGlobalObjects: false })))
  },
  h3(used) {
    const app = new H3({
      silent: true,
      onError: (error) => new Response((error.cause as Error).message, { status: 500 }),
    })
    app.use(used).get('/', () => 'ok')
    return serve(createServer(toNodeHandler(app)))
  },
}

function startExpress(express: typeof express5, used: Unchecked): Promise<string> {
  const app = express()
  app.use(used)
  app.get('/', (_request, response) => void response.send('ok'))
  app.use((error: Error, _request: unknown, response: Unchecked, _next: unknown) => {
    response.status(500).send(error.message)
  })
  return serve(createServer(app))
}

const madeFor: Record<string, string> = { 'Express 4': 'Express', 'Express 5': 'Express' }
/** What also works elsewhere: a limiter of node:http takes every request and response of Node. */
const fits = new Set(['node in Express 4', 'node in Express 5'])

describe.each(Object.keys(apps))('in %s', (framework) => {
  const start = apps[framework] as (used: Unchecked) => Promise<string>
  const own = madeFor[framework] ?? framework

  test('rateLimit itself as the middleware is an error that says to call it', async () => {
    const uncalled = { Express: forExpress, Koa: forKoa, Fastify: forFastify, Hono: forHono, h3: forH3 }[own]
    const { status, body } = await get(await start(uncalled))
    expect([status, body]).toEqual([500, expect.stringContaining("rateLimit('100/15m')")])
    expect(body).not.toContain('_events')
    expect(body).toMatch(/got a request in place of a limit|is a plugin, and was called with a request/)
  })

  const strangers = Object.keys(middleware).filter((name) => name !== own && !fits.has(`${name} in ${framework}`))
  // Express 4 sees no error of a promise, and neither does anything else in its way.
  const visible = strangers.filter((name) => framework !== 'Express 4' || (name !== 'Hono' && name !== 'fetch'))
  test.each(visible)('the middleware of %s is an error that names its framework', async (name) => {
    const { status, body } = await get(await start((middleware[name] as Door)('9/1h')))
    expect(status).toBe(500)
    expect(body).toMatch(/was called by another framework|is a plugin, and was called with a request/)
    expect(body).toContain(`headgate/${name.toLowerCase()}`)
  })
})

test('a plugin of Fastify as a hook is an error that names the hook', async () => {
  const start = apps.Fastify as (used: Unchecked) => Promise<string>
  const { status, body } = await get(await start(forFastify('9/1h')))
  expect([status, body]).toEqual([500, expect.stringContaining('preHandler: limit.hook')])
})

describe('Fastify: the limit of a route that nobody reads', () => {
  const wrong: readonly (readonly [object, string])[] = [
    [{ config: { ratelimit: '5/1m' } }, 'config.ratelimit'],
    [{ config: { rate_limit: '5/1m' } }, 'config.rate_limit'],
    [{ rateLimit: '5/1m' }, 'rateLimit'],
    [{ ratelimit: '5/1m' }, 'ratelimit'],
  ]
  test.each(wrong)('%j is an error at start, after the plugin and before it', async (options, place) => {
    const fix = expect.objectContaining({
      code: 'HEADGATE_OPTION',
      message: `The limit of the route GET /login is never read: it is in ${place}. Write config: { rateLimit: '5/1m' }. If other code reads it, give the plugin another configKey.`,
    })
    for (const limit of ['9/1h', false] as const) {
      const after = fastify()
      await after.register(forFastify(limit as '9/1h'))
      expect(() => after.get('/login', options, async () => 'ok')).toThrow(fix)
      const before = fastify()
      before.get('/login', options, async () => 'ok')
      before.register(forFastify(limit as '9/1h'))
      await expect(before.ready()).rejects.toEqual(fix)
      await after.close()
      await before.close()
    }
  })

  test('with another configKey, those names belong to other code', async () => {
    const app = fastify()
    await app.register(forFastify('9/1h', { configKey: 'headgate' }))
    app.get('/login', { config: { ratelimit: 5 }, rateLimit: 5 } as Unchecked, async () => 'ok')
    expect(() => app.get('/', { config: { Headgate: '5/1m' } } as Unchecked, async () => 'ok')).toThrow(
      'config.Headgate',
    )
    await app.close()
  })
})

describe.each(tested)('on %s, a field of a proxy while nothing is trusted', (_, start) => {
  test.each([
    ['x-forwarded-for', '203.0.113.7', 'byIp({ trustedProxies: 1 })'],
    ['x-real-ip', '203.0.113.7', "byIp({ platform: 'railway' or 'nginx' })"],
    ['forwarded', 'for=203.0.113.7', 'let the proxy send X-Forwarded-For'],
    ['cf-connecting-ip', '203.0.113.7', "byIp({ platform: 'cloudflare' or 'render' })"],
    ['fly-client-ip', '203.0.113.7', "byIp({ platform: 'fly' })"],
    ['x-vercel-forwarded-for', '203.0.113.7', "byIp({ platform: 'vercel' })"],
    ['x-nf-client-connection-ip', '203.0.113.7', "byIp({ platform: 'netlify' })"],
  ])('%s alone gives one warning', async (field, value, fix) => {
    const app = await start({ limit: '1000/1h' })
    running.push(app.close)
    await statuses(app.url, Array(20).fill({})) // health checks come first
    for (let n = 0; n < 3; n++) await get(app.url, { [field]: value })
    expect(warnings()).toEqual([expect.stringMatching(`^HEADGATE_FORWARDED A request has ${field}, but no proxy`)])
    expect(warnings()[0]).toContain(fix)
    expect(warnings()[0]).toContain('byIp({ warn: false })')
  })

  test('a trusted proxy, a field with the address itself, and warn: false give no warning', async () => {
    const field = { 'x-real-ip': '203.0.113.7' }
    const trusting = await start({ limit: '9/1h', proxies: 1 })
    running.push(trusting.close)
    await get(trusting.url, { ...field, 'x-forwarded-for': '203.0.113.7' })
    await get(trusting.url, field)
    const silent = await start({ limit: { policies: '9/1h', keys: byIp({ warn: false }) } })
    running.push(silent.close)
    await get(silent.url, field)
    watchForwarded()
    const told = await start({ limit: '9/1h' })
    running.push(told.close)
    await get(told.url, { 'x-real-ip': '127.0.0.1' })
    expect(warnings()).toEqual([])
  })
})

test.each([
  ['X-Forwarded-For', 'byIp({ trustedProxies: 1 })'],
  ['CF-Connecting-IP', "byIp({ platform: 'cloudflare' or 'render' })"],
])('byHeader with %s gives one warning', async (field, fix) => {
  for (let n = 0; n < 2; n++) byHeader(field)
  byHeader('x-api-key')
  await new Promise(setImmediate)
  expect(warnings()).toEqual([expect.stringContaining(`byHeader('${field.toLowerCase()}') limits by a text`)])
  expect(warnings()[0]).toContain(fix)
})

test('X-Forwarded-For gives the warning also after the first 1000 requests', async () => {
  const url = await startExpress(express5, forExpress('9999/1h'))
  await statuses(url, Array(1000).fill({}))
  await get(url, { 'x-real-ip': '203.0.113.7' })
  expect(warnings()).toEqual([])
  await get(url, { 'x-forwarded-for': '203.0.113.7' })
  expect(warnings()).toEqual([expect.stringMatching(/^HEADGATE_FORWARDED A request has x-forwarded-for/)])
})

describe('a limiter that is made in each request', () => {
  const makers: Record<string, (n: number) => unknown> = {
    RateLimiter: () => new RateLimiter({ policies: '5/1m' }).consumeSync('ann'),
    'RateLimiter with a name': () => new RateLimiter({ name: 'login', policies: '5/1m' }).consumeSync('ann'),
    'RateLimiter with a store': () => new RateLimiter({ policies: '5/1m', store: memoryStore() }).consume('ann'),
    'RateLimiter for different keys': (n) => new RateLimiter({ policies: '5/1m' }).consumeSync(`ann ${n}`),
    Pacer: () => new Pacer('5/1m').acquire(),
  }
  test.each(Object.entries(makers))('%s gives one warning at the hundredth', async (_, make) => {
    for (let n = 0; n < 99; n++) await make(n)
    expect(warnings()).toEqual([])
    for (let n = 0; n < 150; n++) await make(n)
    expect(warnings()).toEqual([
      expect.stringMatching(/^HEADGATE_PER_REQUEST The hundredth limiter named .*outside of the handler/),
    ])
  })

  const inRequest: Record<string, () => Promise<string>> = {
    Express: () => startExpress(express5, (a: never, b: never, next: never) => forExpress('5/1m')(a, b, next)),
    'Express with plans': () =>
      startExpress(express5, (a: never, b: never, next: never) => forExpress({ policies: () => '5/1m' })(a, b, next)),
    Koa: () => (apps.Koa as Door)((context: never, next: never) => forKoa('5/1m')(context, next)),
    Hono: () =>
      (apps.Hono as Door)((context: never, next: never) => forHono('5/1m', { connInfo: getConnInfo })(context, next)),
    h3: () => (apps.h3 as Door)((event: never, next: never) => forH3('5/1m')(event, next)),
    Fastify: () => (apps.Fastify as Door)((a: never, b: never, done: never) => forFastify('5/1m').hook(a, b, done)),
    node: () =>
      serve(
        createServer(async (request, response) => {
          if (await forNode('5/1m')(request, response)) response.end('ok')
        }),
      ),
    fetch: () =>
      serve(
        createServer(
          getRequestListener((request) => forFetch('5/1m', { address }).wrap(async () => new Response('ok'))(request), {
            overrideGlobalObjects: false,
          }),
        ),
      ),
  }
  test.each(Object.entries(inRequest))('%s: the hundredth request gives one warning', async (_, start) => {
    const url = await start()
    expect(new Set(await statuses(url, Array(99).fill({})))).toEqual(new Set([200]))
    expect(warnings()).toEqual([])
    await statuses(url, Array(30).fill({}))
    expect(warnings()).toEqual([expect.stringMatching(/^HEADGATE_PER_REQUEST /)])
  })

  test('limiters that are made first, that have several keys, or a name of their own give no warning', async () => {
    const routes = Array.from({ length: 300 }, () => new RateLimiter({ policies: '5/1m' }))
    for (const route of routes) route.consumeSync('ann')
    for (let n = 0; n < 300; n++) {
      const shared = new RateLimiter({ policies: '5/1m' })
      for (const key of ['ann', 'bob']) shared.consumeSync(key)
      new RateLimiter({ name: `tenant ${n}`, policies: '5/1m' }).consumeSync('ann')
    }
    expect(warnings()).toEqual([])
  })
})

describe('two limiters without a name on one store', () => {
  test.each([
    ['memoryStore', memoryStore],
    ['lruStore', lruStore],
  ])('with the same policies give one warning, on a %s', (_, make) => {
    const store = make()
    forExpress({ policies: '5/1m', store })
    forExpress({ limit: 5, window: '1m', store })
    forExpress({ policies: '5/1m', store })
    expect(warnings()).toEqual([expect.stringMatching(/^HEADGATE_UNNAMED .*count apart.*one limiter.*name: 'login'/)])
  })

  test('with other policies, with names, as one limiter or on two stores give no warning', () => {
    const store = memoryStore()
    const limiter = new RateLimiter({ policies: '5/1m', store })
    for (const rateLimit of Object.values(middleware)) rateLimit(limiter)
    forExpress({ policies: '6/1m', store })
    forExpress({ policies: '5/1m', store, name: 'login' })
    forExpress({ policies: '5/1m', store: memoryStore() })
    forExpress({ policies: '5/1m' })
    forExpress({ policies: '5/1m' })
    limiter.withPlan('7/1m')
    expect(warnings()).toEqual([])
  })
})

describe('plans as new objects', () => {
  const makers: Record<string, () => unknown> = {
    'options of a policy': () => ({ limit: 5, window: '1m' }),
    'a list': () => [policy('5/1m'), policy('100/1h')],
    'with a penalty': () => ({ policies: policy('5/1m'), penalty: false }),
  }
  test.each(Object.entries(makers))('%s: the hundredth look-up by text gives one warning', (_, make) => {
    const limiter = new RateLimiter({ policies: '1/1m' })
    for (let n = 0; n < 100; n++) limiter.withPlan(make() as Unchecked)
    expect(warnings()).toEqual([])
    for (let n = 0; n < 300; n++) limiter.withPlan(make() as Unchecked)
    expect(warnings()).toEqual([expect.stringMatching(/^HEADGATE_NEW_PLANS .*pass the same objects: const plans =/)])
  })

  test.each([[{ limit: 5, window: '1m' }], [[{ limit: 5, window: '1m' }]]])(
    'the warning of one object that may change does not call it new only: %j',
    (plan) => {
      const limiter = new RateLimiter({ policies: '1/1m' })
      for (let n = 0; n < 101; n++) limiter.withPlan(plan as Unchecked)
      expect(warnings()).toEqual([expect.stringMatching(/^HEADGATE_NEW_PLANS .*a new object, or one that may change/)])
    },
  )

  test('a middleware whose policies return new objects gives the warning', async () => {
    const url = await startExpress(express5, forExpress({ policies: () => [policy('500/1m')] }))
    await statuses(url, Array(101).fill({}))
    expect(warnings()).toEqual([expect.stringMatching(/^HEADGATE_NEW_PLANS /)])
  })

  test('the same objects, and texts, give no warning', () => {
    const limiter = new RateLimiter({ policies: '1/1m' })
    const plans = [policy('5/1m'), [policy('6/1m')], '7/1m', ['8/1m', '9/1h'], { policies: policy('5/1m') }]
    for (let n = 0; n < 500; n++) for (const plan of plans) limiter.withPlan(plan as Unchecked)
    expect(warnings()).toEqual([])
  })
})

test('stores of other programs ask for a name, so two limiters of one name are an error', () => {
  const store = compareAndSetStore({ read: () => undefined, swap: () => true })
  new RateLimiter({ name: 'api', policies: '5/1m', store })
  expect(seen(() => new RateLimiter({ name: 'api', policies: '5/1m', store }))[0]).toMatch(
    /^HEADGATE_DUPLICATE_LIMITER /,
  )
})
