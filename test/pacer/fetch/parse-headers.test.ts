import { describe, expect, test } from 'vitest'
import { parseRateLimit } from '../../../src/pacer/fetch/parse-headers.ts'

const now = Date.UTC(2026, 0, 1)
const epoch = now / 1000

const quota = { name: undefined, unit: 'requests', limit: 2, remaining: 1, window: undefined, resetAfter: 900_000 }

describe('parseRateLimit', () => {
  test.each([
    [
      'legacy, epoch seconds',
      { 'x-ratelimit-limit': '2', 'x-ratelimit-remaining': '1', 'x-ratelimit-reset': `${epoch + 900}` },
      'legacy',
      [quota],
    ],
    [
      'legacy, seconds from now',
      { 'x-ratelimit-limit': '2', 'x-ratelimit-remaining': '1', 'x-ratelimit-reset': '900' },
      'legacy',
      [quota],
    ],
    [
      'legacy, epoch milliseconds',
      { 'x-rate-limit-limit': '2', 'x-rate-limit-remaining': '1', 'x-rate-limit-reset': `${now + 900_000}` },
      'legacy',
      [quota],
    ],
    [
      'draft 6',
      { 'ratelimit-policy': '2;w=900', 'ratelimit-limit': '2', 'ratelimit-remaining': '1', 'ratelimit-reset': '900' },
      'fields',
      [{ ...quota, window: 900_000 }],
    ],
    [
      'draft 7',
      { 'ratelimit-policy': '2;w=900', ratelimit: 'limit=2, remaining=1, reset=900' },
      'dictionary',
      [{ ...quota, window: 900_000 }],
    ],
    [
      'draft 8',
      { 'ratelimit-policy': '"2-in-15min"; q=2; w=900; pk=:MTJjYTE3YjQ5YWYy:', ratelimit: '"2-in-15min"; r=1; t=900' },
      'list',
      [{ ...quota, name: '2-in-15min', window: 900_000 }],
    ],
    [
      'draft 11, several',
      {
        'ratelimit-policy': '"burst";q=100;w=60,"daily";q=1000;w=86400;qu="content-bytes"',
        ratelimit: '"burst";r=50;t=30 , "daily";r=0',
      },
      'list',
      [
        { name: 'burst', unit: 'requests', limit: 100, remaining: 50, window: 60_000, resetAfter: 30_000 },
        { name: 'daily', unit: 'content-bytes', limit: 1000, remaining: 0, window: 86_400_000, resetAfter: undefined },
      ],
    ],
    [
      'two limits with one name',
      { 'ratelimit-policy': '"1m";q=100;w=60, "1m";q=5;w=60', ratelimit: '"1m";r=99;t=60, "1m";r=4;t=50' },
      'list',
      [
        { ...quota, name: '1m', limit: 100, remaining: 99, window: 60_000, resetAfter: 60_000 },
        { ...quota, name: '1m', limit: 5, remaining: 4, window: 60_000, resetAfter: 50_000 },
      ],
    ],
    [
      'the names proposed next',
      { ratelimit: '"b";a=3;w=5' },
      'list',
      [{ ...quota, name: 'b', limit: undefined, remaining: 3, resetAfter: 5000 }],
    ],
    [
      'an escaped name',
      { ratelimit: '"a\\"b\\\\c";r=1' },
      'list',
      [{ ...quota, name: 'a"b\\c', limit: undefined, resetAfter: undefined }],
    ],
    [
      'the newest of several',
      { ratelimit: '"b";r=3;t=5', 'x-ratelimit-limit': '2', 'ratelimit-limit': '2' },
      'list',
      [{ ...quota, name: 'b', limit: undefined, remaining: 3, resetAfter: 5000 }],
    ],
  ])('%s', (_, fields, dialect, quotas) => {
    const expected = { dialect, quotas, retryAfter: undefined }
    expect(parseRateLimit(fields as Record<string, string>, now)).toEqual(expected)
    expect(parseRateLimit(new Headers(fields as Record<string, string>), now)).toEqual(expected)
  })

  test.each([
    ['120', 120_000],
    ['0', 0],
    ['Thu, 01 Jan 2026 00:01:00 GMT', 60_000],
    ['Wed, 31 Dec 2025 00:00:00 GMT', 0],
    ['-5', undefined],
    ['1.5', 1500],
    ['0.0001', 1],
    ['1e3', undefined],
    ['soon', undefined],
    ['', undefined],
    ['foo 5', undefined],
    ['Foo, 01 Jan 2026 00:01:00 GMT', undefined],
    ['Thu, 01 Jan 2026', undefined],
    ['Thu, 01 Jan 2026 00:01:00 GMT x', undefined],
    ['Thursday, 01-Jan-26 00:01:00 GMT', 60_000],
    ['Thu Jan  1 00:01:00 2026', 60_000],
    ['2026-01-01T00:01:00.5Z', 60_500],
    ['9'.repeat(400), Number.MAX_SAFE_INTEGER],
  ])('Retry-After: %s', (text, expected) => {
    expect(parseRateLimit({ 'retry-after': text }, now).retryAfter).toBe(expected)
  })

  test('numbers of any length are finite', () => {
    const digits = '9'.repeat(400)
    const most = Number.MAX_SAFE_INTEGER
    for (const prefix of ['ratelimit', 'x-ratelimit']) {
      const fields = { [`${prefix}-limit`]: digits, [`${prefix}-remaining`]: digits, [`${prefix}-reset`]: digits }
      const { quotas } = parseRateLimit(fields, now)
      expect(quotas).toEqual([expect.objectContaining({ limit: most, remaining: most })])
      expect(Number.isSafeInteger(quotas[0]?.resetAfter)).toBe(true)
    }
  })

  test.each([
    [{ ratelimit: '"b";r=-1' }],
    [{ ratelimit: '"b;r=1' }],
    [{ ratelimit: '"b";r=1,' }],
    [{ ratelimit: 'limit=x, remaining' }],
    [{ ratelimit: '"b";r=9999999999999999' }],
    [{ ratelimit: '' }],
    [{ ratelimit: '("b" "c");r=1' }],
    [{ ratelimit: 'token;r=1' }],
    [{ ratelimit: '@1735689600;r=1' }],
    [{ 'x-ratelimit-limit': 'many', 'x-ratelimit-remaining': '-1' }],
    [{}],
  ])('malformed fields are ignored: %j', (fields) => {
    expect(parseRateLimit(fields as Record<string, string>, now)).toEqual({
      dialect: undefined,
      quotas: [],
      retryAfter: undefined,
    })
  })

  test.each([
    undefined,
    null,
    5,
    'retry-after: 5',
    Symbol('fields'),
    [],
    { 'retry-after': [Symbol('5')] },
    { 'retry-after': { __proto__: null } },
    { 'x-ratelimit-limit': null, 'x-ratelimit-remaining': null },
    {
      get() {
        throw new Error('no fields')
      },
    },
  ])('what has no fields reports nothing: %s', (fields) => {
    expect(parseRateLimit(fields as never, now)).toEqual({ dialect: undefined, quotas: [], retryAfter: undefined })
  })

  test('a field may be a number, also one that get returns', () => {
    const fields = new Map<string, unknown>([
      ['retry-after', 5],
      ['x-ratelimit-remaining', 0],
      ['x-ratelimit-reset', 2],
    ])
    for (const each of [fields, Object.fromEntries(fields)]) {
      const { quotas, retryAfter } = parseRateLimit(each as never, now)
      expect([retryAfter, quotas[0]?.remaining, quotas[0]?.resetAfter]).toEqual([5000, 0, 2000])
    }
  })
})
