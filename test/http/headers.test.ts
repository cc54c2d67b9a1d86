import Negotiator from 'negotiator'
import { parseList } from 'structured-headers'
import { expect, test, vi } from 'vitest'
import { rateLimit } from '../../adapters/express.ts'
import {
  byCookie,
  byHeader,
  byRoute,
  combine,
  fixedWindow,
  memoryStore,
  RateLimiter,
  slidingWindow,
  tokenBucket,
} from '../../src/index.ts'
import { contract, midnight, statuses, stillStore } from '../support/contract.ts'
import { get } from '../support/frameworks.ts'

const policies = [
  fixedWindow({ name: 'minute', limit: 2, window: '1m' }),
  fixedWindow({ name: 'da"y\\', limit: 1000, window: '1d' }),
  slidingWindow({ name: 'trial', limit: 1, window: '1s', shadow: true }),
]
const fields = (headers: Record<string, unknown>) =>
  Object.fromEntries(Object.entries(headers).filter(([name]) => /rate-?limit|quota/.test(name)))

contract((app) => {
  test.each([
    [
      'legacy',
      { 'x-ratelimit-limit': '2', 'x-ratelimit-remaining': '1', 'x-ratelimit-reset': `${midnight / 1000 + 60}` },
    ],
    [
      'draft-6',
      {
        'ratelimit-policy': '2;w=60, 1000;w=86400',
        'ratelimit-limit': '2',
        'ratelimit-remaining': '1',
        'ratelimit-reset': '60',
      },
    ],
    ['draft-7', { 'ratelimit-policy': '2;w=60, 1000;w=86400', ratelimit: 'limit=2, remaining=1, reset=60' }],
    [
      'draft-8',
      {
        'ratelimit-policy': '"minute";q=2;w=60, "da\\"y\\\\";q=1000;w=86400',
        ratelimit: '"minute";r=1;t=60, "da\\"y\\\\";r=999;t=86400',
      },
    ],
    [
      'draft-11',
      {
        'ratelimit-policy': '"minute";q=2;w=60, "da\\"y\\\\";q=1000;w=86400',
        ratelimit: '"minute";r=1;t=60, "da\\"y\\\\";r=999;t=86400',
      },
    ],
  ])('the fields of %s', async (headers, expected) => {
    const { url } = await app({ policies, headers, store: stillStore().store })
    expect(fields((await get(url)).headers)).toEqual(expected)
  })

  test.each([
    [
      'legacy',
      { 'x-ratelimit-limit': '9', 'x-ratelimit-remaining': '8', 'x-ratelimit-reset': `${midnight / 1000 + 60}` },
    ],
    [
      'draft-6',
      {
        'ratelimit-policy': '9;w=60',
        'ratelimit-limit': '9',
        'ratelimit-remaining': '8',
        'ratelimit-reset': '60',
      },
    ],
    ['draft-7', { 'ratelimit-policy': '9;w=60', ratelimit: 'limit=9, remaining=8, reset=60' }],
    [
      'draft-8',
      {
        'ratelimit-policy': '"at-once";q=4;qu="concurrent-requests", "1m";q=9;w=60',
        ratelimit: '"at-once";r=3, "1m";r=8;t=60',
      },
    ],
    [
      'draft-11',
      {
        'ratelimit-policy': '"at-once";q=4;qu="concurrent-requests", "1m";q=9;w=60',
        ratelimit: '"at-once";r=3, "1m";r=8;t=60',
      },
    ],
  ])('units in flight have no window: %s', async (headers, expected) => {
    const limits = ['4 at once lease 1h', fixedWindow({ limit: 9, window: '1m' })]
    const { url } = await app({ policies: limits, headers, store: stillStore().store })
    const seen = fields((await get(url)).headers)
    expect(seen).toEqual(expected)
    for (const list of Object.values(seen).map(String))
      if (list.startsWith('"')) expect(() => parseList(list)).not.toThrow()
  })

  test.each([
    ['legacy', {}],
    ['draft-7', {}],
    ['draft-11', { 'ratelimit-policy': '"at-once";q=4;qu="concurrent-requests"', ratelimit: '"at-once";r=3' }],
    [
      ['legacy', 'draft-8'],
      { 'ratelimit-policy': '"at-once";q=4;qu="concurrent-requests"', ratelimit: '"at-once";r=3' },
    ],
    [{ dialects: 'legacy', near: true }, {}],
  ])('only units in flight: %j', async (headers, expected) => {
    const { url } = await app({ policies: '4 at once', headers, store: stillStore().store })
    expect(fields((await get(url)).headers)).toEqual(expected)
  })

  test('a refusal for units in flight says when the first lease ends, and the fields of windows stay true', async () => {
    const { store, clock } = stillStore()
    const limits = ['1 at once lease 20s', fixedWindow({ limit: 9, window: '1m' })]
    const limiter = new RateLimiter({ policies: limits, store })
    const { url } = await app({ limiter, keys: () => 'k', problem: true, headers: ['legacy', 'draft-8'] })
    await limiter.reserve('k')
    clock.advance('5s')
    const { status, headers, body } = await get(url)
    expect([status, headers['retry-after']]).toEqual([429, '15'])
    expect(fields(headers)).toEqual({
      'x-ratelimit-limit': '9',
      'x-ratelimit-remaining': '8',
      'x-ratelimit-reset': `${midnight / 1000 + 60}`,
      'ratelimit-policy': '"at-once";q=1;qu="concurrent-requests", "1m";q=9;w=60',
      ratelimit: '"at-once";r=0, "1m";r=8;t=55',
    })
    expect(JSON.parse(body)).toMatchObject({ status: 429, 'violated-policies': ['at-once'] })
  })

  test('two dialects at once; legacy fields with other names, and a reset in seconds from now', async () => {
    const legacy = { limit: 'X-Quota', remaining: 'X-Quota-Left', reset: 'X-Quota-Reset', resetAs: 'delta' }
    const { url } = await app({
      policies,
      headers: { dialects: ['legacy', 'draft-7'], legacy },
      store: stillStore().store,
    })
    expect(fields((await get(url)).headers)).toEqual({
      'x-quota': '2',
      'x-quota-left': '1',
      'x-quota-reset': '60',
      'ratelimit-policy': '2;w=60, 1000;w=86400',
      ratelimit: 'limit=2, remaining=1, reset=60',
    })
  })

  test('pk distinguishes partitions by scope, and depends on the salt', async () => {
    const own = [fixedWindow({ name: 'all', limit: 9, window: '1m', scope: 'user' }), ...policies]
    const keys = { default: byHeader('x-key'), user: byHeader('x-user') }
    const seen = async (salt: string, who: Record<string, string>) => {
      const { url } = await app({ policies: own, keys, headers: { dialects: 'draft-8', pk: { salt } } })
      const { headers } = await get(url, who)
      const policyKeys = [...String(headers['ratelimit-policy']).matchAll(/;pk=:([\w+/=]+):/g)].map((match) => match[1])
      const left = [...String(headers.ratelimit).matchAll(/;pk=:([\w+/=]+):/g)].map((match) => match[1])
      expect(left).toEqual(policyKeys)
      return left
    }
    const ann = { 'x-key': 'k', 'x-user': 'ann' }
    const [all, minute, day] = await seen('a secret of ours', ann)
    expect(minute).toBe(day)
    expect(minute).not.toBe(all)
    expect(await seen('a secret of ours', ann)).toEqual([all, minute, day])
    const [other, same] = await seen('a secret of ours', { 'x-key': 'k', 'x-user': 'bob' })
    expect([other === all, same === minute]).toEqual([false, true])
    expect(await seen('another secret..', ann)).not.toContain(all)
  })

  test('near: fields appear once 80 per cent is used, and on a refusal', async () => {
    for (const headers of ['near', { dialects: ['legacy', 'draft-11'], near: true }]) {
      const { url } = await app({ policies: fixedWindow({ limit: 10, window: '1h' }), headers })
      const seen: unknown[] = []
      for (let n = 0; n < 11; n++) seen.push((await get(url)).headers['x-ratelimit-remaining'] ?? '-')
      expect(seen).toEqual(['-', '-', '-', '-', '-', '-', '-', '2', '1', '0', '0'])
    }
  })

  test('near looks at the burst of a bucket, and at every enforced policy', async () => {
    const both = [
      tokenBucket({ name: 'b', limit: 1, window: '1h', burst: 5 }),
      fixedWindow({ limit: 99, window: '1h' }),
    ]
    const { url } = await app({ policies: both, headers: { near: true } })
    const seen: unknown[] = []
    for (let n = 0; n < 4; n++) seen.push((await get(url)).headers['x-ratelimit-remaining'] ?? '-')
    expect(seen).toEqual(['-', '-', '-', '1'])
  })

  test('a label is what clients see in place of the name', async () => {
    const labelled = [
      fixedWindow({ name: 'v2-minute', label: 'minute', limit: 1, window: '1m' }),
      fixedWindow({ name: 'trial', label: 'minute', limit: 9, window: '1m', shadow: true }),
    ]
    const { url, decision } = await app({ policies: labelled, headers: 'draft-11', problem: true })
    expect((await get(url)).headers).toMatchObject({
      'ratelimit-policy': '"minute";q=1;w=60',
      ratelimit: expect.stringMatching(/^"minute";r=0/),
    })
    expect(decision()?.policy).toBe('v2-minute')
    expect(JSON.parse((await get(url)).body)['violated-policies']).toEqual(['minute'])
    const json = await app({ limit: 1, window: '1m', name: 'v2-minute', label: 'minute' })
    await get(json.url)
    expect(JSON.parse((await get(json.url, { accept: 'application/json' })).body).policy).toBe('minute')
  })

  test('a limit of 0 refuses everybody, without Retry-After', async () => {
    const store = stillStore()
    const expected: [string, Record<string, string>][] = [
      ['legacy', { 'x-ratelimit-limit': '0', 'x-ratelimit-remaining': '0', 'x-ratelimit-reset': `${midnight / 1000}` }],
      ['draft-7', { 'ratelimit-policy': '0;w=3600', ratelimit: 'limit=0, remaining=0, reset=0' }],
      ['draft-11', { 'ratelimit-policy': '"1h";q=0;w=3600', ratelimit: '"1h";r=0' }],
    ]
    for (const [headers, seen] of expected) {
      const { url, handled } = await app({ policies: '0/1h', headers, store: store.store })
      const refused = await get(url)
      expect([refused.status, handled(), refused.headers['retry-after']]).toEqual([429, 0, undefined])
      expect(fields(refused.headers)).toEqual(seen)
      expect(refused.body).toBe('Too many requests: this limit admits nobody.\n')
    }
  })

  test.each([
    ['1h', '3600', /Too many requests\. Try again in 3600 seconds\.["\n]/],
    [Infinity, undefined, /Too many requests\.["\n]/],
  ])('a ban for %s: nothing is left, also beside units in flight', async (duration, retryAfter, message) => {
    const { store } = stillStore()
    const limiter = new RateLimiter({ policies: ['5/2h fixed-window', '2 at once'], store })
    await limiter.ban('k', duration)
    for (const [dialect, left] of [
      ['legacy', { 'x-ratelimit-limit': '5', 'x-ratelimit-remaining': '0' }],
      ['draft-6', { 'ratelimit-limit': '5', 'ratelimit-remaining': '0' }],
      ['draft-7', { ratelimit: `limit=5, remaining=0, reset=${retryAfter ?? 0}` }],
    ] as const) {
      const { url } = await app({ limiter, keys: () => 'k', headers: dialect })
      const { status, headers, body } = await get(url)
      expect([status, headers['retry-after']]).toEqual([429, retryAfter])
      expect(headers).toMatchObject(left)
      expect(body).toMatch(message)
    }
  })

  test('the epoch of the legacy reset follows the wall clock, and decisions do not', async () => {
    const { url } = await app({ policies: '2/1h token-bucket', headers: 'legacy' })
    await get(url)
    const now = Date.now()
    const clock = vi.spyOn(Date, 'now').mockImplementation(() => now + 7_200_000)
    try {
      const { headers } = await get(url)
      const reset = Number(headers['x-ratelimit-reset']) - (now + 7_200_000) / 1000
      expect([headers['x-ratelimit-remaining'], reset > 3590 && reset < 3602]).toEqual(['0', true])
      clock.mockImplementation(() => now - 7_200_000)
      const { status, headers: back } = await get(url)
      expect(status).toBe(429)
      expect(Math.abs(Number(back['x-ratelimit-reset']) - now / 1000 + 3600)).toBeLessThan(12)
    } finally {
      clock.mockRestore()
    }
  })

  test.each(['draft-6', 'draft-7', 'draft-8', 'draft-11'])(
    '%s writes Integers of at most 15 digits',
    async (headers) => {
      const huge = tokenBucket({ limit: 1_024_000 * 8_000_000_000, window: 1024 })
      const { url } = await app({ policies: huge, headers })
      const text = Object.values(fields((await get(url)).headers)).join(' ')
      expect(text).toContain('999999999999999')
      expect(text).not.toMatch(/\d{16}/)
    },
  )

  test('no text of a client is in a response of headgate', async () => {
    const { url } = await app({
      policies: [fixedWindow({ limit: 1, window: '1h' }), fixedWindow({ limit: 9, window: '1d', scope: 'user' })],
      keys: { default: combine(byHeader('x-key'), byRoute()), user: byCookie('user') },
      headers: { dialects: ['legacy', 'draft-8', 'draft-11'], pk: { salt: 'a secret of 16 characters' } },
    })
    const hostile = 'canary"\\;q=9, canary\t:=,'
    const sent = { 'x-key': hostile, cookie: `user="canary;x=${hostile}"`, accept: hostile, 'user-agent': hostile }
    await get(`${url}/?${encodeURIComponent(hostile)}`, sent)
    for (const accept of [hostile, 'application/json', 'text/html']) {
      const { status, headers, body } = await get(`${url}/?${encodeURIComponent(hostile)}`, { ...sent, accept })
      expect(status).toBe(429)
      expect(JSON.stringify([headers, body])).not.toMatch(/canary/i)
    }
  })

  test('a refusal arms no timer and keeps nothing', async () => {
    const store = memoryStore()
    const limiter = new RateLimiter({ policies: fixedWindow({ limit: 1, window: '1h' }), store })
    const { url, handled } = await app({ limiter, keys: () => 'k' })
    await get(url)
    const before = store.stats()
    vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout', 'setInterval', 'clearInterval'] })
    expect(
      new Set(
        await statuses(
          url,
          Array.from({ length: 50 }, () => ({})),
        ),
      ),
    ).toEqual(new Set([429]))
    expect([vi.getTimerCount(), handled(), store.stats()]).toEqual([0, 1, before])
    vi.useRealTimers()
  })

  test('a long Accept field is negotiated by its beginning only', async () => {
    const { url } = await app({ policies: fixedWindow({ limit: 1, window: '1h' }) })
    await get(url)
    const read = vi.spyOn(Negotiator.prototype, 'mediaType')
    const many = `application/json, ${'a/b;q=0.1, '.repeat(1300)}text/plain`
    const { headers, status } = await get(url, { accept: many })
    expect([status, headers['content-type']]).toEqual([429, 'application/json; charset=utf-8'])
    // Nest negotiates nothing: its exceptions are JSON.
    const [instance] = read.mock.contexts as unknown as { request: { headers: { accept: string } } }[]
    expect(instance?.request.headers.accept.length ?? 0).toBeLessThanOrEqual(512)
    read.mockRestore()
  })

  test('problem: a refusal is quota-exceeded, with the violated policies', async () => {
    const { url } = await app({ policies: [...policies, fixedWindow({ limit: 2, window: '1h' })], problem: true })
    expect(await statuses(url, [{}, {}])).toEqual([200, 200])
    const { status, headers, body } = await get(url, { accept: 'text/html' })
    expect([status, headers['content-type']]).toEqual([429, expect.stringMatching(/^application\/problem\+json/)])
    expect(JSON.parse(body)).toEqual({
      type: 'https://iana.org/assignments/http-problem-types#quota-exceeded',
      title: 'Request cannot be satisfied as assigned quota has been exceeded',
      status: 429,
      detail: expect.stringMatching(/^Too many requests\. Try again in \d+ seconds?\.$/),
      'violated-policies': ['minute', '1h'],
    })
  })
})

test.each([
  ['an unknown dialect', { headers: 'draft-9' }],
  ['an unknown dialect in a list', { headers: ['legacy', 'toString'] }],
  ['an unknown option', { headers: { dialect: 'legacy' } }],
  ['near that is not a boolean', { headers: { near: 0.8 } }],
  ['a field name that would inject', { headers: { legacy: { limit: 'X-Limit: 5\r\nSet-Cookie' } } }],
  ['a field name of any length', { headers: { legacy: { remaining: 'x'.repeat(129) } } }],
  ['an empty field name', { headers: { legacy: { reset: '' } } }],
  ['an unknown form of the reset time', { headers: { legacy: { resetAs: 'date' } } }],
  ['an empty salt', { headers: { dialects: 'draft-8', pk: { salt: '' } } }],
  ['pk without a dialect that has pk', { headers: { dialects: 'draft-7', pk: { salt: 'x'.repeat(16) } } }],
  ['pk without a salt', { headers: { dialects: 'draft-8', pk: {} } }],
  ['problem that is not a boolean', { problem: 'yes' }],
])('%s throws at construction', (_what, options) => {
  expect(() => rateLimit({ policies: '1/1m', ...options } as never)).toThrow(
    expect.objectContaining({ name: 'HeadgateError', code: 'HEADGATE_OPTION' }),
  )
})

test.each(['a\r\nSet-Cookie: x', 'a\0', 'ü', '', 'a\n'])('a policy named %j never reaches a header', (name) => {
  expect(() => rateLimit({ policies: fixedWindow({ name, limit: 1, window: '1m' }) })).toThrow(
    expect.objectContaining({ code: 'HEADGATE_NAME' }),
  )
})
