/* Rows of docs/moving-in.md: an option of express-rate-limit, and the option that takes its place. */
import { createServer } from 'node:http'
import express, { type Request, type Response } from 'express'
import original, { type Options } from 'express-rate-limit'
import { afterEach, beforeEach, expect, test, vi } from 'vitest'
import { rateLimit } from '../../adapters/express.ts'
import { byIp, fixedWindow, memoryStore, type RequestDecision, type Store, wallClock } from '../../src/index.ts'
import { faultyStore, ManualClock } from '../../src/testing/index.ts'
import { get, serve } from '../support/frameworks.ts'

beforeEach(() => void vi.useFakeTimers({ now: Date.UTC(2026, 0, 1), toFake: ['Date'] }))
afterEach(() => void vi.useRealTimers())

type Limiter = (request: Request, response: Response, next: () => void) => unknown
/** What a request asks for: its path, who asks, and after how many milliseconds. */
type Step = readonly [path?: string | undefined, headers?: Record<string, string>, pause?: number]

async function play(limiter: unknown, steps: readonly Step[]): Promise<unknown[]> {
  const app = express().set('trust proxy', 1)
  app.use(limiter as Limiter)
  app.get('/fail', (_request, response) => void response.status(500).send('failed'))
  app.get('/', (request, response) => {
    const { quota } = request as unknown as { quota?: { remaining: number } }
    response.send(`${quota?.remaining}`)
  })
  const { url, close } = await serve(createServer(app))
  const answers: unknown[] = []
  for (const [path = '/', headers = {}, pause = 0] of steps) {
    vi.setSystemTime(Date.now() + pause)
    const { status, headers: fields, body } = await get(url + path, headers)
    const draft = `${fields.ratelimit}`.replaceAll('; ', ';')
    const { 'retry-after': retryAfter, 'x-ratelimit-limit': limit, 'x-ratelimit-remaining': remaining } = fields
    answers.push({ status, retryAfter, limit, remaining, draft, body: status < 400 ? body : '' })
    await new Promise((resolve) => setImmediate(resolve)) // hits are taken back after the response
  }
  await close()
  vi.setSystemTime(Date.UTC(2026, 0, 1))
  return answers
}

const windows = (limit: number, countRefused = false) =>
  fixedWindow({ name: 'mine', limit, window: '1m', align: 'first-request', countRefused })
const store = () => memoryStore({ clock: wallClock })
const times = (count: number, step: Step = []): Step[] => Array.from({ length: count }, () => step)
const ann = { 'x-user': 'ann' }
const user = (request: Request) => request.get('x-user') ?? 'nobody'
const from = (address: string): Step => ['/', { 'x-forwarded-for': address }]
const failing = (): Store => faultyStore(memoryStore(), { clock: new ManualClock(), faults: [{ kind: 'error' }] })

const rows: Record<string, [there: Partial<Options>, here: () => unknown, steps: Step[]]> = {
  'windowMs, limit': [
    { limit: 2 },
    () => rateLimit({ policies: windows(2, true), store: store() }),
    [...times(4), [undefined, {}, 60_000]],
  ],
  'limit as a function': [
    { limit: (request) => (user(request) === 'ann' ? 3 : 1), keyGenerator: user },
    () =>
      rateLimit({
        policies: (request: Request) => windows(user(request) === 'ann' ? 3 : 1),
        keys: user,
        store: store(),
      }),
    [...times(2), ...times(4, ['/', ann])],
  ],
  keyGenerator: [
    { limit: 1, keyGenerator: user },
    () => rateLimit({ policies: windows(1), keys: user, store: store() }),
    [...times(2), ...times(2, ['/', ann])],
  ],
  ipv6Subnet: [
    { limit: 2, ipv6Subnet: 64 },
    () => rateLimit({ policies: windows(2), keys: byIp({ ipv6Prefix: 64 }), store: store() }),
    ['2001:db8::1', '2001:db8::2', '2001:db8::3', '2001:db8:0:1::1'].map(from),
  ],
  skip: [
    { limit: 1, skip: (request) => user(request) === 'ann' },
    () => rateLimit({ policies: windows(1), skip: (request) => user(request) === 'ann', store: store() }),
    [...times(2, ['/', ann]), ...times(2)],
  ],
  'skip, by keys that return false': [
    { limit: 1, skip: (request) => user(request) === 'ann' },
    () => rateLimit({ policies: windows(1), keys: (request) => user(request) !== 'ann' && 'all', store: store() }),
    [...times(2, ['/', ann]), ...times(2)],
  ],
  'statusCode, message': [
    { limit: 1, statusCode: 503, message: 'slow' },
    () =>
      rateLimit({
        policies: windows(1),
        refuse: (_decision, _request, response) => void response.status(503).send('slow'),
        store: store(),
      }),
    times(2),
  ],
  skipFailedRequests: [
    { limit: 2, skipFailedRequests: true },
    () => rateLimit({ policies: windows(2), count: 'successes', store: store() }),
    [...times(3, ['/fail']), ...times(3)],
  ],
  skipSuccessfulRequests: [
    { limit: 2, skipSuccessfulRequests: true },
    () => rateLimit({ policies: windows(2), count: 'failures', store: store() }),
    [...times(3), ...times(3, ['/fail'])],
  ],
  requestWasSuccessful: [
    { limit: 2, skipSuccessfulRequests: true, requestWasSuccessful: (request) => request.path === '/fail' },
    () => rateLimit({ policies: windows(2), count: (request) => request.path !== '/fail', store: store() }),
    [...times(3, ['/fail']), ...times(3)],
  ],
  requestPropertyName: [
    { limit: 2, requestPropertyName: 'quota' },
    () =>
      rateLimit({
        policies: windows(2),
        attach: (decision: RequestDecision, request: Request) => void Object.assign(request, { quota: decision }),
        store: store(),
      }),
    times(2),
  ],
  'standardHeaders, identifier': [
    { limit: 2, standardHeaders: 'draft-8', identifier: 'mine' },
    () => rateLimit({ policies: windows(2), headers: ['legacy', 'draft-8'], store: store() }),
    times(3),
  ],
  'legacyHeaders: false': [
    { limit: 1, legacyHeaders: false, standardHeaders: 'draft-7' },
    () => rateLimit({ policies: windows(1), headers: 'draft-7', store: store() }),
    times(2),
  ],
  passOnStoreError: [
    {
      passOnStoreError: true,
      logger: { error() {}, warn() {} },
      store: { increment: () => Promise.reject(new Error('down')), decrement() {}, resetKey() {} },
    },
    () => rateLimit({ policies: windows(5), onStoreError: 'open', headers: false, name: 'x', store: failing() }),
    times(2),
  ],
}

test('the partition key of draft-8, by a salt, which tells no address', async () => {
  const policyField = async (limiter: unknown) => {
    const app = express()
    app.use(limiter as Limiter)
    const { url, close } = await serve(createServer(app))
    const { headers } = await get(url)
    await close()
    return `${headers['ratelimit-policy']}`
  }
  const salted = { headers: { dialects: 'draft-8' as const, pk: { salt: 'a secret of some length' } } }
  expect(await policyField(original({ standardHeaders: 'draft-8', validate: false }))).toMatch(/pk=:[\w+/]{16}=*:$/)
  expect(await policyField(rateLimit({ policies: windows(5), store: store(), ...salted }))).toMatch(/;pk=:[\w+/]{12}:/)
})

test('a limit of 0 refuses everybody, without a time to come again', async () => {
  const [refused] = await play(rateLimit({ policies: windows(0), store: store() }), times(1))
  expect(refused).toMatchObject({ status: 429, retryAfter: undefined })
})

test.each(Object.entries(rows))('%s', async (_, [there, here, steps]) => {
  const expected = await play(original({ windowMs: 60_000, limit: 5, validate: false, ...there }), steps)
  expect(await play(here(), steps)).toEqual(expected)
})
