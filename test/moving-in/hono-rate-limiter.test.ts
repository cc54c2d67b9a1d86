/* Rows of docs/moving-in.md: an option of hono-rate-limiter, and the option that takes its place. */
import type { Server } from 'node:http'
import { createAdaptorServer } from '@hono/node-server'
import { type Context, Hono, type MiddlewareHandler } from 'hono'
import { type HonoConfigProps, rateLimiter } from 'hono-rate-limiter'
import { afterEach, beforeEach, expect, test, vi } from 'vitest'
import { type HonoMiddleware, type RateLimitVariables, rateLimit } from '../../adapters/hono.ts'
import { fixedWindow, memoryStore, type PlanLimiter, type RateLimiter, wallClock } from '../../src/index.ts'
import { get, serve } from '../support/frameworks.ts'

const start = Date.UTC(2026, 0, 1)
beforeEach(() => void vi.useFakeTimers({ now: start, toFake: ['Date'] }))
afterEach(() => void vi.useRealTimers())

/** What a request asks for: its path, who asks, and after how many milliseconds. */
type Step = readonly [path?: string | undefined, user?: string | undefined, pause?: number]
type Reads = (context: Context) => unknown

async function play(limiter: unknown, reads: Reads, steps: readonly Step[]): Promise<unknown[]> {
  const app = new Hono<{ Variables: RateLimitVariables }>()
  app.use(limiter as MiddlewareHandler)
  app.get('/fail', (context) => context.text('failed', 500))
  app.get('/reset', async (context) => {
    const { resetKey } = (context.get('rateLimitStore' as never) ?? {
      resetKey: (key: string) => (limiter as HonoMiddleware<RateLimiter>).limiter.reset(key),
    }) as { resetKey: (key: string) => Promise<void> }
    await resetKey(user(context))
    return context.text('forgotten')
  })
  app.get('/', (context) => context.text(`${reads(context)}`))
  const { url, close } = await serve(createAdaptorServer(app) as Server)
  const answers: unknown[] = []
  for (const [path = '/', user = 'nobody', pause = 0] of steps) {
    vi.setSystemTime(Date.now() + pause)
    const { status, headers, body } = await get(url + path, { 'x-user': user })
    const fields = Object.entries(headers).filter(([name]) => /^(ratelimit|retry)/.test(name))
    answers.push({ status, fields: Object.fromEntries(fields), body: status === 429 ? '' : body })
    await new Promise((resolve) => setImmediate(resolve)) // hits are taken back after the response
  }
  await close()
  vi.setSystemTime(start)
  return answers
}

const windows = (limit: number, countRefused = true) =>
  fixedWindow({ limit, window: '1m', align: 'first-request', countRefused })
const user = (context: Context) => context.req.header('x-user') ?? 'nobody'
const times = (count: number, step: Step = []): Step[] => Array.from({ length: count }, () => step)
const shared = () => ({ keys: user, store: memoryStore({ clock: wallClock }), headers: 'draft-6' as const })
/** What is left of the limit; undefined for a skipped request, which has no decision there, and an exempt one here. */
const left: Reads = (context) => {
  const { policy, remaining } = (context.get('rateLimit') ?? {}) as { policy?: string; remaining?: number }
  return policy === 'exempt' ? undefined : remaining
}

interface Row {
  readonly there: Partial<HonoConfigProps>
  readonly here: () => HonoMiddleware<RateLimiter | PlanLimiter>
  readonly steps: readonly Step[]
}

const rows: Record<string, Row> = {
  'windowMs, limit': {
    there: { limit: 2 },
    here: () => rateLimit({ policies: windows(2), ...shared() }),
    steps: [...times(4), [undefined, undefined, 59_500], [undefined, undefined, 500], ...times(2)],
  },
  'limit as a function': {
    there: { limit: (context) => (user(context) === 'ann' ? 3 : 1) },
    here: () => rateLimit({ policies: (context: Context) => windows(user(context) === 'ann' ? 3 : 1), ...shared() }),
    steps: [...times(2), ...times(4, ['/', 'ann'])],
  },
  'standardHeaders: draft-7': {
    there: { limit: 1, standardHeaders: 'draft-7' },
    here: () => rateLimit({ policies: windows(1), ...shared(), headers: 'draft-7' }),
    steps: times(2),
  },
  'message, statusCode': {
    there: { limit: 1, message: 'slow', statusCode: 503 },
    here: () => rateLimit({ policies: windows(1), refuse: (_decision, c) => c.text('slow', 503), ...shared() }),
    steps: times(2),
  },
  skip: {
    there: { limit: 1, skip: (context) => user(context) === 'ann' },
    here: () => rateLimit({ policies: windows(1), skip: (context) => user(context) === 'ann', ...shared() }),
    steps: [...times(2, ['/', 'ann']), ...times(2)],
  },
  skipFailedRequests: {
    there: { limit: 2, skipFailedRequests: true },
    here: () => rateLimit({ policies: windows(2, false), count: 'successes', ...shared() }),
    steps: [...times(3, ['/fail']), ...times(3)],
  },
  skipSuccessfulRequests: {
    there: { limit: 2, skipSuccessfulRequests: true },
    here: () => rateLimit({ policies: windows(2, false), count: 'failures', ...shared() }),
    steps: [...times(3), ...times(2, ['/fail'])],
  },
  requestWasSuccessful: {
    there: { limit: 2, skipSuccessfulRequests: true, requestWasSuccessful: (context) => context.req.path === '/fail' },
    here: () =>
      rateLimit({
        policies: windows(2, false),
        count: (context: Context) => context.req.path !== '/fail',
        ...shared(),
      }),
    steps: [...times(3, ['/fail']), ...times(3)],
  },
  requestStorePropertyName: {
    there: { limit: 2 },
    here: () => rateLimit({ policies: windows(2), ...shared() }),
    steps: [[], ['/reset'], ...times(3)],
  },
}

test.each(Object.entries(rows))('%s', async (_, { there, here, steps }) => {
  const expected = await play(rateLimiter({ keyGenerator: user, ...there } as never), left, steps)
  expect(await play(here(), left, steps)).toEqual(expected)
  expect(expected).toHaveLength(steps.length)
})
