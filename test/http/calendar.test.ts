import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import fastify from 'fastify'
import { describe, expect, onTestFinished, test } from 'vitest'
import { rateLimit as forExpress } from '../../adapters/express.ts'
import { rateLimit as forFastify } from '../../adapters/fastify/index.ts'
import { type CallerCalendars, calendarWindow } from '../../src/calendar/index.ts'
import { fixedWindow, memoryStore, type Policy, RateLimiter } from '../../src/index.ts'
import { asyncStore } from '../support/async-store.ts'
import { contract, midnight, statuses, stillStore } from '../support/contract.ts'
import { get } from '../support/frameworks.ts'
import { headerOf } from '../support/shapes.ts'

const fields = (headers: Record<string, unknown>) =>
  Object.fromEntries(Object.entries(headers).filter(([name]) => /rate-?limit/.test(name)))

/** The customers of these tests: the day on which each subscribed, and the time zone. */
const customers: Record<string, { anchor: number | string | Date; timeZone: string }> = {
  ada: { anchor: 15, timeZone: 'UTC' },
  bob: { anchor: '2025-03-15', timeZone: 'Europe/Berlin' },
  // In New York, the clock that starts at midnight of 1 January UTC shows 31 December, so this window has just begun.
  cleo: { anchor: new Date('2024-10-31T12:00:00Z'), timeZone: 'America/New_York' },
}
const user = (request: unknown) => headerOf(request, 'x-user') as string
const ofCustomer = (request: unknown) => customers[user(request)] as CallerCalendars
const monthly = (limit = 2): Policy => calendarWindow({ limit, every: 'month', anchor: 'caller', timeZone: 'caller' })

contract((app) => {
  test.each(['sync', 'async', 'an asynchronous store', 'settle'])(
    'each customer has the windows of its own calendar, and the times are exact (%s)',
    async (form) => {
      const { store, clock } = stillStore()
      const { url, handled } = await app({
        policies: monthly(),
        keys: user,
        calendar: form === 'async' ? async (request: unknown) => ofCustomer(request) : ofCustomer,
        store: form === 'an asynchronous store' ? asyncStore(store) : store,
        settle: form === 'settle',
      })
      const seen = async (name: string) => {
        const { status, headers } = await get(url, { 'x-user': name })
        const reset = new Date(Number(headers['x-ratelimit-reset']) * 1000).toISOString()
        return `${name} ${status} ${headers['x-ratelimit-remaining']} ${reset} ${headers['retry-after'] ?? '-'}`
      }
      for (const name of Object.keys(customers)) await get(url, { 'x-user': name })
      clock.advance(1) // Retry-After is rounded up, and the reset is still the boundary
      const timeline: string[] = []
      for (const name of Object.keys(customers)) timeline.push(await seen(name), await seen(name))
      clock.set(Date.parse('2026-01-14T22:59:59.999Z'))
      timeline.push(await seen('bob'))
      clock.advance(1)
      timeline.push(await seen('bob'), await seen('ada'))
      clock.set(Date.parse('2026-01-31T05:00:00Z'))
      timeline.push(await seen('cleo'))
      expect(timeline).toEqual([
        'ada 200 0 2026-01-15T00:00:00.000Z -',
        'ada 429 0 2026-01-15T00:00:00.000Z 1209600',
        'bob 200 0 2026-01-14T23:00:00.000Z -',
        'bob 429 0 2026-01-14T23:00:00.000Z 1206000',
        'cleo 200 0 2026-01-31T05:00:00.000Z -',
        'cleo 429 0 2026-01-31T05:00:00.000Z 2610000',
        'bob 429 0 2026-01-14T23:00:00.000Z 1',
        'bob 200 1 2026-02-14T23:00:00.000Z -',
        'ada 429 0 2026-01-15T00:00:00.000Z 3600',
        'cleo 200 1 2026-02-28T05:00:00.000Z -',
      ])
      expect(handled()).toBe(8)
    },
  )

  test('calendar gets the request, a view of the request, and the response', async () => {
    const { store } = stillStore()
    const { url } = await app({
      policies: monthly(),
      store,
      calendar: (request: unknown, view: { header(request: unknown, name: string): string }, response: unknown) => {
        expect(response).toBeDefined()
        return { anchor: Number(view.header(request, 'x-day')), timeZone: view.header(request, 'x-zone') }
      },
    })
    const { headers } = await get(url, { 'x-day': '3', 'x-zone': 'Asia/Tokyo' })
    expect(Number(headers['x-ratelimit-reset']) * 1000).toBe(Date.parse('2026-01-02T15:00:00Z'))
  })

  test('calendar may return a record with a calendar for each scope', async () => {
    const policies = [
      calendarWindow({ limit: 9, every: 'month', anchor: 'caller', scope: 'user' }),
      calendarWindow({ limit: 9, every: 'day', timeZone: 'caller', scope: 'team' }),
    ]
    const calendars = { user: { anchor: 4 }, team: { timeZone: 'Asia/Tokyo' } }
    const keys = { user, team: () => 'all' }
    for (const calendar of [() => calendars, async () => calendars]) {
      const { url } = await app({ policies, store: stillStore().store, keys, calendar, headers: 'draft-11' })
      expect((await get(url, { 'x-user': 'ada' })).headers.ratelimit).toMatch(
        /^"month";r=\d;t=259200, "day";r=\d;t=54000$/,
      )
    }
  })

  test('one calendar serves every policy that asks for a part of it, beside policies that ask for less', async () => {
    const { store } = stillStore()
    const policies = [
      monthly(),
      calendarWindow({ limit: 9, every: 'day', timeZone: 'caller' }),
      calendarWindow({ limit: 99, every: 'year' }),
      fixedWindow({ limit: 5, window: '1m' }),
    ]
    const { url } = await app({ policies, store, keys: user, calendar: ofCustomer, headers: 'draft-11' })
    const { headers } = await get(url, { 'x-user': 'bob' })
    expect(headers.ratelimit).toBe('"month";r=1;t=1206000, "day";r=8;t=82800, "year";r=98;t=31536000, "1m";r=4;t=60')
  })

  test.each<[unknown, RegExp]>([
    [undefined, /has anchor: 'caller' and timeZone: 'caller', and the call does not say them/],
    [{}, /has anchor: 'caller' and timeZone: 'caller', and the call does not say them/],
    [{ anchor: 1 }, /has timeZone: 'caller', and the call does not say it/],
    [{ anchor: 1, timezone: 'UTC' }, /has timeZone: 'caller', and the call does not say it/],
    [
      { user: { anchor: 1, timeZone: 'UTC' } },
      /has anchor: 'caller' and timeZone: 'caller', and the call does not say them/,
    ],
    [{ default: 'UTC' }, /calendar\.default must be \{ anchor, timeZone \}.*got "UTC"/],
    [null, /calendar must be \{ anchor, timeZone \}.*got null/],
    ['UTC', /calendar must be \{ anchor, timeZone \}.*got "UTC"/],
    [15, /calendar must be \{ anchor, timeZone \}.*got 15/],
    [{ anchor: 32, timeZone: 'UTC' }, /anchor must be .* got 32/],
    [{ anchor: 15, timeZone: 'Europe/Mars' }, /Europe\/Mars/],
  ])('calendar returns %j: an error for the error handler, and takes nothing', async (bad, message) => {
    for (const calendar of [() => bad, async () => bad]) {
      for (const settle of [false, true]) {
        const limiter = new RateLimiter({ policies: monthly(), store: asyncStore(memoryStore()) })
        const { url, handled } = await app({ limiter, calendar, settle, keys: () => 'k' })
        const { status, body } = await get(url)
        expect([status, body]).toEqual([500, expect.stringMatching(message)])
        expect(handled()).toBe(0)
        const { used } = await limiter
          .peek('k', { calendar: customers.ada as CallerCalendars })
          .then(({ policies: [month] }) => month as { used: number })
        expect(used).toBe(0)
      }
    }
  })

  test('calendar says what a policy of the same scope fixes: an error, if no policy of the scope asks for it', async () => {
    const policies = calendarWindow({ limit: 9, every: 'month', anchor: 'caller' })
    const { url } = await app({ policies, calendar: () => ({ anchor: 1, timeZone: 'Europe/Berlin' }) })
    expect(await get(url)).toMatchObject({ status: 500, body: expect.stringMatching(/timeZone, but no policy asks/) })
  })

  test('an error of the function goes to the error handler', async () => {
    const failing = () => {
      throw new Error('no customer today')
    }
    for (const calendar of [failing, async () => failing()]) {
      const { url } = await app({ policies: monthly(), calendar })
      expect(await get(url)).toMatchObject({ status: 500, body: 'no customer today' })
    }
  })

  test.each<[string, object, RegExp]>([
    [
      'no calendar',
      { policies: monthly() },
      /"month" has anchor: 'caller' and timeZone: 'caller'.*\(request\) => \(\{ anchor: /,
    ],
    [
      'no calendar for a limiter',
      { limiter: new RateLimiter({ policies: monthly(3) }) },
      /"month" has anchor: 'caller'/,
    ],
    [
      'no calendar for a time zone',
      { policies: calendarWindow({ limit: 9, every: 'day', timeZone: 'caller' }) },
      /"day" has timeZone: 'caller'.*calendar: \(request\) => \(\{ timeZone: /,
    ],
    ['a calendar that nothing asks for', { policies: '5/1m', calendar: ofCustomer }, /calendar has no effect/],
    [
      'a calendar that a policy fixes',
      { policies: calendarWindow({ limit: 9, every: 'month' }), calendar: ofCustomer },
      /calendar has no effect/,
    ],
  ])('%s throws at construction', async (_name, options, message) => {
    const error = { code: 'HEADGATE_CALENDAR', message: expect.stringMatching(message) }
    await expect(async () => app(options)).rejects.toThrow(expect.objectContaining(error))
  })

  test('plans: the function runs for plans that ask for a calendar; without it, the first request of such a plan fails', async () => {
    const { store } = stillStore()
    const plans: Record<string, Policy> = { free: fixedWindow({ limit: 1, window: '1m' }), pro: monthly(1) }
    const policies = (request: unknown) => plans[headerOf(request, 'x-plan') as string]
    let asked = 0
    const calendar = (request: unknown) => {
      asked++
      return ofCustomer(request)
    }
    const free = { 'x-plan': 'free', 'x-user': 'ada' }
    const pro = { 'x-plan': 'pro', 'x-user': 'ada' }
    const { url } = await app({ policies, store, keys: user, calendar })
    expect(await statuses(url, [free, free, pro, pro])).toEqual([200, 429, 200, 429])
    expect(asked).toBe(2)
    const without = await app({ policies, store: memoryStore(), keys: user })
    expect(await statuses(without.url, [free, pro, pro, free])).toEqual([200, 500, 500, 429])
    expect((await get(without.url, pro)).body).toMatch(/"month" has anchor: 'caller'/)
  })

  test.each<[unknown, object]>([
    [
      'legacy',
      { 'x-ratelimit-limit': '2', 'x-ratelimit-remaining': '1', 'x-ratelimit-reset': `${midnight / 1000 + 1206000}` },
    ],
    [
      'draft-6',
      {
        'ratelimit-policy': '2;w=2678400, 9;w=3600',
        'ratelimit-limit': '2',
        'ratelimit-remaining': '1',
        'ratelimit-reset': '1206000',
      },
    ],
    ['draft-7', { 'ratelimit-policy': '2;w=2678400, 9;w=3600', ratelimit: 'limit=2, remaining=1, reset=1206000' }],
    [
      'draft-8',
      { 'ratelimit-policy': '"month";q=2, "1h";q=9;w=3600', ratelimit: '"month";r=1;t=1206000, "1h";r=8;t=3600' },
    ],
    [
      'draft-11',
      { 'ratelimit-policy': '"month";q=2, "1h";q=9;w=3600', ratelimit: '"month";r=1;t=1206000, "1h";r=8;t=3600' },
    ],
  ])(
    'the fields of %s: no window that is only nominal, where the draft allows to leave it out',
    async (headers, expected) => {
      const policies = [monthly(), fixedWindow({ limit: 9, window: '1h' })]
      const { url } = await app({ policies, headers, keys: user, calendar: ofCustomer, store: stillStore().store })
      expect(fields((await get(url, { 'x-user': 'bob' })).headers)).toEqual(expected)
    },
  )

  test('a refusal says the exact wait, and no length of the window, in each form', async () => {
    const named = { limit: 1, every: 'month', anchor: 15, name: undefined } as never
    const start = (problem: boolean) => app({ policies: calendarWindow(named), problem, store: stillStore().store })
    for (const problem of [false, true]) {
      const { url } = await start(problem)
      await get(url)
      const refused = await get(url, { accept: 'application/json' })
      const detail = 'Too many requests. Try again in 1209600 seconds.'
      expect(JSON.parse(refused.body)).toMatchObject(
        problem
          ? {
              type: 'https://iana.org/assignments/http-problem-types#quota-exceeded',
              title: 'Request cannot be satisfied as assigned quota has been exceeded',
              status: 429,
              detail,
              'violated-policies': ['month'],
            }
          : { error: 'too_many_requests', message: detail, policy: 'month', retryAfter: 1_209_600 },
      )
      expect(refused.headers['retry-after']).toBe('1209600')
      expect(refused.body).not.toMatch(/31d|2678400|30 days/)
    }
  })
})

test.each([15, 'UTC', null, { anchor: 15 }, true])('calendar: %j throws at construction', (calendar) => {
  for (const policies of [monthly(), () => monthly()]) {
    expect(() => forExpress({ policies, calendar } as never)).toThrow(
      expect.objectContaining({
        code: 'HEADGATE_OPTION',
        message: expect.stringMatching(/^calendar must be a function/),
      }),
    )
  }
})

describe('limits of routes in Fastify', () => {
  test('inherit calendar, which may then be unused; a route without any is refused when it is declared', async () => {
    const { store } = stillStore()
    const app = fastify()
    onTestFinished(() => app.close())
    await app.register(
      forFastify({ policies: monthly(), keys: (request) => user(request), calendar: ofCustomer, store }),
    )
    const own = { policies: calendarWindow({ limit: 5, every: 'day', timeZone: 'caller' }), name: 'own', store }
    app.get('/', async () => 'global')
    app.get(
      '/own',
      { config: { rateLimit: { ...own, calendar: () => ({ timeZone: 'Asia/Tokyo' }) } } },
      async () => 'own',
    )
    app.get(
      '/inherits',
      { config: { rateLimit: { policies: monthly(7), name: 'inherits', store } } },
      async () => 'same',
    )
    app.get('/unused', { config: { rateLimit: '5/1m' } }, async () => 'none')
    const url = await app.listen({ host: '127.0.0.1', port: 0 })
    const resets = []
    for (const path of ['/', '/own', '/inherits', '/unused']) {
      const { status, headers } = await get(url + path, { 'x-user': 'bob' })
      resets.push([status, Number(headers['x-ratelimit-reset']) - midnight / 1000])
    }
    expect(resets.slice(0, 3)).toEqual([
      [200, 1_206_000],
      [200, 54_000],
      [200, 1_206_000],
    ])
    expect(resets[3]?.[0]).toBe(200)
    const plain = fastify()
    onTestFinished(() => plain.close())
    await plain.register(forFastify('5/1m'))
    expect(() => plain.get('/', { config: { rateLimit: { policies: monthly() } } }, async () => 'no')).toThrow(
      expect.objectContaining({ code: 'HEADGATE_CALENDAR' }),
    )
  })
})

test('the legacy reset is the boundary at each microsecond, because both parts of the sum are of one time', async () => {
  let now = midnight * 1000
  const store = memoryStore({ clock: () => now })
  const limit = forExpress({ policies: calendarWindow({ limit: 99, every: 'month' }), store })
  const server = createServer((request, response) => {
    limit(request as never, response as never, () => response.end('ok'))
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  onTestFinished(() => void server.close())
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
  for (const more of [1, 499, 999, 1000, 999_999]) {
    now += more
    expect((await get(url)).headers['x-ratelimit-reset']).toBe(String(Date.UTC(2026, 1) / 1000))
  }
  now = Date.UTC(2026, 1) * 1000 - 1
  expect((await get(url)).headers['x-ratelimit-reset']).toBe(String(Date.UTC(2026, 1) / 1000))
})
