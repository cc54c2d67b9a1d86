import { EventEmitter, once } from 'node:events'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { beforeEach, expect, onTestFinished, test, vi } from 'vitest'
import { WebSocket, WebSocketServer } from 'ws'
import { type ConnectionOptions, limitConnections, limitMessages } from '../../adapters/sockets/index.ts'
import { type CallerCalendars, calendarWindow } from '../../src/calendar/index.ts'
import { forgetWarnings } from '../../src/common/warn.ts'
import { byHeader, memoryStore, RateLimiter } from '../../src/index.ts'
import { ManualClock } from '../../src/testing/index.ts'

beforeEach(forgetWarnings)

const eventually = (check: () => void) => vi.waitFor(check, { timeout: 10_000, interval: 2 })

const berlin = { anchor: 15, timeZone: 'Europe/Berlin' }
/** From midnight of 1 January UTC to midnight of 15 January in Berlin. */
const untilBerlin = 14 * 86_400 - 3600

function limiterOf() {
  const clock = new ManualClock()
  const policies = calendarWindow({ limit: 2, every: 'month', anchor: 'caller', timeZone: 'caller' })
  return { clock, limiter: new RateLimiter({ policies, store: memoryStore({ clock: clock.now }) }) }
}

async function listen(sockets: (server: ReturnType<typeof createServer>) => WebSocketServer) {
  const server = createServer()
  const accepted = sockets(server)
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  onTestFinished(() => {
    for (const socket of accepted.clients) socket.terminate()
    server.close()
  })
  return `ws://127.0.0.1:${(server.address() as AddressInfo).port}`
}

function open(url: string, user = 'bob'): Promise<string> {
  const client = new WebSocket(url, { headers: { 'x-user': user } })
  client.on('error', () => {})
  return new Promise((resolve) => {
    client.on('open', () => resolve('open'))
    client.on('unexpected-response', (_request, { statusCode, headers }) =>
      resolve(`${statusCode} ${headers['retry-after'] ?? '-'}`),
    )
  })
}

const calendars: [string, NonNullable<ConnectionOptions['calendar']>][] = [
  ['a function', ({ headers }) => (headers['x-user'] === 'bob' ? berlin : { anchor: 1, timeZone: 'UTC' })],
  ['a promise', async ({ headers }) => (headers['x-user'] === 'bob' ? berlin : { anchor: 1, timeZone: 'UTC' })],
]

test.each(calendars)('connections: each customer has the windows of its own calendar (%s)', async (_name, calendar) => {
  const { limiter, clock } = limiterOf()
  const url = await listen((server) => {
    limitConnections(server, limiter, { keys: byHeader('x-user'), calendar })
    return new WebSocketServer({ server })
  })
  const timeline = [await open(url), await open(url), await open(url)]
  for (const _ of [1, 2, 3]) timeline.push(await open(url, 'ada'))
  clock.advance(untilBerlin * 1000 - 1)
  timeline.push(await open(url))
  clock.advance(1)
  timeline.push(await open(url))
  expect(timeline).toEqual([
    ...['open', 'open', `429 ${untilBerlin}`],
    ...['open', 'open', `429 ${31 * 86_400}`],
    ...['429 1', 'open'],
  ])
})

test('connections: a calendar that is wrong refuses this connection with status 500, and no other', async () => {
  const { limiter } = limiterOf()
  const url = await listen((server) => {
    const calendar = ({ headers }: { headers: object }) =>
      Reflect.get(headers, 'x-user') === 'bob' ? berlin : { anchor: 1, timeZone: 'Europe/Mars' }
    limitConnections(server, limiter, { keys: byHeader('x-user'), calendar })
    return new WebSocketServer({ server })
  })
  expect([await open(url, 'ada'), await open(url)]).toEqual(['500 -', 'open'])
})

/** A server whose sockets have the calendar, and a client of it. */
async function messages(calendar: CallerCalendars) {
  const { limiter, clock } = limiterOf()
  const delivered: string[] = []
  const errors: unknown[] = []
  const url = await listen((server) => {
    const sockets = new WebSocketServer({ server })
    return sockets.on('connection', (socket) => {
      limitMessages(socket, limiter, { key: 'bob', calendar })
      socket.on('message', (data) => delivered.push(data.toString()))
      socket.on('error', (error) => errors.push(error))
    })
  })
  const notices: object[] = []
  const client = new WebSocket(url)
  client.on('message', (data) => notices.push(JSON.parse(data.toString())))
  await once(client, 'open')
  return { client, clock, delivered, errors, notices, limiter }
}

test.each<[string, CallerCalendars]>([
  ['one calendar', berlin],
  ['a record by scope', { default: berlin }],
])(
  'messages: the socket has the windows of its customer, and the notice says the exact wait (%s)',
  async (_name, calendar) => {
    const { client, clock, delivered, notices } = await messages(calendar)
    for (const text of ['1', '2', '3']) client.send(text)
    await eventually(() => expect(notices).toHaveLength(1))
    expect(notices[0]).toEqual({
      error: 'too_many_messages',
      message: `Too many messages. Try again in ${untilBerlin} seconds.`,
      policy: 'month',
      retryAfterMs: untilBerlin * 1000,
    })
    clock.advance(untilBerlin * 1000)
    client.send('4')
    await eventually(() => expect(delivered).toEqual(['1', '2', '4']))
  },
)

test('messages: an invalid calendar of a customer is an error of its messages, and ends nothing', async () => {
  const { client, delivered, errors, limiter } = await messages({ anchor: 15, timeZone: 'Europe/Mars' })
  client.send('1')
  await eventually(() => expect(errors).toEqual([expect.objectContaining({ code: 'HEADGATE_CALENDAR' })]))
  expect(delivered).toEqual([])
  expect((await limiter.peek('bob', { calendar: berlin })).remaining).toBe(2)
})

const socket = () => Object.assign(new EventEmitter(), { send() {}, close() {}, pause() {}, resume() {} }) as never

test.each<[string, () => unknown, RegExp]>([
  [
    'limitConnections without calendar',
    () => limitConnections(createServer(), limiterOf().limiter),
    /"month" has anchor: 'caller' and timeZone: 'caller', and nothing says it. Write calendar: \(request\)/,
  ],
  [
    'limitConnections with a calendar that nothing asks for',
    () => limitConnections(createServer(), '5/1m', { calendar: () => berlin }),
    /calendar has no effect/,
  ],
  [
    'limitMessages without calendar',
    () => limitMessages(socket(), limiterOf().limiter),
    /"month" has anchor.*Write calendar: \{ anchor: customer\.anchor, timeZone: customer\.timeZone \}\./,
  ],
  [
    'limitMessages with a calendar that nothing asks for',
    () => limitMessages(socket(), '5/1m', { calendar: berlin }),
    /calendar has no effect/,
  ],
])('%s throws HEADGATE_CALENDAR', (_name, construct, message) => {
  expect(construct).toThrow(
    expect.objectContaining({ code: 'HEADGATE_CALENDAR', message: expect.stringMatching(message) }),
  )
})

test('messages: a calendar may be written for other plans of the limiter', () => {
  const { limiter } = limiterOf()
  const socket = () => new WebSocket('ws://127.0.0.1:1').on('error', () => {})
  const options = { key: 'ann', calendar: berlin }
  for (const plan of ['50/1s token-bucket', 'unlimited']) {
    expect(() => limitMessages(socket(), limiter.withPlan(plan), options), plan).not.toThrow()
  }
  const alone = new RateLimiter({ policies: '50/1s' })
  expect(() => limitMessages(socket(), alone, options)).toThrow(/no policy asks/)
})
