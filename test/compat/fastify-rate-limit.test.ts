/* The package and the module that stands in for it, side by side: the same requests must get the same answers. */
import original, * as originalNames from '@fastify/rate-limit'
import fastify, { type FastifyInstance, type FastifyPluginAsync } from 'fastify'
import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest'
import compat, * as compatNames from '../../adapters/compat/fastify-rate-limit.ts'
import { memoryStore, RateLimiter, wallClock } from '../../src/index.ts'
import { sampled } from '../support/depth.ts'

type Options = compatNames.RateLimitPluginOptions
type Module = FastifyPluginAsync<Options>
const modules: Record<string, Module> = { original: original as unknown as Module, compat }

const start = Date.UTC(2026, 0, 1, 0, 0, 0, 250)
beforeEach(() => void vi.useFakeTimers({ now: start, toFake: ['Date'] }))
afterEach(() => void vi.useRealTimers())

interface Step {
  readonly later?: number
  readonly url?: string
  readonly method?: 'GET' | 'POST'
  readonly from?: string
  readonly user?: string
}

const times = (count: number, step: Step = {}): Step[] => Array.from({ length: count }, () => step)

interface Scenario {
  readonly options?: (log: unknown[]) => Options
  readonly routes?: (app: FastifyInstance, log: unknown[]) => void
  readonly steps: readonly Step[]
}

const hello = async () => 'hello'
const plain = (app: FastifyInstance) => app.get('/', hello)
/** A route with a limit of its own. */
const route = (url: string, rateLimit: unknown) => (app: FastifyInstance) => {
  app.get(url, { config: { rateLimit } as object }, hello)
}

/** Plays the script on one module. The answers have all fields and the body; the log has what the callbacks saw. */
async function play(module: Module, { options, routes = plain, steps }: Scenario): Promise<unknown> {
  vi.setSystemTime(start)
  const log: unknown[] = []
  const app = fastify({ exposeHeadRoutes: false })
  try {
    await app.register(module, options?.(log) ?? {})
    routes(app, log)
    await app.ready()
  } catch (error) {
    return { failed: (error as Error).constructor }
  }
  const answers: unknown[] = []
  for (const { later = 0, url = '/', method = 'GET', from = '127.0.0.1', user } of steps) {
    vi.setSystemTime(Date.now() + later)
    const headers = user === undefined ? {} : { 'x-user': user }
    const { statusCode, headers: fields, body } = await app.inject({ url, method, remoteAddress: from, headers })
    const { date, ...rest } = fields
    answers.push({ statusCode, fields: rest, body })
  }
  await app.close()
  return { answers, log }
}

const windows: Step[] = [...times(3), { later: 59_000 }, { later: 999 }, { later: 1 }, ...times(2), { later: 120_000 }]
const users = [...times(2, { user: 'ann' }), ...times(2, { user: 'bob' })]
const callbacks = (log: unknown[]): Options => ({
  max: 1,
  ban: 1,
  onExceeding: (_request, key) => void log.push(['exceeding', key]),
  onExceeded: (_request, key) => void log.push(['exceeded', key]),
  onBanReach: (_request, key) => void log.push(['ban', key]),
})

/** A store of @fastify/rate-limit. */
class OwnStore {
  readonly hits = new Map<string, number>()
  readonly name: string

  constructor({ routeInfo }: { routeInfo?: { url?: string } } = {}) {
    this.name = routeInfo?.url ?? 'global'
  }

  incr(
    key: string,
    callback: (error: null, hits: { current: number; ttl: number }) => void,
    window: number,
    max: number,
  ) {
    const name = `${this.name} ${key}`
    this.hits.set(name, (this.hits.get(name) ?? 0) + 1)
    callback(null, { current: this.hits.get(name) as number, ttl: window - max })
  }

  child(options: { routeInfo: { url?: string } }) {
    return Object.assign(new OwnStore(options), { hits: this.hits })
  }
}

class FailingStore extends OwnStore {
  override incr(_key: string, callback: (...result: never[]) => void) {
    callback(new Error('the store is down') as never)
  }
}

const scenarios: Record<string, Scenario> = {
  defaults: { steps: times(2) },
  'windows open with the first request': { options: () => ({ max: 2, timeWindow: 60_000 }), steps: windows },
  'a window as a text': { options: () => ({ max: 2, timeWindow: '2 minutes' }), steps: windows },
  'fractions, and numbers that are none': {
    options: () => ({ max: 1.7, timeWindow: 1500.5, ban: -3, ipv6Subnet: 200 }),
    steps: times(3),
  },
  'numbers below 0': { options: () => ({ max: -1, timeWindow: -1 }), steps: times(1) },
  'a limit of 0': { options: () => ({ max: 0 }), steps: times(1) },
  'limit and window by functions': {
    options: () => ({
      max: async (_request, key) => (key === 'ann' ? 1 : 2),
      timeWindow: (_request, key) => (key === 'ann' ? 5000 : 60_000),
      keyGenerator: async (request) => `${request.headers['x-user']}`,
    }),
    steps: [...users, { user: 'bob' }, { later: 6000, user: 'ann' }, { user: 'bob' }],
  },
  'a window until a fixed time': {
    options: () => ({ max: 2, timeWindow: () => start + 60_000 - Date.now() }),
    steps: [...times(2), ...times(2, { later: 10_000 }), { later: 9000 }],
  },
  'a window of another length for each call': {
    options: (log) => ({ max: 2, timeWindow: () => 60_000 + 1000 * log.push('call') }),
    steps: windows,
  },
  'keys that are numbers': { options: () => ({ max: 1, keyGenerator: () => 7 }), steps: times(2) },
  'fields of a draft': { options: () => ({ max: 1, enableDraftSpec: true }), steps: times(2) },
  'some fields': {
    options: () => ({
      max: 1,
      addHeaders: { 'x-ratelimit-limit': false, 'retry-after': false },
      addHeadersOnExceeding: { 'x-ratelimit-reset': false },
    }),
    steps: times(2),
  },
  'a list of keys that are not limited': {
    options: () => ({ max: 1, allowList: ['127.0.0.1'] }),
    steps: [...times(3), ...times(2, { from: '192.0.2.1' })],
  },
  'keys that are not limited, by a function': {
    options: () => ({ max: 1, allowList: async (request, key) => request.headers['x-user'] === 'ann' && key !== '' }),
    steps: [...times(2, { user: 'ann' }), ...times(2)],
  },
  'ban and callbacks': { options: callbacks, steps: times(5) },
  'ban at once': { options: () => ({ max: 1, ban: 0 }), steps: times(2) },
  'an error of its own': {
    options: () => ({
      max: 1,
      errorResponseBuilder: (_request, context) => Object.assign(new Error('slow'), context, { code: 'SLOW' }),
    }),
    steps: times(2),
  },
  'an object as the error': {
    options: () => ({ max: 1, errorResponseBuilder: (_request, { statusCode, ...rest }) => ({ statusCode, ...rest }) }),
    steps: times(2),
  },
  ...Object.fromEntries(
    ['onRequest', 'preParsing', 'preValidation', 'preHandler'].map((hook) => [
      `the hook ${hook}`,
      {
        options: (log: unknown[]) => ({
          max: 1,
          hook: hook as compatNames.RateLimitHook,
          onExceeded: (request: { body?: unknown }) => void log.push(request.body),
        }),
        routes: (app: FastifyInstance) => void app.post('/', { preHandler: async () => undefined }, hello),
        steps: times(2, { method: 'POST' }),
      },
    ]),
  ),
  'a route with a limit of its own': {
    options: () => ({ max: 3 }),
    routes: (app) => {
      plain(app)
      route('/own', { max: 1, timeWindow: '10 seconds' })(app)
      route('/free', false)(app)
    },
    steps: [...times(2, { url: '/own' }), ...times(4), ...times(4, { url: '/free' }), { later: 10_000, url: '/own' }],
  },
  'only routes have limits': {
    options: () => ({ global: false, max: 1 }),
    routes: (app) => {
      plain(app)
      route('/own', {})(app)
    },
    steps: [...times(2), ...times(2, { url: '/own' })],
  },
  'groups of routes': {
    options: () => ({ global: false, max: 1 }),
    routes: (app) => {
      route('/a', { groupId: 'g' })(app)
      route('/b', { groupId: 'g' })(app)
    },
    steps: [...times(2, { url: '/a' }), ...times(2, { url: '/b' })],
  },
  'a group that is no text': { routes: route('/', { groupId: 1 }), steps: [] },
  'a limit of a route that is none': { routes: route('/', 'much'), steps: [] },
  'a limit of a route that is null': { options: () => ({ max: 1 }), routes: route('/', null), steps: times(2) },
  'app.rateLimit as a hook': {
    options: () => ({ global: false, max: 3 }),
    routes: (app) => {
      app.get('/', { onRequest: app.rateLimit({ max: 1 }) }, hello)
      app.get('/all', { preHandler: app.rateLimit() }, hello)
      app.setNotFoundHandler(
        { preHandler: app.rateLimit({ max: 2 }) },
        (_request, reply) => void reply.code(404).send('none'),
      )
    },
    steps: [...times(2), ...times(4, { url: '/all' }), ...times(3, { url: '/none' })],
  },
  'app.createRateLimit': {
    options: () => ({ global: false, max: 2, allowList: ['192.0.2.9'] }),
    routes: (app, log) => {
      const check = app.createRateLimit()
      const own = app.createRateLimit({ max: 1, timeWindow: 5000, ban: 0 })
      app.get('/', async (request) => {
        log.push(await check(request, { increment: false }), await check(request))
        log.push(await own(request), await own(request, { increment: false }))
        return 'hello'
      })
    },
    steps: [...times(3), { from: '192.0.2.9' }, { later: 5000 }, { later: 60_000 }],
  },
  'two registrations': {
    options: () => ({ max: 5 }),
    routes: (app) => {
      void app.register(async (inner) => {
        inner.get('/inner', hello)
      })
      plain(app)
    },
    steps: [...times(2), ...times(2, { url: '/inner' })],
  },
  'IPv4 and IPv6': {
    options: () => ({ max: 2 }),
    steps: ['192.0.2.1', '::ffff:192.0.2.1', '2001:db8:0:1::1', '2001:DB8:0:1::2', '2001:db8:0:2::1', '::1'].map(
      (from) => ({ from }),
    ),
  },
  'the whole address': {
    options: () => ({ max: 1, ipv6Subnet: 128 }),
    steps: ['2001:db8:0:1::1', '2001:db8:0:1::2', '2001:DB8:0:1:0::2'].map((from) => ({ from })),
  },
  continueExceeding: {
    options: () => ({ max: 1, timeWindow: 5000, continueExceeding: true }),
    steps: [...times(2), { later: 4000 }, { later: 4999 }, { later: 5000 }, {}],
  },
  exponentialBackoff: {
    options: () => ({ max: 1, timeWindow: 5000, exponentialBackoff: true }),
    steps: [...times(2), { later: 4999 }, { later: 4999 }, {}],
  },
  'waits of years': {
    options: () => ({ max: 1, timeWindow: '1 year', exponentialBackoff: true }),
    steps: times(5),
  },
  'waits beyond exact integers': {
    options: () => ({ max: 1, timeWindow: '200000 years', exponentialBackoff: true }),
    steps: times(4),
  },
  'a store class': {
    options: () => ({ max: 1, store: OwnStore as never }),
    routes: (app) => {
      plain(app)
      route('/own', { max: 2 })(app)
    },
    steps: [...times(2), ...times(3, { url: '/own' })],
  },
  'a store that fails': { options: () => ({ store: FailingStore as never }), steps: times(1) },
  'a store that fails, and requests that pass': {
    options: () => ({ store: FailingStore as never, skipOnError: true, max: 5 }),
    steps: times(2),
  },
  'a store that cannot read': {
    options: () => ({ global: false, store: OwnStore as never, skipOnError: true }),
    routes: (app) => {
      const check = app.createRateLimit()
      app.get('/', async (request) => {
        await check(request, { increment: false }).catch(() => undefined)
        return 'hello'
      })
    },
    steps: times(1),
  },
}

const results: Record<string, () => unknown> = {
  throws: () => {
    throw new Error('no')
  },
  rejects: async () => {
    throw new Error('no')
  },
  'returns nothing': () => undefined,
  'returns null': () => null,
  'returns a number': () => 2,
  'returns 0': () => 0,
  'returns a negative number': () => -1,
  'returns NaN': () => NaN,
  'returns a fraction': () => 1.5,
  'resolves to a text': async () => '2',
  'returns true': () => true,
  'returns an object': () => ({ a: 1 }),
  'resolves to an error': async () => new Error('mine'),
}
/** In the package, nobody waits for what they return, so a rejection ends the process. */
const notAwaited: readonly string[] = ['errorResponseBuilder', 'onExceeding', 'onExceeded', 'onBanReach']
const numbers = ['returns a number', 'returns a fraction', 'returns true']
const callbacksOf = ['max', 'allowList', 'errorResponseBuilder', 'onExceeding', 'onExceeded', 'onBanReach'] as const
for (const [what, result] of Object.entries(results)) {
  // A window must be a number, and a key no object: see the head of the module.
  const more = ['timeWindow', 'keyGenerator'].filter((option) => {
    const fits = option === 'timeWindow' ? numbers.includes(what) : !/ an (object|error)/.test(what)
    return fits || what === 'throws' || what === 'rejects'
  })
  for (const option of [...callbacksOf, ...more]) {
    if (what === 'rejects' && notAwaited.includes(option)) continue
    const own = { max: 1, ban: 0, [option]: result }
    scenarios[`${option} ${what}`] = { options: () => own as never, steps: [...times(3), { later: 61_000 }] }
    scenarios[`${option} of a route ${what}`] = { routes: route('/', own), steps: times(3) }
  }
}

/** Of the plugin, and of a route. */
const values: Record<string, unknown[]> = {
  max: [0, -1, NaN, Infinity, '5', null, 2 ** 53],
  timeWindow: [-1, NaN, Infinity, '5', '1.5s', null],
  ban: [0, -1, NaN, Infinity, '5', null, 0.5],
  cache: [0, 1],
  allowList: [null, [], ['127.0.0.1'], '127.0.0.1', [127]],
  hook: ['onSend', 'preSerialization', 'onResponse', 'none', null, 7, false, '', 0],
  groupId: ['', 'a', null, 7],
  addHeaders: [null, {}, { 'x-ratelimit-limit': 0 }, { 'retry-after': 'yes' }, { other: true }],
  addHeadersOnExceeding: [null, {}, { 'x-ratelimit-limit': 0, 'x-ratelimit-reset': 'yes' }],
  enableDraftSpec: ['yes', 1, null, false],
  skipOnError: ['yes', null],
  continueExceeding: ['yes', 1, null],
  ipv6Subnet: [null, '64', -1, 0, 0.5],
  store: [null],
}
/** Of the plugin. At a route, the original fails at each request. */
const valuesOfPlugin: Record<string, unknown[]> = {
  ...Object.fromEntries(
    ['keyGenerator', 'errorResponseBuilder', 'onExceeding', 'onExceeded', 'onBanReach'].map((name) => [
      name,
      [null, 7],
    ]),
  ),
  global: [null, 'no', 0, undefined],
  // At a route, a true value makes the window longer: see the head of the module.
  exponentialBackoff: ['yes', 1, null],
  nameSpace: [null, 7],
  redis: [null],
}
const later: Step[] = [...times(3), { later: 1000 }, { later: 60_000 }]
for (const [option, all] of [...Object.entries(values), ...Object.entries(valuesOfPlugin)]) {
  for (const value of all) {
    const name = `${option}: ${JSON.stringify(value) === 'null' ? value : JSON.stringify(value)}`
    const own = { max: 1, ban: 1, [option]: value }
    scenarios[name] = { options: () => own as never, steps: later }
    if (option in values) scenarios[`${name}, of a route`] = { routes: route('/', own), steps: later }
  }
}

Object.assign(scenarios, {
  'a route of two methods': {
    options: () => ({ max: 3 }),
    routes: (app: FastifyInstance) =>
      void app.route({
        method: ['GET', 'POST'],
        url: '/',
        config: { rateLimit: { max: 1 } } as object,
        handler: hello,
      }),
    steps: [...times(2), ...times(2, { method: 'POST' as const })],
  },
  'one limit of two routes': {
    options: () => ({ max: 3 }),
    routes: (app: FastifyInstance) => {
      const own = { max: 1 }
      route('/a', own)(app)
      route('/b', own)(app)
    },
    steps: [...times(2, { url: '/a' }), ...times(2, { url: '/b' })],
  },
  'fields of a draft of a route': { routes: route('/', { max: 1, enableDraftSpec: true }), steps: times(2) },
  'fields of a route': {
    routes: route('/', {
      max: 1,
      addHeaders: { 'x-ratelimit-limit': false },
      addHeadersOnExceeding: { 'x-ratelimit-reset': false },
    }),
    steps: times(2),
  },
  'fields of the plugin at a route': {
    options: () => ({
      addHeaders: { 'x-ratelimit-limit': false },
      addHeadersOnExceeding: { 'x-ratelimit-reset': false },
    }),
    routes: route('/', { max: 1 }),
    steps: times(2),
  },
  'the hook of a route': {
    options: (log: unknown[]) => ({
      max: 1,
      hook: 'preHandler',
      onExceeded: (r: { body?: unknown }) => void log.push(r.body),
    }),
    routes: (app: FastifyInstance) => {
      app.post('/', { config: { rateLimit: { hook: 'onRequest' } } as object }, hello)
    },
    steps: times(2, { method: 'POST' as const }),
  },
  'app.rateLimit beside the limit of the plugin': {
    options: () => ({ max: 3 }),
    routes: (app: FastifyInstance) => void app.get('/', { preHandler: [app.rateLimit({ max: 1 })] }, hello),
    steps: times(4),
  },
  'app.rateLimit beside the limit of the route': {
    options: () => ({ max: 3 }),
    routes: (app: FastifyInstance) =>
      void app.get(
        '/',
        { config: { rateLimit: { max: 2 } } as object, preHandler: [app.rateLimit({ max: 1 })] },
        hello,
      ),
    steps: times(4),
  },
  'an error handler': {
    options: () => ({ max: 1 }),
    routes: (app: FastifyInstance) => {
      app.setErrorHandler(
        (error: Error & { statusCode?: number }, _request, reply) =>
          void reply
            .code(error.statusCode ?? 500)
            .send({ mine: error.message, keys: Object.keys(error), name: error.name }),
      )
      plain(app)
    },
    steps: times(2),
  },
  'fields set before': {
    options: () => ({ max: 1 }),
    routes: (app: FastifyInstance) =>
      void app.get(
        '/',
        {
          onRequest: async (_r, reply) => void reply.header('x-ratelimit-limit', 'mine').header('retry-after', 'later'),
        },
        hello,
      ),
    steps: times(2),
  },
  '404 without a handler': { options: () => ({ max: 1 }), steps: times(2, { url: '/none' }) },
  'the handler of a 404': {
    options: () => ({ max: 1 }),
    routes: (app: FastifyInstance) => {
      app.setNotFoundHandler({ preHandler: app.rateLimit() }, (_request, reply) => void reply.code(404).send('none'))
      plain(app)
    },
    steps: [...times(2, { url: '/none' }), ...times(2)],
  },
  'a route in a context': {
    options: () => ({ max: 2 }),
    routes: (app: FastifyInstance) => {
      void app.register(
        async (inner) => {
          inner.get('/in', hello)
          inner.get('/own', { config: { rateLimit: { max: 1 } } as object }, hello)
        },
        { prefix: '/p' },
      )
      plain(app)
    },
    steps: [...times(2, { url: '/p/in' }), {}, ...times(2, { url: '/p/own' })],
  },
  'what a builder gets': {
    options: (log: unknown[]) => ({
      max: 1,
      ban: 1,
      timeWindow: 90_500,
      errorResponseBuilder: (_r: unknown, context: object) => {
        log.push({ ...context })
        return { statusCode: 429, ...context }
      },
    }),
    steps: [...times(3), { later: 89_000 }],
  },
  'a builder whose error has another status': {
    options: () => ({
      max: 1,
      errorResponseBuilder: () => Object.assign(new Error('teapot'), { statusCode: 418, code: 'TEA' }),
    }),
    steps: times(2),
  },
  'groups with a limit each': {
    options: () => ({ max: 3, groupId: 'all' }),
    routes: (app: FastifyInstance) => {
      plain(app)
      route('/a', { max: 1, groupId: 'g' })(app)
      route('/b', { max: 2, groupId: 'g' })(app)
      app.get('/c', { preHandler: app.rateLimit({ groupId: 'h', max: 1 }) }, hello)
    },
    steps: [...times(4), ...times(2, { url: '/a' }), ...times(3, { url: '/b' }), ...times(2, { url: '/c' })],
  },
  'continueExceeding of a route': {
    options: () => ({ max: 3 }),
    routes: route('/', { max: 1, timeWindow: 5000, continueExceeding: true }),
    steps: [...times(2), { later: 4000 }, { later: 4999 }, { later: 5000 }, {}],
  },
  'continueExceeding and exponentialBackoff': {
    options: () => ({ max: 1, timeWindow: 5000, continueExceeding: true, exponentialBackoff: true }),
    steps: [...times(2), { later: 4000 }, { later: 4999 }, { later: 5000 }, {}],
  },
  'ban with continueExceeding': {
    options: () => ({ max: 1, ban: 1, timeWindow: 5000, continueExceeding: true }),
    steps: [...times(4), { later: 4000 }, { later: 5000 }, {}],
  },
  'peeks of a limit that goes on': {
    options: () => ({ global: false, max: 1, timeWindow: 5000, continueExceeding: true }),
    routes: (app: FastifyInstance, log: unknown[]) => {
      const check = app.createRateLimit()
      app.get('/', async (request) => {
        log.push(await check(request), await check(request, { increment: false }))
        return 'hello'
      })
    },
    steps: [...times(3), { later: 4000 }, { later: 6000 }],
  },
} as unknown as Record<string, Scenario>)

test.each(sampled(Object.entries(scenarios), Math.ceil(Object.keys(scenarios).length / 3)))(
  '%s',
  async (_name, scenario) => {
    const expected = await play(modules.original as Module, scenario)
    expect(await play(compat, scenario)).toEqual(expected)
  },
)

test('takes a store of headgate, for all its limits', async () => {
  const scenario = scenarios['a route with a limit of its own'] as Scenario
  const store = memoryStore({ clock: () => Date.now() * 1000 })
  const expected = await play(modules.original as Module, scenario)
  expect(await play(compat, { ...scenario, options: () => ({ max: 3, store }) })).toEqual(expected)
})

test('a store that has a limiter of the name already is an error when the plugin is registered', async () => {
  const store = memoryStore()
  new RateLimiter({ name: 'api', policies: '1/1m', store })
  const options = { max: 2, skipOnError: true, store, nameSpace: 'api' }
  await expect(fastify().register(compat, options)).rejects.toMatchObject({ code: 'HEADGATE_DUPLICATE_LIMITER' })
})

test('with exponentialBackoff, a client that waits as long as it is told is admitted, and not sooner', async () => {
  const { answers } = (await play(compat, {
    options: () => ({ max: 1, timeWindow: 5000, exponentialBackoff: true }),
    steps: [...times(3), { later: 9999 }, { later: 20_000 }],
  })) as { answers: { statusCode: number; fields: Record<string, unknown> }[] }
  expect(answers.map(({ statusCode, fields }) => [statusCode, fields['retry-after']])).toEqual([
    [200, undefined],
    [429, '5'],
    [429, '10'],
    [429, '20'],
    [200, undefined],
  ])
})

describe('the exports', () => {
  test('are the same', () => {
    const { default: theirs, fastifyRateLimit, normalizeIP } = originalNames as unknown as typeof compatNames
    expect([typeof theirs, typeof fastifyRateLimit, typeof normalizeIP]).toEqual(['function', 'function', 'function'])
    expect(Object.keys(compatNames)).toEqual(expect.arrayContaining(['default', 'fastifyRateLimit', 'normalizeIP']))
    expect(compatNames.fastifyRateLimit).toBe(compat)
  })

  test.each([
    '192.0.2.1',
    '::ffff:192.0.2.1',
    '2001:DB8:0:1:2:3:4:5',
    '::1',
    'fe80::1',
    'Not-An-Address',
    '::',
    '1::2:0:0:3',
  ])('normalizeIP gives the same: %s', (ip) => {
    const theirs = (originalNames as unknown as typeof compatNames).normalizeIP
    for (const bits of [undefined, 0, 1, 32, 48, 56, 64, 127, 128]) {
      expect([bits, compatNames.normalizeIP(ip, bits)]).toEqual([bits, theirs(ip, bits)])
    }
  })

  test.each([{}, { continueExceeding: true }])(
    'an error names the option redis, which is wrong, beside %j',
    async (more) => {
      const options = { redis: { host: '127.0.0.1' }, ...more } as never
      const message = /^@fastify\/rate-limit: redis must be a client of ioredis, .* Write redis: new Redis\(\)\.$/
      await expect(fastify().register(compat, options)).rejects.toThrow(message)
    },
  )

  test.each(['', 'é ü', 5, 'x'.repeat(300)])('limits of the namespace %j count on a store', async (nameSpace) => {
    const app = fastify()
    const store = memoryStore({ clock: wallClock })
    await app.register(compat, { store, nameSpace, max: 1 } as never)
    const long = 'y'.repeat(100)
    for (const url of ['/', `/a/${long}`, `/b/${long}`]) {
      app.get(url, { config: { rateLimit: { max: url.length } } as object }, hello)
    }
    const left = async (url: string) => (await app.inject(url)).headers['x-ratelimit-remaining']
    expect([await left('/'), await left(`/a/${long}`), await left(`/b/${long}`)]).toEqual(['0', '102', '102'])
    await app.close()
  })

  test.each(['soon', '-1s'])('a window that is no duration is an error: %j', async (timeWindow) => {
    await expect(fastify().register(compat, { timeWindow })).rejects.toThrow(/timeWindow is no duration/)
  })

  test.each(['5', -1, null])('a number of keys that is none is an error: %j', async (cache) => {
    await expect(fastify().register(compat, { cache: cache as never })).rejects.toThrow(/cache must be a whole number/)
  })

  test('a function for the window that returns no number is an error of the request', async () => {
    const { answers } = (await play(compat, {
      options: () => ({ timeWindow: () => '2 seconds' as never }),
      steps: times(1),
    })) as { answers: { statusCode: number; body: string }[] }
    expect(answers).toMatchObject([
      { statusCode: 500, body: expect.stringContaining('timeWindow must return a number of milliseconds') },
    ])
  })
})

test('on a store of headgate, all windows of a key have one count, also more than are kept', async () => {
  const app = fastify()
  let window = 60_000
  const options = { store: memoryStore({ clock: () => Date.now() * 1000 }), timeWindow: () => window++, max: 2000 }
  await app.register(compat, options as compatNames.RateLimitPluginOptions)
  app.get('/', hello)
  const left: unknown[] = []
  for (let calls = 0; calls < 1100; calls++) left.push((await app.inject('/')).headers['x-ratelimit-remaining'])
  expect(left).toEqual(left.map((_, calls) => `${1999 - calls}`))
  window = 60_000
  expect((await app.inject('/')).headers['x-ratelimit-remaining']).toBe('899')
  vi.setSystemTime(Date.now() + 60_000)
  expect((await app.inject('/')).headers['x-ratelimit-remaining']).toBe('1999')
  await app.close()
})

test('two applications on one store have one count for each limit', async () => {
  const store = memoryStore({ clock: () => Date.now() * 1000 })
  const left: unknown[] = []
  for (const max of [5, 9]) {
    const app = fastify()
    await app.register(compat, { store, max } as compatNames.RateLimitPluginOptions)
    route('/own', { max })(app)
    plain(app)
    for (const url of ['/', '/own']) left.push((await app.inject(url)).headers['x-ratelimit-remaining'])
    await app.close()
  }
  expect(left).toEqual(['4', '4', '7', '7'])
})

test.each(['onExceeding', 'onExceeded', 'onBanReach'])(
  'a rejection of %s is an error of the request',
  async (option) => {
    const app = fastify()
    const rejects = async () => {
      throw new Error('no')
    }
    await app.register(compat as never, { max: 1, ban: 0, [option]: rejects } as never)
    app.get('/', async () => 'hello')
    const statuses = [(await app.inject('/')).statusCode, (await app.inject('/')).statusCode]
    expect(statuses).toContain(500)
    await app.close()
  },
)
