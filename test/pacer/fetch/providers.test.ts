import { describe, expect, test } from 'vitest'
import { parseRateLimit, type Quota } from '../../../src/pacer/index.ts'

type Fields = Record<string, string>
type Row = [
  unit: string,
  limit: number | undefined,
  remaining: number,
  resetAfter?: number | undefined,
  more?: Partial<Quota>,
]

const now = Date.UTC(2025, 7, 21, 12, 41)
const minute = 60_000

function quota([unit, limit, remaining, resetAfter, more]: Row): Quota {
  return { name: undefined, unit, limit, remaining, resetAfter, window: undefined, cost: undefined, ...more }
}

/** `x-ratelimit-limit-requests` and the others, as OpenAI orders them. */
function openAi(requests: string[], tokens: string[]): Fields {
  const names = ['limit', 'remaining', 'reset']
  return Object.fromEntries([
    ...requests.map((value, n) => [`x-ratelimit-${names[n]}-requests`, value]),
    ...tokens.map((value, n) => [`x-ratelimit-${names[n]}-tokens`, value]),
  ])
}

function anthropic(unit: string, limit: string, remaining: string, reset: string): Fields {
  const prefix = `anthropic-ratelimit-${unit}`
  return { [`${prefix}-limit`]: limit, [`${prefix}-remaining`]: remaining, [`${prefix}-reset`]: reset }
}

/** What servers sent, as their documentation or their users recorded it. */
const recorded: [name: string, fields: Fields, dialect: string, rows: Row[], retryAfter?: number][] = [
  [
    'OpenAI',
    openAi(['60', '59', '1s'], ['150000', '149984', '6m0s']),
    'units',
    [
      ['requests', 60, 59, 1000],
      ['tokens', 150_000, 149_984, 6 * minute],
    ],
  ],
  [
    'OpenAI, milliseconds, and a refusal',
    { ...openAi(['10000', '9999', '8.64s'], ['200000', '0', '120ms']), 'retry-after': '1', 'retry-after-ms': '120' },
    'units',
    [
      ['requests', 10_000, 9999, 8640],
      ['tokens', 200_000, 0, 120],
    ],
    120,
  ],
  [
    'Groq',
    { 'retry-after': '2', ...openAi(['14400', '14370', '2m59.56s'], ['18000', '17997', '7.66s']) },
    'units',
    [
      ['requests', 14_400, 14_370, 179_560],
      ['tokens', 18_000, 17_997, 7660],
    ],
    2000,
  ],
  [
    'Groq, requests of a day',
    openAi(['1000', '942', '1h23m31s'], []),
    'units',
    [['requests', 1000, 942, 83 * minute + 31_000]],
  ],
  [
    'Azure OpenAI',
    { 'x-ratelimit-remaining-requests': '79', 'x-ratelimit-remaining-tokens': '61353' },
    'units',
    [
      ['requests', undefined, 79],
      ['tokens', undefined, 61_353],
    ],
  ],
  [
    'Azure OpenAI, a refusal',
    { 'x-rate-limit-reset-tokens': '55', 'x-ratelimit-remaining-tokens': '0', 'retry-after-ms': '54321' },
    'units',
    [['tokens', undefined, 0, 55_000]],
    54_321,
  ],
  [
    'Azure OpenAI, no limit',
    { 'x-ratelimit-limit-tokens': '-1', 'x-ratelimit-remaining-tokens': '-1', 'x-ratelimit-reset-tokens': '0' },
    'undefined',
    [],
  ],
  [
    'Anthropic',
    {
      ...anthropic('requests', '1000', '999', '2025-08-21T12:41:01Z'),
      ...anthropic('tokens', '96000', '95000', '2025-08-21T12:41:30Z'),
      ...anthropic('input-tokens', '80000', '79000', '2025-08-21T12:42:00Z'),
      ...anthropic('output-tokens', '16000', '16000', '2025-08-21T12:40:59Z'),
      'retry-after': '60',
    },
    'units',
    [
      ['requests', 1000, 999, 1000],
      ['tokens', 96_000, 95_000, 30_000],
      ['input-tokens', 80_000, 79_000, minute],
      ['output-tokens', 16_000, 16_000, 0],
    ],
    60_000,
  ],
  [
    'Mistral',
    {
      'x-ratelimit-limit-tokens-minute': '5000000',
      'x-ratelimit-remaining-tokens-minute': '4999911',
      'x-ratelimit-tokens-query-cost': '52',
      'x-ratelimit-limit-req-minute': '720',
      'x-ratelimit-remaining-req-minute': '717',
    },
    'units',
    [
      ['tokens', 5_000_000, 4_999_911, undefined, { window: minute, cost: 52 }],
      ['requests', 720, 717, undefined, { window: minute }],
    ],
  ],
  [
    'Mistral, before',
    {
      'ratelimitbysize-limit': '500000',
      'ratelimitbysize-remaining': '499900',
      'ratelimitbysize-reset': '28',
      'ratelimitbysize-query-cost': '100',
      'x-ratelimitbysize-limit-month': '1000000000',
      'x-ratelimitbysize-remaining-month': '999999900',
    },
    'units',
    [
      ['tokens', 500_000, 499_900, 28_000, { cost: 100 }],
      ['tokens', 1_000_000_000, 999_999_900, undefined, { window: 31 * 24 * 60 * minute }],
    ],
  ],
  [
    'Cerebras',
    {
      'x-ratelimit-limit-requests-day': '14400',
      'x-ratelimit-remaining-requests-day': '14399',
      'x-ratelimit-reset-requests-day': '33011.4',
      'x-ratelimit-limit-tokens-minute': '60000',
      'x-ratelimit-remaining-tokens-minute': '59000',
      'x-ratelimit-reset-tokens-minute': '11.382',
    },
    'units',
    [
      ['tokens', 60_000, 59_000, 11_382, { window: minute }],
      ['requests', 14_400, 14_399, 33_011_400, { window: 24 * 60 * minute }],
    ],
  ],
  [
    'Discord',
    {
      'x-ratelimit-limit': '10',
      'x-ratelimit-remaining': '0',
      'x-ratelimit-reset': '1470173023.123',
      'x-ratelimit-reset-after': '64.57',
      'x-ratelimit-bucket': 'abcd1234',
      'retry-after': '65',
    },
    'legacy',
    [['requests', 10, 0, 64_570]],
    65_000,
  ],
  [
    'GitHub',
    { 'x-ratelimit-limit': '5000', 'x-ratelimit-remaining': '4987', 'x-ratelimit-reset': String(now / 1000 + 61) },
    'legacy',
    [['requests', 5000, 4987, 61_000]],
  ],
  [
    'GitLab',
    { 'ratelimit-limit': '60', 'ratelimit-remaining': '0', 'ratelimit-reset': String(now / 1000 + 30) },
    'fields',
    [['requests', 60, 0, 30_000]],
  ],
  [
    'a gateway with a limit of its own before OpenAI',
    { ratelimit: '"gateway";r=4;t=10', ...openAi([], ['150000', '149984', '6m0s']) },
    'list',
    [
      ['requests', undefined, 4, 10_000, { name: 'gateway' }],
      ['tokens', 150_000, 149_984, 6 * minute],
    ],
  ],
]

describe('the fields of each provider', () => {
  test.each(recorded)('%s', (_, fields, dialect, rows, retryAfter) => {
    const info = parseRateLimit(fields, now)
    expect(String(info.dialect)).toBe(dialect)
    expect(info.retryAfter).toBe(retryAfter)
    expect(new Set(info.quotas)).toEqual(new Set(rows.map(quota)))
    expect(parseRateLimit(new Headers(fields), now)).toEqual(info)
  })
})

describe('a reset', () => {
  test.each([
    ['6m0s', 6 * minute],
    ['1.5s', 1500],
    ['1.1s', 1100],
    ['120ms', 120],
    ['0.3ms', 1],
    ['0s', 0],
    ['1h2m3.5s', 62 * minute + 3500],
    ['1d1h', 25 * 60 * minute],
    ['1m30s500ms', 90_500],
    [' 20ms ', 20],
    ['7', 7000],
    ['7.25', 7250],
    ['7, 7', 7000],
    [String(now / 1000 + 9), 9000],
    [String(now + 9000), 9000],
    ['2025-08-21T12:41:00.25Z', 250],
    ['2025-08-21T14:41:10+02:00', 10_000],
    ['2025-08-21t12:41:01z', 1000],
    ['Thu, 21 Aug 2025 12:42:00 GMT', minute],
    ['2001-01-01T00:00:00Z', 0],
    ['9'.repeat(10_000), Number.MAX_SAFE_INTEGER],
    [`${'9'.repeat(10_000)}s`, Number.MAX_SAFE_INTEGER],
    [`0.${'3'.repeat(10_000)}s`, 334],
    ['9999-12-31T23:59:59Z', Date.UTC(9999, 11, 31, 23, 59, 59) - now],
  ])('%.40s', (reset, resetAfter) => {
    for (const fields of [openAi([], ['9', '1', reset]), anthropic('tokens', '9', '1', reset)]) {
      expect(parseRateLimit(fields, now).quotas).toEqual([quota(['tokens', 9, 1, resetAfter])])
    }
  })

  test.each([
    ...['6m0sx', 'x6m0s', '6m 0s', '0s6m', '6mm', 'm', 's', '', '-1s', '-7', '+7', '1e400', '1e3', 'NaN', 'Infinity'],
    ...['0x10', '1.s', '.5s', '1,5s', '5 minutes', '2025-13-41T99:99:99Z', '2025-08-21', '2025-08-21T12:41:00'],
    ...[`2025-08-21T12:41:00.${'1'.repeat(10_000)}Z`, '1h'.repeat(5000), `${'1'.repeat(10_000)}x`, '６s'],
  ])('in another form is ignored: %.40s', (reset) => {
    const [found] = parseRateLimit({ ...openAi([], ['9', '1', reset]) }, now).quotas
    // "1,5s" is a field that was sent twice: the first number counts.
    expect(found).toEqual(quota(['tokens', 9, 1, reset === '1,5s' ? 1000 : undefined]))
  })
})

test.each([
  [{ 'retry-after-ms': '250', 'retry-after': '7' }, 250],
  [{ 'retry-after-ms': '0.5', 'retry-after': '7' }, 1],
  [{ 'retry-after-ms': 'soon', 'retry-after': '7' }, 7000],
  [{ 'retry-after-ms': '-1', 'retry-after': '7' }, 7000],
  [{ 'retry-after-ms': '9'.repeat(10_000) }, Number.MAX_SAFE_INTEGER],
])('Retry-After-Ms is read before Retry-After: %.60j', (fields, retryAfter) => {
  expect(parseRateLimit(fields as Fields, now).retryAfter).toBe(retryAfter)
})

test('a time after the last response needs no clock, so it is read before the time of day', () => {
  const fields = { 'x-ratelimit-remaining': '0', 'x-ratelimit-reset': '9', 'x-ratelimit-reset-after': '0.25' }
  expect(parseRateLimit(fields, now).quotas).toEqual([quota(['requests', undefined, 0, 250])])
  const malformed = { ...fields, 'x-ratelimit-reset-after': 'soon' }
  expect(parseRateLimit(malformed, now).quotas).toEqual([quota(['requests', undefined, 0, 9000])])
})
