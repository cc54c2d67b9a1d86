/* Rows of docs/moving-in.md: an option of @fastify/rate-limit, and what takes its place. */
import original, { type RateLimitPluginOptions } from '@fastify/rate-limit'
import fastify, { type FastifyInstance, type FastifyPluginCallback, type FastifyRequest } from 'fastify'
import { afterEach, beforeEach, expect, test, vi } from 'vitest'
import { rateLimit } from '../../adapters/fastify/index.ts'
import { fixedWindow, memoryStore, wallClock } from '../../src/index.ts'
import { faultyStore, ManualClock } from '../../src/testing/index.ts'

const start = Date.UTC(2026, 0, 1)
beforeEach(() => void vi.useFakeTimers({ now: start, toFake: ['Date'] }))
afterEach(() => void vi.useRealTimers())

/** What a request asks for: its path, who asks, and after how many milliseconds. */
interface Step {
  readonly url?: string
  readonly user?: string
  readonly pause?: number
}
type Routes = (app: FastifyInstance) => unknown
interface Row {
  readonly there: RateLimitPluginOptions
  readonly here: () => unknown
  readonly routes?: Routes
  readonly routesHere?: Routes
  readonly steps: readonly Step[]
}

const hello = async () => 'hello'
const plain: Routes = (app) => app.get('/', hello)

/** The status of each answer, what is left, and `Retry-After`. */
async function play(plugin: unknown, options: object, routes: Routes, steps: readonly Step[]): Promise<string[]> {
  vi.setSystemTime(start)
  const app = fastify()
  await app.register(plugin as FastifyPluginCallback, options)
  routes(app)
  const answers: string[] = []
  for (const { url = '/', user = 'nobody', pause = 0 } of steps) {
    vi.setSystemTime(Date.now() + pause)
    const { statusCode, headers } = await app.inject({ url, headers: { 'x-user': user } })
    answers.push(`${statusCode}, ${headers['x-ratelimit-remaining']} left, ${headers['retry-after'] ?? 'go on'}`)
  }
  await app.close()
  return answers
}

const times = (count: number, step: Step = {}): Step[] => Array.from({ length: count }, () => step)
const windows = (limit: number) => fixedWindow({ limit, window: '1m', align: 'first-request' })
const shared = () => ({ store: memoryStore({ clock: wallClock }) })
const user = ({ headers }: FastifyRequest) => `${headers['x-user']}`
/** A route with a limit of its own, and one without a limit. */
const routesWith =
  (limit: unknown): Routes =>
  (app) => {
    plain(app)
    app.get('/own', { config: { rateLimit: limit } as object }, hello)
    app.get('/free', { config: { rateLimit: false } }, hello)
  }
const ofRoutes = [...times(2, { url: '/own' }), ...times(3), ...times(2, { url: '/free' })]

class Failing {
  incr(_key: string, callback: (error: Error) => void) {
    callback(new Error('down'))
  }
  child() {
    return this
  }
}

const rows: Record<string, Row> = {
  'max, timeWindow': {
    there: { max: 2 },
    here: () => rateLimit({ policies: windows(2), ...shared() }),
    steps: [...times(3), { pause: 59_999 }, { pause: 1 }],
  },
  'max as a function': {
    there: { max: (request) => (user(request) === 'ann' ? 2 : 1), keyGenerator: user },
    here: () =>
      rateLimit({
        policies: (request: FastifyRequest) => windows(user(request) === 'ann' ? 2 : 1),
        keys: user,
        ...shared(),
      }),
    steps: [...times(2, { user: 'bob' }), ...times(3, { user: 'ann' })],
  },
  'config.rateLimit of a route': {
    there: { max: 2 },
    here: () => rateLimit({ policies: windows(2), ...shared() }),
    routes: routesWith({ max: 1 }),
    routesHere: (app) => routesWith({ policies: windows(1), ...shared() })(app),
    steps: ofRoutes,
  },
  'global: false': {
    there: { global: false },
    here: () => rateLimit(false),
    routes: routesWith({ max: 1 }),
    routesHere: (app) => routesWith({ policies: windows(1), ...shared() })(app),
    steps: ofRoutes,
  },
  'app.rateLimit()': {
    there: { global: false, max: 1 },
    here: () => rateLimit(false),
    routes: (app) => app.get('/', { preHandler: app.rateLimit() }, hello),
    routesHere: (app) => app.get('/', { preHandler: rateLimit({ policies: windows(1), ...shared() }).hook }, hello),
    steps: times(2),
  },
  'keyGenerator, allowList': {
    there: { max: 1, keyGenerator: user, allowList: (_request, key) => key === 'ann' },
    here: () =>
      rateLimit({ policies: windows(1), keys: user, skip: (request) => user(request) === 'ann', ...shared() }),
    steps: [...times(2, { user: 'ann' }), ...times(2, { user: 'bob' }), { user: 'eve' }],
  },
  ban: {
    there: { max: 2, ban: 2 },
    here: () =>
      rateLimit({
        policies: windows(2),
        penalty: { after: 3, within: '1m', until: 'window', status: 403 },
        ...shared(),
      }),
    steps: [...times(2), ...times(4, { pause: 1000 }), { pause: 55_999 }, { pause: 1 }, ...times(2)],
  },
  continueExceeding: {
    there: { max: 1, continueExceeding: true },
    here: () =>
      rateLimit({
        policies: windows(1),
        penalty: { after: 1, within: '1m', ban: '1m', extend: true },
        ...shared(),
      }),
    steps: [...times(2), { pause: 30_000 }, { pause: 59_999 }, { pause: 60_000 }, { pause: 1000 }, { pause: 60_000 }],
  },
  'addHeaders, addHeadersOnExceeding': {
    there: {
      max: 1,
      addHeaders: { 'x-ratelimit-remaining': false },
      addHeadersOnExceeding: { 'x-ratelimit-remaining': false },
    },
    here: () => rateLimit({ policies: windows(1), headers: 'draft-8', ...shared() }),
    steps: times(2),
  },
  skipOnError: {
    there: { skipOnError: true, store: Failing as never, addHeadersOnExceeding: { 'x-ratelimit-remaining': false } },
    here: () => {
      const store = faultyStore(memoryStore(), { clock: new ManualClock(), faults: [{ kind: 'error' }] })
      return rateLimit({ policies: windows(5), onStoreError: 'open', headers: false, name: 'x', store })
    },
    steps: times(2),
  },
}

test.each([
  [
    'addHeaders',
    {},
    { legacy: { resetAs: 'delta' as const } },
    ['x-ratelimit-limit', 'x-ratelimit-reset', 'retry-after'],
  ],
  [
    'enableDraftSpec',
    { enableDraftSpec: true },
    'draft-6' as const,
    ['ratelimit-limit', 'ratelimit-reset', 'retry-after'],
  ],
])('the reset time in seconds: %s', async (_, there, headers, names) => {
  const fieldsOf = async (plugin: unknown, options: object) => {
    vi.setSystemTime(start)
    const app = fastify()
    await app.register(plugin as FastifyPluginCallback, options)
    plain(app)
    const fields: unknown[] = []
    for (let count = 0; count < 3; count++) {
      const { headers } = await app.inject('/')
      fields.push(names.map((name) => headers[name]))
      vi.setSystemTime(Date.now() + 1500)
    }
    await app.close()
    return fields
  }
  const expected = await fieldsOf(original, { max: 1, timeWindow: 60_000, ...there })
  expect(await fieldsOf(rateLimit({ policies: windows(1), headers, ...shared() }), {})).toEqual(expected)
  expect(expected[0]).toEqual(['1', '60', undefined])
})

test.each(Object.entries(rows))('%s', async (_, { there, here, routes = plain, routesHere = routes, steps }) => {
  const expected = await play(original, { timeWindow: 60_000, ...there }, routes, steps)
  expect(await play(here(), {}, routesHere, steps)).toEqual(expected)
})
