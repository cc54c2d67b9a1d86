/* The package and the module that stands in for it, side by side: the same requests must get the same answers. */
import Koa, { type Context, type Middleware } from 'koa'
import { afterAll, beforeAll, describe, expect, test, vi } from 'vitest'
import { type MiddlewareOptions, ratelimit } from '../../adapters/compat/koa-ratelimit.ts'
import { memoryStore, wallClock } from '../../src/index.ts'
import { get, serve } from '../support/frameworks.ts'
import { MapDatabase } from '../support/map-store.ts'

type Module = (options?: MiddlewareOptions) => Middleware
const modules: Record<string, Module> = { compat: ratelimit }

/** A whole second, so that both round it alike. */
const start = Date.UTC(2026, 0, 1)

beforeAll(async () => {
  // The original reads both clocks when it is loaded.
  vi.useFakeTimers({ now: start, toFake: ['Date', 'hrtime'] })
  modules.original = ((await import('koa-ratelimit' as string)) as { default: Module }).default
})
afterAll(() => void vi.useRealTimers())

interface Step {
  readonly later?: number
  readonly user?: string
}

const times = (count: number, step: Step = {}): Step[] => Array.from({ length: count }, () => step)

async function play(module: Module, options: () => MiddlewareOptions, steps: readonly Step[]): Promise<unknown[]> {
  const app = new Koa()
  app.silent = true
  const states: unknown[] = []
  app.use(async (context, next) => {
    try {
      await next()
    } catch (error) {
      const { status = 500, message, headers } = error as Error & { status?: number; headers?: Record<string, string> }
      context.status = status
      context.set(headers ?? {})
      context.body = `${message}`
    }
    states.push(context.state.rateLimit)
  })
  app.use(module({ driver: 'memory', db: new Map(), ...options() }))
  const begin = Date.now() / 1000
  app.use((context) => {
    context.body = 'hello'
  })
  const { url, close } = await serve((await import('node:http')).createServer(app.callback()))
  const answers: unknown[] = []
  for (const { later = 0, user } of steps) {
    vi.advanceTimersByTime(later)
    const { status, headers, body } = await get(url, user === undefined ? {} : { 'x-user': user })
    const { date, 'keep-alive': _, ...fields } = headers
    answers.push({ status, fields, body })
  }
  await close()
  return sinceBegin([answers, states], begin)
}

/** The answers with the times of the epoch as seconds since the script began: the clock of the original never goes back. */
function sinceBegin(answers: unknown[], begin: number): unknown[] {
  const times = /"(\d{10})"|\b(\d{10})\b/g
  return JSON.parse(
    JSON.stringify(answers).replace(times, (_, text = 0, number = 0) => String(+text + +number - begin)),
  )
}

const byUser = (context: Context) => context.get('x-user') || false
const windows: Step[] = [...times(3), { later: 59_000 }, { later: 2000 }, ...times(2)]

const scenarios: Record<string, [() => MiddlewareOptions, Step[]]> = {
  'windows open with the first request': [() => ({ max: 2, duration: 60_000 }), windows],
  'an hour, and 2500 requests': [() => ({}), times(2)],
  'a Map': [() => ({ max: 1, db: new Map() }), times(2)],
  'names of the fields': [
    () => ({ max: 1, headers: { remaining: 'Left', reset: 'Reset-At', total: 'All' } }),
    times(2),
  ],
  'one name of a field': [() => ({ max: 1, headers: { remaining: 'Left' } }), times(2)],
  'no fields': [() => ({ max: 1, disableHeader: true }), times(2)],
  'a message': [() => ({ max: 1, errorMessage: 'Slow down.' }), times(2)],
  'a message that is an object': [() => ({ max: 1, errorMessage: { error: 'slow' } }), times(2)],
  'another status': [() => ({ max: 1, status: 503 }), times(2)],
  throw: [() => ({ max: 1, throw: true }), times(2)],
  'ids by a function; false for no limit': [
    () => ({ max: 1, id: byUser }),
    [...times(2, { user: 'ann' }), ...times(2, { user: 'bob' }), ...times(2)],
  ],
  'an id that is empty': [() => ({ id: () => '' }), times(1)],
  whitelist: [
    () => ({ max: 1, whitelist: async (context) => context.get('x-user') === 'ann' }),
    [...times(2, { user: 'ann' }), ...times(2)],
  ],
  blacklist: [
    () => ({ max: 1, blacklist: (context) => context.get('x-user') === 'bob', whitelist: () => true }),
    [{ user: 'bob' }, ...times(2)],
  ],
  onLimited: [() => ({ max: 1, onLimited: (context) => context.set('X-Limited', 'yes') }), times(2)],
  'an onLimited that is off': [() => ({ max: 1, onLimited: false as never }), times(2)],
  'a driver that does not exist': [() => ({ driver: 'none' as never }), times(1)],
  'a db that is no Map': [() => ({ db: {} }), times(1)],
  'a limit of 0': [() => ({ max: 0 }), times(1)],
}

const results: Record<string, (context: Context) => unknown> = {
  throws: () => {
    throw new Error('no')
  },
  rejects: async () => {
    throw new Error('no')
  },
  'throws a status': (context) => context.throw(418, 'tea'),
  'returns nothing': () => undefined,
  'returns null': () => null,
  'returns 0': () => 0,
  'returns a number': () => 7,
  'returns true': () => true,
  'returns a text': () => 'yes',
  'resolves to a text': async () => 'yes',
  'resolves to false': async () => false,
  'returns an object': () => ({ a: 1 }),
}
for (const [what, result] of Object.entries(results)) {
  for (const option of ['id', 'whitelist', 'blacklist', 'onLimited'] as const) {
    // In the package, nobody waits for onLimited, so its rejection ends the process. The module awaits it: see below.
    if (option === 'onLimited' && what === 'rejects') continue
    // An id is no object: see the head of the module.
    if (option === 'id' && /^re(jects|solves)| an object/.test(what)) continue
    scenarios[`${option} ${what}`] = [() => ({ max: 1, [option]: result }) as never, times(3)]
  }
}
const values: Record<string, unknown[]> = {
  max: [Infinity, '2', null],
  duration: ['60000'],
  errorMessage: ['', null, 0, ['a'], { a: 1 }],
  status: [0, null, 200, 204, 403, 600, '429'],
  throw: ['yes', null],
  disableHeader: ['yes', null],
  headers: [{}, { remaining: '' }, { total: null }],
  namespace: [null, '', 7],
  whitelist: [null, 'ann'],
  blacklist: [null, 'ann'],
  onLimited: [null],
  driver: [null, undefined, 'Memory', 'REDIS'],
  db: [[]],
}
for (const [option, all] of Object.entries(values)) {
  for (const value of all) {
    const name = `${option}: ${JSON.stringify(value)}`
    scenarios[name] = [() => ({ max: 1, [option]: value }) as never, times(3)]
    scenarios[`${name}, throw`] = [() => ({ max: 1, throw: true, [option]: value }) as never, times(3)]
  }
}
Object.assign(scenarios, {
  'throw without fields': [() => ({ max: 1, throw: true, disableHeader: true }), times(2)],
  'throw with an object': [() => ({ max: 1, throw: true, errorMessage: { a: 1 } }), times(2)],
  'throw with another status': [() => ({ max: 1, throw: true, status: 503, errorMessage: 'busy' }), times(2)],
})

test.each(Object.entries(scenarios))('%s', async (_name, [options, steps]) => {
  const expected = await play(modules.original as Module, options, steps)
  expect(await play(ratelimit, options, steps)).toEqual(expected)
  expect(expected[0]).toHaveLength(steps.length)
})

describe.each(['original', 'compat'])('a Map that is shared (%s)', (name) => {
  test('is one count for two limiters, and clear() forgets it', async () => {
    const module = modules[name] as Module
    const db = new Map()
    const options = () => ({ max: 1, db, duration: 60_000 })
    const statuses = async () => (await play(module, options, times(1)))[0]
    expect(await statuses()).toMatchObject([{ status: 200 }])
    expect(await statuses()).toMatchObject([{ status: 429 }])
    db.clear()
    expect(await statuses()).toMatchObject([{ status: 200 }])
  })
})

test('takes a store of headgate', async () => {
  const options = () => ({ max: 2, duration: 60_000 })
  const store = memoryStore({ clock: () => Date.now() * 1000 })
  const expected = await play(modules.original as Module, options, windows)
  expect(await play(ratelimit, () => ({ ...options(), store }), windows)).toEqual(expected)
})

test('counts in a store that processes share, by its namespace and duration', async () => {
  const database = new MapDatabase()
  const options = { max: 2, duration: 60_000, namespace: 'an app' }
  const [expected] = await play(modules.original as Module, () => options, times(4))
  const answers: unknown[] = []
  for (const store of [database.store(), database.store()]) {
    const [played] = await play(ratelimit, () => ({ ...options, store }), times(2))
    answers.push(...(played as unknown[]))
  }
  expect(answers).toEqual(expected)
})

test('a store that is none is an error when the middleware is made', () => {
  expect(() => ratelimit({ store: new Map() as never })).toThrow(/store cannot be .*Give a store of headgate/)
})

test('limits of one store count apart by any namespace, also by a long one and one that is no ASCII', async () => {
  const store = memoryStore({ clock: wallClock })
  const long = 'x'.repeat(300)
  for (const namespace of ['', 'é'.repeat(100), `a${long}`, `b${long}`]) {
    const [answers] = (await play(ratelimit, () => ({ max: 1, store, namespace }), times(2))) as [{ status: number }[]]
    expect(answers.map(({ status }) => status)).toEqual([200, 429])
  }
})

test('numbers may be texts, and beyond any range', async () => {
  for (const options of [
    { max: '1', duration: '60000' },
    { max: 1, duration: Infinity },
    { max: 0.5, duration: 60_000.5 },
  ]) {
    const [answers] = (await play(ratelimit, () => options as never, times(2))) as [{ status: number }[]]
    expect(answers.map(({ status }) => status)).toEqual([200, 429])
  }
})

test.each<[object, RegExp]>([
  [{ driver: 'redis', db: {} }, /^koa-ratelimit: db must be a client of ioredis, .* Write db: new Redis\(\)\.$/],
  [{ driver: 'redis', db: 'redis://127.0.0.1' }, /^koa-ratelimit: db must be a client/],
  [{ max: Number.NaN }, /^koa-ratelimit: max must be a number, got NaN\.$/],
  [{ max: 'many' }, /^koa-ratelimit: max must be a number/],
  [{ duration: Number.NaN }, /^koa-ratelimit: duration must be a number/],
  [{ duration: {} }, /^koa-ratelimit: duration must be a number, got an object/],
])('an error names the option that is wrong: %j', async (options, message) => {
  const context = { ip: '192.0.2.1', state: {}, set() {} } as unknown as Parameters<Middleware>[0]
  const limit = ratelimit({ driver: 'memory', ...options })
  await expect(limit(context, async () => undefined)).rejects.toThrow(message)
})

const failing = () => Promise.reject(new Error('no'))
test.each([async () => 'ann', failing, () => ({ name: 'ann' })])(
  'an id that is an object is an error: %s',
  async (id) => {
    const [answers] = (await play(ratelimit, () => ({ id: id as never }), times(1))) as [
      { status: number; body: string }[],
    ]
    expect(answers).toMatchObject([{ status: 500, body: expect.stringContaining('id must return a text or false') }])
  },
)

test('rounds the reset time and Retry-After up, so that a client who waits is admitted', async () => {
  const options = () => ({ max: 1, duration: 1500 })
  const [answers] = (await play(ratelimit, options, [...times(2), { later: 2000 }])) as [
    { status: number; fields: Record<string, string> }[],
  ]
  expect(answers[1]?.fields).toMatchObject({ 'retry-after': '2', 'x-ratelimit-reset': 2 })
  expect(answers.map(({ status }) => status)).toEqual([200, 429, 200])
})

test('a rejection of onLimited is an error of the request', async () => {
  const app = new Koa()
  app.silent = true
  const rejects = async () => {
    throw new Error('no')
  }
  app.use(ratelimit({ driver: 'memory', db: new Map(), max: 1, onLimited: rejects }))
  app.use((context) => {
    context.body = 'hello'
  })
  const { url, close } = await serve((await import('node:http')).createServer(app.callback()))
  const status = async () => (await fetch(url)).status
  expect([await status(), await status()]).toEqual([200, 500])
  await close()
})
