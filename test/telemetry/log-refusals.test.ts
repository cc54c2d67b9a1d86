import { channel } from 'node:diagnostics_channel'
import { setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'
import { afterEach, expect, test, vi } from 'vitest'
import { forgetWarnings } from '../../src/common/warn.ts'
import { fixedWindow, type LogRefusalsOptions, logRefusals, memoryStore, RateLimiter } from '../../src/index.ts'
import { ManualClock } from '../../src/testing/index.ts'
import { FailingStore } from '../support/failing-store.ts'

let stop: (() => void) | undefined
afterEach(() => stop?.())

const time = new ManualClock()
const store = memoryStore({ clock: time.now })
const policies = fixedWindow({ name: 'hour', limit: 1, window: '1h' })
let made = 0

/** A limiter of one call an hour, and the lines about it. */
function fixture(options: Partial<LogRefusalsOptions> = {}) {
  const lines: [fields: Record<string, unknown>, message: string][] = []
  const logger = { warn: (fields: object, message: string) => void lines.push([{ ...fields }, message]) }
  stop = logRefusals({ logger, clock: time.now, key: 'plain', ...options })
  const limiter = new RateLimiter({ name: `api ${made++}`, policies, store })
  return { limiter, lines, fields: () => lines.map(([fields]) => fields) }
}

test('the first refusal of a key is logged at once, then one in each interval with their count', async () => {
  const { limiter, lines, fields } = fixture()
  for (let n = 0; n < 5; n++) await limiter.consume('ann')
  expect(lines).toEqual([
    [
      {
        limiter: limiter.name,
        policy: 'hour',
        result: 'refused',
        key: 'ann',
        cost: 1,
        limit: 1,
        retryAfter: expect.any(Number),
        refusals: 1,
      },
      'rate limit: refused',
    ],
  ])
  await time.advance(9_999)
  await limiter.consume('ann')
  expect(lines).toHaveLength(1)
  await time.advance(1)
  await limiter.consume('ann')
  await limiter.consume('ann')
  expect(fields().map(({ refusals }) => refusals)).toEqual([1, 5])
})

test('a flood of keys writes no more than maxLines, and says how many it left out', async () => {
  const { limiter, fields } = fixture({ maxLines: 3 })
  for (let n = 0; n < 50; n++) for (let call = 0; call < 3; call++) await limiter.consume(`key ${n}`)
  expect(fields()).toHaveLength(3)
  await time.advance(10_000)
  await limiter.consume('key 0')
  expect(fields().map(({ refusals, unlogged }) => [refusals, unlogged])).toEqual([
    [1, undefined],
    [1, undefined],
    [1, undefined],
    [2, 94],
  ])
})

test('a flood of huge keys does not fill the memory, and each key is told apart', async () => {
  setFlagsFromString('--expose-gc')
  const gc: () => void = runInNewContext('gc')
  const { limiter, fields } = fixture({ key: 'none', maxLines: 1000 })
  const huge = (n: number) => Buffer.alloc(100_000, 'k').toString('latin1') + n
  const refuse = async (n: number) => {
    for (let call = 0; call < 2; call++) await limiter.consume(huge(n))
  }
  await refuse(0)
  gc()
  const before = process.memoryUsage().heapUsed
  for (let n = 1; n < 60; n++) await refuse(n)
  gc()
  expect(process.memoryUsage().heapUsed - before).toBeLessThan(3_000_000)
  expect(fields()).toHaveLength(60)
})

test('by default a key is shown as a keyed hash that differs between processes', async () => {
  const shown = async (options: Partial<LogRefusalsOptions>) => {
    const { limiter, lines, fields } = fixture({ ...options })
    for (let n = 0; n < 2; n++) await limiter.consume('sk-secret')
    stop?.()
    expect(JSON.stringify(lines)).not.toContain('sk-secret')
    return fields()[0]?.key as string
  }
  const first = await shown({ key: 'hash' })
  expect(first).toMatch(/^#[\w+/]{12}$/)
  expect(await shown({ key: 'hash' })).not.toBe(first)
  expect(await shown({ key: 'hash', secret: 's' })).toBe(await shown({ key: 'hash', secret: 's' }))
  expect(await shown({ key: 'none' })).toBeUndefined()
})

test('a record of keys is shown by scope', async () => {
  const { lines, fields } = fixture({ key: 'hash' })
  const user = fixedWindow({ name: 'user', limit: 1, window: '1h', scope: 'user' })
  const limiter = new RateLimiter({ name: 'scopes', policies: [policies, user], store })
  for (let n = 0; n < 2; n++) await limiter.consume({ default: 'a', user: 'u' })
  expect(Object.keys(fields()[0]?.key as object)).toEqual(['default', 'user'])
  expect(lines).toHaveLength(1)
})

test('errors of the store are logged, with the console or with a function', async () => {
  const failing = new FailingStore(time)
  failing.mode = 'fails'
  const limiter = new RateLimiter({ name: 'failing', policies, store: failing, onStoreError: 'closed' })
  const lines: unknown[] = []
  fixture({ logger: (fields, message) => lines.push([message, fields]) })
  await limiter.consume('ann').catch(() => undefined)
  expect(lines).toEqual([
    ['rate limit: the store failed', { limiter: 'failing', result: 'error', key: 'ann', cost: 1, refusals: 1 }],
  ])
  stop?.()
  const warn = vi.spyOn(console, 'warn').mockImplementation(() => {})
  fixture({ logger: console })
  await limiter.consume('bob').catch(() => undefined)
  expect(warn).toHaveBeenCalledOnce()
  warn.mockRestore()
})

test('the console prints a refusal as one line, whatever the key', async () => {
  const printed = vi.spyOn(console, 'warn').mockImplementation(() => {})
  const { limiter } = fixture({ logger: console })
  for (let n = 0; n < 2; n++) await limiter.consume('ann\nann')
  const fields = `{"limiter":"${limiter.name}","policy":"hour","result":"refused","key":"ann\\nann","cost":1,"limit":1,`
  expect(printed.mock.calls).toEqual([[expect.stringContaining(`rate limit: refused ${fields}`)]])
  expect(printed.mock.calls[0]?.[0]).not.toContain('\n')
})

test('a logger that throws breaks no call, and stopping removes the listener', async () => {
  const { limiter } = fixture({
    logger() {
      throw new Error('disk full')
    },
  })
  for (let n = 0; n < 3; n++) await limiter.consume('ann')
  stop?.()
  expect(channel('headgate:limiter:call').hasSubscribers).toBe(false)
})

test('a key that is banned by hand is logged as such, with the reason', async () => {
  const { limiter, lines } = fixture()
  await limiter.ban('ann', '1h', { reason: 'scans' })
  await limiter.consume('ann')
  expect(lines).toMatchObject([
    [{ policy: 'ban', result: 'banned', key: 'ann', retryAfter: 3_600_000, reason: 'scans' }, 'rate limit: banned'],
  ])
})

test('a logger that fails later is a warning, once, and no unhandled rejection', async () => {
  forgetWarnings()
  const warned = vi.spyOn(process, 'emitWarning').mockImplementation(() => {})
  const unhandled = vi.fn()
  process.on('unhandledRejection', unhandled)
  const { limiter } = fixture({
    async logger() {
      throw new Error('disk full')
    },
  })
  for (const key of ['ann', 'bob', 'eve']) for (let n = 0; n < 2; n++) await limiter.consume(key)
  await new Promise(setImmediate)
  expect(unhandled).not.toHaveBeenCalled()
  expect(warned.mock.calls).toEqual([
    [
      'The logger of logRefusals failed, so refusals are not logged. Error: disk full',
      { type: 'HeadgateWarning', code: 'HEADGATE_HOOK' },
    ],
  ])
  process.off('unhandledRejection', unhandled)
  warned.mockRestore()
})

test.each([
  [undefined, 'takes an object of options'],
  [{}, 'logger must be a logger with warn(), or a function'],
  [{ logger: {} }, 'logger must be'],
  [{ logger: console, sample: 0 }, 'sample'],
  [{ logger: console, maxLines: 0 }, 'maxLines'],
  [{ logger: console, key: 'md5' }, "'hash', 'plain' or 'none'"],
  [{ logger: console, secret: '' }, 'secret'],
  [{ logger: console, level: 'info' }, 'no option "level"'],
])('refuses %j', (options, message) => {
  expect(() => logRefusals(options as never)).toThrow(message)
  expect(channel('headgate:limiter:call').hasSubscribers).toBe(false)
})
