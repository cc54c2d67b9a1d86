/* Rows of docs/moving-in.md: an option of koa-ratelimit, and what takes its place. */
import { createServer } from 'node:http'
import Koa, { type Context, type Middleware } from 'koa'
import { afterAll, beforeAll, expect, test, vi } from 'vitest'
import type { MiddlewareOptions } from '../../adapters/compat/koa-ratelimit.ts'
import { rateLimit } from '../../adapters/koa.ts'
import { fixedWindow, memoryStore, wallClock } from '../../src/index.ts'
import { get, serve } from '../support/frameworks.ts'

let original: (options: MiddlewareOptions) => Middleware
beforeAll(async () => {
  // It reads both clocks when it is loaded.
  vi.useFakeTimers({ now: Date.UTC(2026, 0, 1), toFake: ['Date', 'hrtime'] })
  original = (await import('koa-ratelimit' as string)).default
})
afterAll(() => void vi.useRealTimers())

interface Step {
  readonly user?: string
  readonly pause?: number
}

const times = (count: number, step: Step = {}): Step[] => Array.from({ length: count }, () => step)

/** The status of each answer, its fields, and the body of a refusal. */
async function play(limiter: unknown, steps: readonly Step[]): Promise<string[]> {
  const app = new Koa()
  app.silent = true
  app.use(limiter as Middleware)
  app.use((context) => {
    context.body = 'hello'
  })
  const { url, close } = await serve(createServer(app.callback()))
  const answers: string[] = []
  for (const { user = '', pause = 0 } of steps) {
    vi.advanceTimersByTime(pause)
    const { status, headers, body } = await get(url, { 'x-user': user })
    const names = ['x-ratelimit-limit', 'x-total', 'x-ratelimit-remaining', 'retry-after', 'x-limited']
    const fields = names.map((name) => headers[name] ?? '-').join(' ')
    answers.push(`${status} ${fields} ${status === 200 || status === 503 ? body : ''}`)
  }
  await close()
  return answers
}

const windows = (limit: number) => fixedWindow({ limit, window: '1m', align: 'first-request' })
const shared = () => ({ store: memoryStore({ clock: wallClock }) })
const user = (context: Context) => context.get('x-user') || false
const both = [...times(2, { user: 'ann' }), ...times(2, { user: 'bob' }), ...times(2)]

const rows: Record<string, [there: MiddlewareOptions, here: () => unknown, steps: Step[]]> = {
  'duration, max': [
    { max: 2 },
    () => rateLimit({ policies: windows(2), ...shared() }),
    [...times(3), { pause: 59_000 }, { pause: 2000 }],
  ],
  id: [{ max: 1, id: user }, () => rateLimit({ policies: windows(1), keys: user, ...shared() }), both],
  whitelist: [
    { max: 1, whitelist: (context) => user(context) === 'ann' },
    () => rateLimit({ policies: windows(1), skip: (context) => user(context) === 'ann', ...shared() }),
    both,
  ],
  blacklist: [
    { max: 1, blacklist: (context) => user(context) === 'bob' },
    () => rateLimit({ policies: windows(1), deny: (context) => user(context) === 'bob', ...shared() }),
    both,
  ],
  headers: [
    { max: 1, headers: { total: 'X-Total' } },
    () => rateLimit({ policies: windows(1), headers: { legacy: { limit: 'X-Total' } }, ...shared() }),
    times(2),
  ],
  disableHeader: [
    { max: 1, disableHeader: true },
    () => rateLimit({ policies: windows(1), headers: false, ...shared() }),
    times(2),
  ],
  'errorMessage, status': [
    { max: 1, errorMessage: 'slow', status: 503 },
    () =>
      rateLimit({
        policies: windows(1),
        refuse: (_decision, context) => void Object.assign(context, { status: 503, body: 'slow' }),
        ...shared(),
      }),
    times(2),
  ],
  throw: [
    { max: 1, throw: true, disableHeader: true },
    () =>
      rateLimit({
        policies: windows(1),
        refuse: ({ retryAfter }, context) => {
          context.throw(429, 'slow', { headers: { 'Retry-After': `${Math.ceil(retryAfter / 1000)}` } })
        },
        headers: false,
        ...shared(),
      }),
    times(2),
  ],
  onLimited: [
    { max: 1, onLimited: (context) => context.set('X-Limited', 'yes') },
    () =>
      rateLimit({
        policies: windows(1),
        onRefused: ({ response }) => response.set('X-Limited', 'yes'),
        ...shared(),
      }),
    times(2),
  ],
}

test.each(Object.entries(rows))('%s', async (_, [there, here, steps]) => {
  const expected = await play(original({ driver: 'memory', db: new Map(), duration: 60_000, ...there }), steps)
  expect(await play(here(), steps)).toEqual(expected)
})
