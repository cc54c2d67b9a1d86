import { expect, test } from 'vitest'
import { rateLimit } from '../../adapters/express.ts'
import { Enforcement } from '../../src/http/enforced-share.ts'
import { byHeader, RateLimiter } from '../../src/index.ts'
import { contract, statuses } from '../support/contract.ts'
import { get } from '../support/frameworks.ts'

contract((app) => {
  test('enforce: 0 decides and gives the application the decision, but refuses no request', async () => {
    for (const limit of [
      { limit: 1, window: '1h', enforce: 0 },
      { policies: '1/1h', enforce: 0 },
      { policies: '1/1h token-bucket', enforce: 0, delay: { max: '1s' }, count: 'failures', settle: true },
    ]) {
      const { url, decision } = await app(limit, { handle: () => 404 })
      expect(await statuses(url, [{}])).toEqual([404])
      const { status, headers } = await get(url)
      expect([status, headers['retry-after'], headers['x-ratelimit-limit']]).toEqual([404, undefined, undefined])
      if (!('count' in limit)) expect(decision()).toMatchObject({ allowed: false, remaining: 0 })
    }
    const reporting = await app({ limit: 1, window: '1h', enforce: 0, headers: 'legacy' })
    expect((await get(reporting.url)).headers['x-ratelimit-limit']).toBe('1')
  })

  test('enforce applies the limit to a stable share of the keys', async () => {
    const { url } = await app({ limit: 1, window: '1h', keys: byHeader('x-key'), enforce: 0.5 })
    const share = new Enforcement(0.5)
    for (const key of ['ann', 'bob', 'cid', 'dan', 'eve', 'fay']) {
      const header = { 'x-key': key }
      expect(await statuses(url, [header, header])).toEqual([200, share.appliesTo(key) ? 429 : 200])
    }
  })
})

test('enforce: 0.1 applies to about a tenth of any kind of keys, and all of them are within 0.2', () => {
  const tenth = new Enforcement(0.1)
  const fifth = new Enforcement(0.2)
  const kinds = [(n: number) => `10.0.${n >> 8}.${n & 255}`, (n: number) => `user-${n}`, (n: number) => String(n)]
  for (const kind of kinds) {
    const keys = Array.from({ length: 10_000 }, (_, n) => kind(n))
    const enforced = keys.filter((key) => tenth.appliesTo(key))
    expect(enforced.length).toBeGreaterThan(850)
    expect(enforced.length).toBeLessThan(1150)
    expect(enforced.every((key) => fifth.appliesTo(key))).toBe(true)
  }
  expect(tenth.appliesTo({ user: 'a', default: 'b' })).toBe(tenth.appliesTo({ default: 'b', user: 'a' }))
})

test('enforce defaults to all keys; 0 means none', () => {
  const keys = Array.from({ length: 1000 }, (_, n) => `k${n}`)
  expect(keys.every((key) => new Enforcement(undefined).appliesTo(key))).toBe(true)
  expect(keys.some((key) => new Enforcement(0).appliesTo(key))).toBe(false)
})

test.each([{ enforce: 1.1 }, { enforce: -0.1 }, { enforce: Number.NaN }, { enforce: '0.1' }])(
  '%j throws at construction',
  (options) => {
    expect(() => rateLimit('1/1h', options as never)).toThrow(expect.objectContaining({ code: 'HEADGATE_OPTION' }))
  },
)

test.each([
  ['beside a text', () => rateLimit('1/1h', { shadow: true } as never)],
  ['in a policy', () => rateLimit({ limit: 1, window: '1h', shadow: true } as never)],
  ['beside policies', () => rateLimit({ policies: '1/1h', shadow: false } as never)],
  ['beside a limiter', () => rateLimit({ limiter: new RateLimiter({ policies: '1/1h' }), shadow: true } as never)],
])('shadow %s throws, and the message says what to write', (_where, make) => {
  expect(make).toThrow(/rateLimit has no option "shadow"\. Write enforce: 0 to decide/)
})
