import { expect, test } from 'vitest'
import { rateLimit } from '../../../adapters/express.ts'
import { rateLimit as forFetch } from '../../../adapters/fetch.ts'
import { extractKey } from '../../../src/http/keys/extract-key.ts'
import {
  byHeader,
  byIp,
  combine,
  fixedWindow,
  type KeyExtractor,
  RateLimiter,
  type RequestView,
} from '../../../src/index.ts'
import fc from '../../support/fast-check.ts'

type Request = { address?: string; headers: Record<string, string> }

const view: RequestView<Request> = {
  address: ({ address }) => address,
  peer: ({ address }) => address,
  trustsProxy: () => true,
  param: () => undefined,
  header: ({ headers }, name) => headers[name],
  route: () => 'GET /',
}

const key = (extractor: KeyExtractor<Request>, request: Partial<Request>) =>
  extractKey(extractor, { headers: {}, ...request }, view)

test('the address replaces a missing key, marked so that no client can send its text', () => {
  const address = '192.0.2.1'
  expect(key(byHeader('X-Key'), { address, headers: { 'x-key': 'abc' } })).toBe('abc')
  expect(key(byHeader('x-key'), { address })).toBe('~192.0.2.1')
  expect(key(byHeader('x-key'), { address, headers: { 'x-key': '~192.0.2.1' } })).toBe('~~192.0.2.1')
  expect(key(byIp(), { address })).toBe('192.0.2.1')
  expect(key(byIp(), {})).toBe('~')
  expect(key(() => 42, {})).toBe('42')
  expect(key(() => null, { address })).toBe('~192.0.2.1')
})

test('ipv6Prefix says how many bits name a client', () => {
  const address = '2001:db8:1:2ff::1'
  expect(key(byIp({ ipv6Prefix: 64 }), { address })).toBe('2001:db8:1:2ff::/64')
  expect(key(byIp({ ipv6Prefix: 128 }), { address })).toBe('2001:db8:1:2ff:0:0:0:1')
})

test('combine gives different keys for different inputs, missing parts included', () => {
  const part = fc.option(fc.string({ unit: fc.constantFrom('|', '\\', '~', 'a', '1'), maxLength: 4 }), {
    nil: undefined,
  })
  const both = (a: string | undefined, b: string | undefined) =>
    key(
      combine(
        () => a,
        () => b,
      ),
      { address: '1' },
    )
  // An empty text counts as missing.
  const same = (a: string | undefined, b: string | undefined) => (a ?? '') === (b ?? '')
  fc.assert(
    fc.property(part, part, part, part, (a, b, c, d) => {
      expect(both(a, b) === both(c, d)).toBe(same(a, c) && same(b, d))
    }),
    { numRuns: 2000 },
  )
})

test('no rejection of an extractor is left unobserved, which would end the process', async ({ onTestFinished }) => {
  const unhandled: unknown[] = []
  const note = (reason: unknown) => unhandled.push(reason)
  process.on('unhandledRejection', note)
  onTestFinished(() => void process.off('unhandledRejection', note))
  const late = () => Promise.reject(new Error('late'))
  const now = () => {
    throw new Error('now')
  }
  const scoped = ['tenant', 'user'].map((scope) => fixedWindow({ name: scope, limit: 9, window: '1m', scope }))
  const asksInVain = (_request: unknown, _context: unknown, ask: () => unknown) => {
    ask()
    return true
  }
  const limits = [
    forFetch({ policies: '9/1m', keys: combine<unknown, unknown>(late, now) }),
    forFetch({ policies: '9/1m', keys: combine<unknown, unknown>(late, late, now) }),
    forFetch({ policies: scoped, keys: { tenant: late, user: now } }),
    forFetch({ policies: '9/1m', keys: late, skip: asksInVain }),
    forFetch({ policies: '9/1m', keys: late, deny: (...all) => asksInVain(...all) && now() }),
  ]
  const errors = limits.map((limit) =>
    Promise.resolve()
      .then(() => limit(new Request('http://a/')))
      .then(() => 'admitted')
      .catch((error: Error) => (error.cause as Error | undefined)?.message ?? error.message),
  )
  expect(await Promise.all(errors)).toEqual(['now', 'now', 'now', 'admitted', 'now'])
  await new Promise((resolve) => setImmediate(resolve))
  expect(unhandled).toEqual([])
})

test('combine waits for asynchronous parts', async () => {
  expect(
    await key(
      combine(
        async () => 'a',
        () => 'b',
      ),
      {},
    ),
  ).toBe('a|b')
})

test.each([
  ['a header name with a blank', () => byHeader('x key')],
  ['a prefix of 0 bits', () => byIp({ ipv6Prefix: 0 })],
  ['a number for the options of byIp', () => byIp(64 as never)],
  ['an unknown option of byIp', () => byIp({ ipv4Prefix: 24 } as never)],
  ['nothing to combine', () => combine()],
  ['a scope without an extractor', () => rateLimit({ policies: { limit: 1, window: '1s', scope: 'user' } })],
  ['an extractor for a scope that does not exist', () => rateLimit({ policies: '1/1s', keys: { usr: byIp() } })],
  ['an unknown dialect', () => rateLimit({ policies: '1/1s', headers: 'draft-99' as never })],
  ['an unknown dialect in a list', () => rateLimit({ policies: '1/1s', headers: ['legacy', 'x'] as never })],
  ['headers: true', () => rateLimit({ policies: '1/1s', headers: true as never })],
  ['an unknown option', () => rateLimit({ limit: 1, window: '1s', max: 5 } as never)],
  ['an unknown option beside a text', () => rateLimit('1/1s', { max: 5 } as never)],
  [
    'a limiter and policies',
    () => rateLimit({ limiter: new RateLimiter({ policies: '1/1s' }), policies: '1/1s' } as never),
  ],
  ['a limiter that is not a RateLimiter', () => rateLimit({ limiter: {} } as never)],
  ['a refuse that is not a function', () => rateLimit('1/1s', { refuse: 'no' } as never)],
])('%s throws at construction', (_what, make) => {
  expect(make).toThrow(expect.objectContaining({ name: 'HeadgateError', code: 'HEADGATE_OPTION' }))
})

test.each([undefined, null, 5, []])('rateLimit(%j) throws and says what it takes', (what) => {
  expect(() => rateLimit(what as never)).toThrow(expect.objectContaining({ name: 'HeadgateError' }))
})
