import { describe, expect, test } from 'vitest'
import {
  fixedWindow,
  gcra,
  HeadgateError,
  leakyBucket,
  memoryStore,
  policy,
  RateLimiter,
  segmentedWindow,
  slidingLog,
  slidingWindow,
  tokenBucket,
} from '../../src/index.ts'

/** Options as a user without TypeScript may write them. */
// biome-ignore lint/suspicious/noExplicitAny: misuse is what is tested
type Unchecked = any

const constructors: Record<string, (options: Unchecked) => unknown> = {
  fixedWindow,
  slidingWindow,
  slidingLog,
  segmentedWindow,
  tokenBucket,
  leakyBucket,
  gcra,
}

const notPositiveIntegers = [0, -1, 1.5, NaN, Infinity, -Infinity, 2 ** 53, '100', null, undefined, 100n, true, {}, []]

/** The error that is thrown. Its message has to say what is wrong, and then the fix. */
function errorOf(act: () => unknown): HeadgateError {
  try {
    act()
  } catch (error) {
    expect(error).toBeInstanceOf(HeadgateError)
    const { name, message } = error as HeadgateError
    expect(name).toBe('HeadgateError')
    expect(message).toMatch(/(Give|Write|Use|Choose|Leave|Round|It takes|To look).+\.$/)
    return error as HeadgateError
  }
  throw new Error('nothing was thrown')
}

describe.each(Object.entries(constructors))('%s rejects', (name, make) => {
  const good = { limit: 100, window: '15m' }

  test.each(notPositiveIntegers.filter((limit) => limit !== 0))('a limit of %s', (limit) => {
    const error = errorOf(() => make({ ...good, limit }))
    expect(error.code).toBe('HEADGATE_LIMIT')
    expect(error.message).toContain(`${name}: limit`)
  })

  test.each([
    ...[0, -1, 1.5, NaN, Infinity, 2 ** 53, null, undefined, true, {}, []],
    ...['', 'soon', '10', '-5m', '0s', '0.5ms', '15 parsecs', '367d', '2y', 366 * 86_400_000 + 1, 'm', 'x'.repeat(200)],
  ])('a window of %s', (window) => {
    expect(errorOf(() => make({ ...good, window })).code).toBe('HEADGATE_WINDOW')
  })

  test.each(['', 5, 'naïve', 'a\nb', '\u0000', 'x'.repeat(129), {}, '\ud800'])('a name or scope of %j', (text) => {
    expect(errorOf(() => make({ ...good, name: text })).code).toBe('HEADGATE_NAME')
    expect(errorOf(() => make({ ...good, scope: text })).code).toBe('HEADGATE_SCOPE')
  })

  test.each(['yes', 1, 0, null])('countRefused or shadow of %j', (flag) => {
    expect(errorOf(() => make({ ...good, countRefused: flag })).code).toBe('HEADGATE_OPTION')
    expect(errorOf(() => make({ ...good, shadow: flag })).code).toBe('HEADGATE_OPTION')
  })

  test('a label that is not printable ASCII, or longer than a name', () => {
    expect(errorOf(() => make({ ...good, label: 'é' })).code).toBe('HEADGATE_NAME')
    expect(errorOf(() => make({ ...good, label: 'x'.repeat(129) })).code).toBe('HEADGATE_NAME')
  })

  test('an unknown option, and lists the known ones', () => {
    const { code, message } = errorOf(() => make({ ...good, windowMs: 900_000 }))
    expect(code).toBe('HEADGATE_OPTION')
    expect(message).toContain('"windowMs"')
    expect(message).toContain('limit, window, name, scope, countRefused, shadow')
  })

  test.each([undefined, null, 100, '100/15m', [100, '15m']])('%j for its options', (options) => {
    expect(errorOf(() => make(options)).code).toBe('HEADGATE_POLICY')
  })
})

describe.each(Object.entries({ tokenBucket, leakyBucket, gcra }))(
  '%s rejects',
  (_, make: (options: Unchecked) => unknown) => {
    test.each(notPositiveIntegers.filter((burst) => burst !== undefined && burst !== null))(
      'a burst of %s',
      (burst) => {
        expect(errorOf(() => make({ limit: 100, window: '1s', burst })).code).toBe('HEADGATE_BURST')
      },
    )

    test('numbers that cannot be counted exactly, and says why', () => {
      const { code, message } = errorOf(() => make({ limit: 999_983, window: '30d' }))
      expect(code).toBe('HEADGATE_INEXACT')
      expect(message).toContain('999983 per 2592000000 ms')
      make({ limit: 1_000_000, window: '30d' })
    })

    test('the first burst beyond 2^53, but not the burst before it', () => {
      const most = Math.floor(Number.MAX_SAFE_INTEGER / 1_000_000)
      make({ limit: 1, window: '1s', burst: most })
      expect(errorOf(() => make({ limit: 1, window: '1s', burst: most + 1 })).code).toBe('HEADGATE_INEXACT')
    })
  },
)

test.each([
  {
    what: 'a burst of a window',
    act: () => slidingWindow({ limit: 1, window: 1, burst: 2 } as Unchecked),
    code: 'HEADGATE_OPTION',
  },
  {
    what: 'a burst of a log',
    act: () => slidingLog({ limit: 1, window: 1, burst: 2 } as Unchecked),
    code: 'HEADGATE_OPTION',
  },
  {
    what: 'a refill of a gcra',
    act: () => gcra({ limit: 1, window: 1, refill: 'interval' } as Unchecked),
    code: 'HEADGATE_OPTION',
  },
  {
    what: 'an unknown refill',
    act: () => tokenBucket({ limit: 1, window: 1, refill: 'greedy' } as Unchecked),
    code: 'HEADGATE_OPTION',
  },
  {
    what: 'an unknown align',
    act: () => fixedWindow({ limit: 1, window: 1, align: 'day' } as Unchecked),
    code: 'HEADGATE_OPTION',
  },
  { what: 'no segments', act: () => segmentedWindow({ limit: 1, window: 1, segments: 0 }), code: 'HEADGATE_SEGMENTS' },
  {
    what: 'too many segments',
    act: () => segmentedWindow({ limit: 1, window: 1, segments: 1001 }),
    code: 'HEADGATE_SEGMENTS',
  },
  {
    what: 'half a segment',
    act: () => segmentedWindow({ limit: 1, window: 1, segments: 2.5 }),
    code: 'HEADGATE_SEGMENTS',
  },
  {
    what: 'NaN segments',
    act: () => segmentedWindow({ limit: 1, window: 1, segments: NaN }),
    code: 'HEADGATE_SEGMENTS',
  },
  {
    what: 'a sliding window beyond 2^45',
    act: () => slidingWindow({ limit: 2 ** 45 + 1, window: 1 }),
    code: 'HEADGATE_INEXACT',
  },
  { what: 'a log beyond 2^50', act: () => slidingLog({ limit: 2 ** 50 + 1, window: 1 }), code: 'HEADGATE_INEXACT' },
  {
    what: 'a refill that takes centuries',
    act: () => tokenBucket({ limit: 1, window: '366d', burst: 1000, refill: 'interval' }),
    code: 'HEADGATE_INEXACT',
  },
  {
    what: 'an algorithm of no constructor',
    act: () => {
      const { algorithm, ...settings } = slidingWindow({ limit: 1, window: 1 })
      const mine = { kind: 'mine', parameters: [1], slots: 1, span: 1, wait: () => 0, take: () => {}, report: () => {} }
      return new RateLimiter({ policies: { ...settings, algorithm: mine } as Unchecked })
    },
    code: 'HEADGATE_POLICY',
  },
  {
    what: 'a subclass of an algorithm',
    act: () => {
      const { algorithm, ...settings } = slidingWindow({ limit: 1, window: 1 })
      const mine = Object.create(algorithm, { kind: { value: 'mine' } })
      return new RateLimiter({ policies: { ...settings, algorithm: mine } })
    },
    code: 'HEADGATE_POLICY',
  },
  { what: 'no policies', act: () => new RateLimiter({ policies: [] }), code: 'HEADGATE_POLICY' },
  { what: 'an absent list of policies', act: () => new RateLimiter({} as Unchecked), code: 'HEADGATE_POLICY' },
  {
    what: 'a number as a policy',
    act: () => new RateLimiter({ policies: 100 as Unchecked }),
    code: 'HEADGATE_POLICY',
  },
  { what: 'a number beside a text', act: () => policy('5/1m', 15 as Unchecked), code: 'HEADGATE_POLICY' },
  { what: 'a Map beside a text', act: () => policy('5/1m', new Map() as Unchecked), code: 'HEADGATE_POLICY' },
  { what: 'no options at all', act: () => new RateLimiter(undefined as Unchecked), code: 'HEADGATE_OPTION' },
  {
    what: 'an unknown option',
    act: () => new RateLimiter({ policies: '1/1s', max: 1 } as Unchecked),
    code: 'HEADGATE_OPTION',
  },
  {
    what: 'an object that is no store',
    act: () => new RateLimiter({ policies: '1/1s', store: {} as Unchecked }),
    code: 'HEADGATE_OPTION',
  },
  {
    what: 'an empty name of a limiter',
    act: () => new RateLimiter({ policies: '1/1s', name: '' }),
    code: 'HEADGATE_NAME',
  },
  {
    what: 'a number as a name',
    act: () => new RateLimiter({ policies: '1/1s', name: 5 as Unchecked }),
    code: 'HEADGATE_NAME',
  },
  {
    what: 'two policies of one name',
    act: () =>
      new RateLimiter({ policies: [slidingWindow({ name: 'a', limit: 1, window: 1 }), policy('2/1s', { name: 'a' })] }),
    code: 'HEADGATE_DUPLICATE_POLICY',
  },
  {
    what: 'two policies that get the same name from their window',
    act: () => new RateLimiter({ policies: ['10/60s', '5/1m burst 9'] }),
    code: 'HEADGATE_DUPLICATE_POLICY',
  },
  { what: 'a maxKeys of 0', act: () => memoryStore({ maxKeys: 0 }), code: 'HEADGATE_OPTION' },
  { what: 'a maxKeys of 1.5', act: () => memoryStore({ maxKeys: 1.5 }), code: 'HEADGATE_OPTION' },
  { what: 'an option of another store', act: () => memoryStore({ max: 5 } as Unchecked), code: 'HEADGATE_OPTION' },
  {
    what: 'a memory store that grows',
    act: () => memoryStore({ onFull: 'grow' } as Unchecked),
    code: 'HEADGATE_OPTION',
  },
  { what: 'a clock that returns fractions', act: () => memoryStore({ clock: () => 0.5 }), code: 'HEADGATE_CLOCK' },
])('$what throws $code', ({ act, code }) => {
  expect(errorOf(act).code).toBe(code)
})

describe('the shorthand', () => {
  const slidingTerms = {
    name: '15m',
    scope: 'default',
    limit: 100,
    window: 900_000,
    burst: 100,
    countRefused: false,
    shadow: false,
  }

  test.each([
    { text: '100/15m', same: slidingWindow({ limit: 100, window: '15m' }), ...slidingTerms },
    { text: ' 100 / 15 m ', same: slidingWindow({ limit: 100, window: '15m' }), ...slidingTerms },
    {
      text: '10/1s burst 20',
      same: tokenBucket({ limit: 10, window: '1s', burst: 20 }),
      limit: 10,
      window: 1000,
      burst: 20,
    },
    { text: '5/10s sliding-log', same: slidingLog({ limit: 5, window: '10s' }), limit: 5, window: 10_000, burst: 5 },
    { text: '5/10s Sliding-Log', same: slidingLog({ limit: 5, window: '10s' }), limit: 5, window: 10_000 },
    { text: '5/10s sliding-window', same: slidingWindow({ limit: 5, window: '10s' }), limit: 5 },
    { text: '5/10s fixed-window', same: fixedWindow({ limit: 5, window: '10s' }), limit: 5 },
    { text: '5/10s segmented-window', same: segmentedWindow({ limit: 5, window: '10s' }), limit: 5 },
    { text: '5/10s token-bucket', same: tokenBucket({ limit: 5, window: '10s' }), burst: 5 },
    { text: '5/10s token-bucket burst 7', same: tokenBucket({ limit: 5, window: '10s', burst: 7 }), burst: 7 },
    { text: '5/10s burst 7 leaky-bucket', same: leakyBucket({ limit: 5, window: '10s', burst: 7 }), burst: 7 },
    { text: '5/10s gcra burst 1', same: gcra({ limit: 5, window: '10s', burst: 1 }), burst: 1 },
    { text: '1/250ms', same: slidingWindow({ limit: 1, window: 250 }), name: '250ms' },
    { text: '1/90s', same: slidingWindow({ limit: 1, window: '90s' }), name: '90s' },
    { text: '1/0.5s', same: slidingWindow({ limit: 1, window: 500 }), name: '500ms' },
    { text: '1/60 minutes', same: slidingWindow({ limit: 1, window: '1h' }), name: '1h' },
    { text: '1/366d', same: slidingWindow({ limit: 1, window: '366d' }), window: 366 * 86_400_000 },
  ])('$text', ({ text, same, ...expected }) => {
    expect(policy(text)).toMatchObject(expected)
    expect(policy(text)).toEqual(same)
    expect(policy(text).algorithm.constructor).toBe(same.algorithm.constructor)
  })

  test('takes name, scope and flags as options', () => {
    const options = { name: 'daily', scope: 'user', countRefused: true, shadow: true }
    expect(policy('5000/1d', options)).toMatchObject({ limit: 5000, window: 86_400_000, ...options })
  })

  test.each([
    { text: '', code: 'HEADGATE_POLICY' },
    { text: '100', code: 'HEADGATE_POLICY' },
    { text: '/15m', code: 'HEADGATE_POLICY' },
    { text: '100/', code: 'HEADGATE_POLICY' },
    { text: '100/15', code: 'HEADGATE_POLICY' },
    { text: '100/m', code: 'HEADGATE_POLICY' },
    { text: '-1/15m', code: 'HEADGATE_POLICY' },
    { text: '1.5/15m', code: 'HEADGATE_POLICY' },
    { text: '1e3/15m', code: 'HEADGATE_POLICY' },
    { text: '100 per 15m', code: 'HEADGATE_POLICY' },
    { text: '100/15m and more', code: 'HEADGATE_POLICY' },
    { text: '100/15m burst', code: 'HEADGATE_POLICY' },
    { text: '100/15m burst x', code: 'HEADGATE_POLICY' },
    { text: '100/15m burst 5 burst 6', code: 'HEADGATE_POLICY' },
    { text: '100/15m gcra leaky-bucket', code: 'HEADGATE_POLICY' },
    { text: '100/15m constructor', code: 'HEADGATE_POLICY' },
    { text: '100/15m\n5/1s', code: 'HEADGATE_POLICY' },
    { text: 100, code: 'HEADGATE_POLICY' },
    { text: null, code: 'HEADGATE_POLICY' },
    { text: '99999999999999999999/15m', code: 'HEADGATE_LIMIT' },
    { text: '100/0s', code: 'HEADGATE_WINDOW' },
    { text: '100/15parsecs', code: 'HEADGATE_WINDOW' },
    { text: '100/2y', code: 'HEADGATE_WINDOW' },
    { text: '100/0.0001s', code: 'HEADGATE_WINDOW' },
    { text: '100/15m burst 0', code: 'HEADGATE_BURST' },
    { text: '100/15m sliding-window burst 5', code: 'HEADGATE_OPTION' },
    { text: '999983/30d gcra', code: 'HEADGATE_INEXACT' },
  ])('$text throws $code', ({ text, code }) => {
    expect(errorOf(() => policy(text as string)).code).toBe(code)
    if (typeof text === 'string') expect(errorOf(() => new RateLimiter({ policies: [text] })).code).toBe(code)
  })

  test.each([
    [
      '1000/1M',
      "Write '30d': a month has no fixed length. Or write quota('1000/month') of headgate/calendar. Or write '1m' for minutes.",
    ],
    ['1000/12 M', "Or write '12 m' for minutes."],
    ['1000/1MONTH', "Write '30d': a month has no fixed length. Or write quota('1000/month') of headgate/calendar."],
    ['1000/1 month', "Write '30d': a month has no fixed length. Or write quota('1000/month') of headgate/calendar."],
    ['1000/2 months', "Write '30d': a month has no fixed length. Or write quota('1000/month') of headgate/calendar."],
    ['1000/1mo', "Write '30d': a month has no fixed length. Or write quota('1000/month') of headgate/calendar."],
    ['5/1H', "'1h'."],
    ['5/1D', "'1d'."],
    ['5/1 Day', "'1 day'."],
    ['5/15 Minutes', "'15 minutes'."],
    ['5/250MS', "'250ms'."],
    ['5/250mS', "'250ms'."],
    ['5/1W', "'1w'."],
    ['5/1Y', "'1y'."],
    ['4 at once lease 30S', "'30s'."],
  ])('%s has no capital in its unit: the message says %s', (text, fix) => {
    const { code, message } = errorOf(() => policy(text))
    expect([code, message.endsWith(fix)]).toEqual(['HEADGATE_WINDOW', true])
    expect(message).toContain(fix)
  })

  test.each(['1000/month', '1000/ Month', '1000 / months sliding-log', '1000/mo'])(
    '%s has the fix of a month',
    (text) => {
      expect(errorOf(() => policy(text))).toMatchObject({
        code: 'HEADGATE_POLICY',
        message: expect.stringContaining(
          "Write '30d': a month has no fixed length. Or write quota('1000/month') of headgate/calendar.",
        ),
      })
    },
  )

  test.each([
    ['5/1w', 7],
    ['5/2 weeks', 14],
    ['5/1y', 365.25],
    ['5/1 year', 365.25],
    ['5/1 day', 1],
  ])('%s lasts %d days', (text, days) => {
    expect(policy(text).window).toBe(days * 86_400_000)
  })

  test('is parsed in a time that is linear in its length', () => {
    const hostile = `1/1s${' a'.repeat(50_000)}!`
    const started = performance.now()
    expect(errorOf(() => policy(hostile)).code).toBe('HEADGATE_POLICY')
    expect(performance.now() - started).toBeLessThan(1000)
  })
})

describe('a policy', () => {
  test('is immutable', () => {
    const made = slidingWindow({ limit: 100, window: '15m' })
    expect(() => Object.assign(made, { limit: 1_000_000 })).toThrow(TypeError)
    expect(() => Object.assign(made.algorithm, { limit: 1_000_000 })).toThrow(TypeError)
    const { policies } = new RateLimiter({ policies: [made] })
    expect(() => (policies as unknown[]).pop()).toThrow(TypeError)
  })

  test('does not follow later changes of its options', () => {
    const options = { limit: 1, window: '1s' }
    const limiter = new RateLimiter({ policies: options })
    options.limit = 100
    expect([limiter.consumeSync('a').allowed, limiter.consumeSync('a').allowed]).toEqual([true, false])
  })

  test('can have a window of up to 366 days', () =>
    expect(slidingLog({ limit: 1, window: 366 * 86_400_000 }).window).toBe(31_622_400_000))
})
