import { Redis } from 'ioredis'
import { Pool } from 'pg'
import { describe, expect, test } from 'vitest'
import { rateLimit as forExpress } from '../../adapters/express.ts'
import { rateLimit as forFastify } from '../../adapters/fastify/index.ts'
import { rateLimit as forKoa } from '../../adapters/koa.ts'
import {
  byCookie,
  byHeader,
  byIp,
  byParam,
  byRoute,
  combine,
  fixedWindow,
  gcra,
  HeadgateError,
  leakyBucket,
  lruStore,
  memoryStore,
  policy,
  RateLimiter,
  segmentedWindow,
  slidingLog,
  slidingWindow,
  smoothBursty,
  smoothWarmingUp,
  tokenBucket,
} from '../../src/index.ts'
import { Pacer, pacedFetch } from '../../src/pacer/index.ts'
import { compareAndSetStore, hitStore } from '../../src/store.ts'
import { clusterStore } from '../../src/stores/cluster/index.ts'
import { memcachedStore } from '../../src/stores/memcached.ts'
import { inspectPostgres, postgresStore } from '../../src/stores/postgres/index.ts'
import { inspectRedis, redisStore } from '../../src/stores/redis/index.ts'
import { HeadgateInstrumentation } from '../../src/telemetry/instrumentation.ts'
import { logRefusals } from '../../src/telemetry/log-refusals.ts'
import { faultyStore } from '../../src/testing/faulty-store.ts'

// biome-ignore lint/suspicious/noExplicitAny: misuse is what is tested
type Unchecked = any
type Make = (options: Unchecked) => unknown

/** Values that users pass by mistake. `neverCalled` is a function where a value belongs. */
const neverCalled = () => 5
const mistakes: readonly unknown[] = [null, '', 'x', 0, -1, NaN, Infinity, true, false, [], [null], {}, neverCalled]

/** Options whose values may be so, and the mistakes that are right for them. */
const right: Record<string, readonly unknown[]> = {
  name: ['x'],
  scope: ['x'],
  countRefused: [true, false],
  shadow: [true, false],
  settle: [true, false],
  problem: [true, false],
  unref: [true, false],
  refusalCache: [true, false],
  breaker: [{}],
  batch: [true, false],
  warn: [true, false],
  near: [true, false],
  prefix: ['x'],
  enforce: [0],
  allow: [[]],
  deny: [[], neverCalled],
  trustedProxies: [[]],
  headers: [false, {}, neverCalled],
  attach: [neverCalled],
  legacy: [{}],
  extend: [true, false],
  restart: [true, false],
  'legacy.limit': ['x'],
  'legacy.remaining': ['x'],
  'legacy.reset': ['x'],
  keys: [{}, neverCalled],
  skip: [neverCalled],
  refuse: [neverCalled],
  cost: [neverCalled],
  count: [neverCalled],
  onDecision: [neverCalled],
  onRefused: [neverCalled],
  onStoreError: [neverCalled],
  onThreshold: [neverCalled],
  onProgress: [neverCalled],
  sleeper: [neverCalled],
  maxQueue: [0, Infinity],
  concurrency: [Infinity],
  maxBurst: [0],
  maxStored: [0],
  ttlMargin: [0],
  policies: [neverCalled],
}

/** `storeTimeout: Infinity` and `limit: 0` mean something elsewhere; they are not judged here. */
const notJudged: Record<string, readonly unknown[]> = {
  storeTimeout: [Infinity],
  reconnectAfter: [Infinity],
  limit: [0],
  clock: [neverCalled],
}

function errorOf(act: () => unknown): HeadgateError | undefined {
  try {
    act()
  } catch (error) {
    expect(error).toBeInstanceOf(HeadgateError)
    const { code, message } = error as HeadgateError
    expect(code).toMatch(/^HEADGATE_[A-Z_]+$/)
    expect(message).toMatch(/(Give|Write|Use|Choose|Leave|Round|It takes|takes:|Call).+\.$/)
    return error as HeadgateError
  }
  return undefined
}

function name(value: unknown): string {
  return value === neverCalled ? 'a function' : Number.isNaN(value) ? 'NaN' : (JSON.stringify(value) ?? String(value))
}

/** Passes each mistake as each option, and collects those that nobody complains about. */
function silentOf(make: (option: string, value: unknown) => unknown, options: readonly string[]): string[] {
  const silent: string[] = []
  for (const option of options) {
    for (const value of mistakes) {
      const skipped = [...(right[option] ?? []), ...(notJudged[option] ?? [])]
      if (skipped.some((each) => name(each) === name(value))) continue
      if (errorOf(() => make(option, value)) === undefined) silent.push(`${option}: ${name(value)}`)
    }
  }
  return silent
}

const guardOptions = [
  'attach',
  ...['keys', 'headers', 'problem', 'refuse', 'skip', 'allow', 'deny', 'enforce', 'onDecision', 'onRefused'],
  ...['onStoreError', 'cost', 'settle', 'count', 'delay'],
]
const limiterParts = ['store', 'penalty', 'onChange', 'instances', 'storeTimeout', 'name', 'onThreshold']

describe.each(Object.entries({ Express: forExpress, Koa: forKoa, Fastify: forFastify }) as [string, Unchecked][])(
  'rateLimit of %s complains about every wrong',
  (_, rateLimit) => {
    const limiter = new RateLimiter({ policies: '9/1h' })
    const positions: Record<string, (options: Unchecked) => unknown> = {
      'option beside a text': (options) => rateLimit('9/1h', options),
      'option beside a limiter': (options) => rateLimit(limiter, options),
      'option beside an object': (options) => rateLimit({ limit: 9, window: '1h' }, options),
      'option in the object': (options) => rateLimit({ limit: 9, window: '1h', ...options }),
      'option with policies': (options) => rateLimit({ policies: ['9/1h'], ...options }),
      'option with a limiter': (options) => rateLimit({ limiter, ...options }),
      'option with plans': (options) => rateLimit({ policies: () => '9/1h', ...options }),
      'option beside plans': (options) => rateLimit({ policies: () => '9/1h' }, options),
    }
    test.each(Object.entries(positions))('%s', (_position, make) => {
      expect(silentOf((option, value) => make({ [option]: value }), guardOptions)).toEqual([])
    })

    test('part of the limiter', () => {
      for (const base of [{ limit: 9, window: '1h' }, { policies: '9/1h' }, { policies: () => '9/1h' }]) {
        expect(silentOf((option, value) => rateLimit({ ...base, [option]: value }), limiterParts)).toEqual([])
      }
      const wrong = silentOf((option, value) => rateLimit({ [option]: value }), ['policies', 'limiter'])
      expect(wrong).toEqual([])
    })

    test('second argument', () => {
      for (const options of [null, '', 'x', 0, 5, NaN, true, [], ['keys'], neverCalled, byIp, byIp()]) {
        for (const first of ['9/1h', { limit: 9, window: '1h' }, limiter, { policies: () => '9/1h' }]) {
          expect(
            errorOf(() => rateLimit(first, options)),
            `${name(first)}, ${name(options)}`,
          ).toBeDefined()
        }
      }
    })

    test.each([
      ...['x-api-key', null, '', 0, [], [byIp()], { usr: byIp() }, { default: 'x-api-key' }, { default: null }],
      ...[byIp, byHeader, byCookie, byParam, byRoute, combine, { default: byIp }, { default: combine }],
    ])('keys, case %#', (keys) => {
      const forms = [
        () => rateLimit('9/1h', { keys }),
        () => rateLimit({ limit: 9, window: '1h' }, { keys }),
        () => rateLimit(limiter, { keys }),
        () => rateLimit({ limit: 9, window: '1h', keys }),
        () => rateLimit({ limiter, keys }),
        () => rateLimit({ policies: '9/1h', keys }),
      ]
      for (const form of forms) expect(errorOf(form)?.code).toBe('HEADGATE_OPTION')
      if (typeof keys === 'object' && keys !== null && 'usr' in keys) return // a plan may have this scope
      expect(errorOf(() => rateLimit({ policies: () => '9/1h', keys }))?.code).toBe('HEADGATE_OPTION')
    })

    test('fixed cost: no request could ever be admitted', () => {
      for (const form of [
        () => rateLimit('9/1h', { cost: 10 }),
        () => rateLimit({ policies: ['20/1d', '10/1m token-bucket burst 9'], cost: 10 }),
        () => rateLimit({ limiter, cost: 10 }),
      ]) {
        const error = errorOf(form)
        expect(error?.code).toBe('HEADGATE_COST')
        expect(error?.message).toContain('at most 9')
      }
      rateLimit('9/1h', { cost: 9 })
      rateLimit({ policies: [slidingWindow({ limit: 1, window: '1m', shadow: true }), '10/1h'], cost: 10 })
    })

    test('constructor of a policy that is not called', () => {
      for (const policies of [slidingWindow, tokenBucket, policy, [slidingWindow]]) {
        expect(errorOf(() => rateLimit({ policies }))?.code).toBe('HEADGATE_POLICY')
      }
    })
  },
)

test('an option that is undefined leaves the option of the second argument as it is', () => {
  const guard = (options: Unchecked) => forExpress({ limit: 9, window: '1h', headers: undefined }, options)
  expect(errorOf(() => guard({ headers: 'x' }))?.code).toBe('HEADGATE_OPTION')
})

test('two legacy headers of one name are an error, in any letter case', () => {
  for (const legacy of [{ limit: 'X-A', remaining: 'x-a' }, { reset: 'X-RateLimit-Limit' }]) {
    expect(errorOf(() => forExpress('9/1h', { headers: { legacy } }))?.code).toBe('HEADGATE_OPTION')
  }
})

describe('the objects inside of options complain about every wrong', () => {
  const cases: Record<string, [options: readonly string[], make: (option: string, value: unknown) => unknown]> = {
    headers: [
      ['dialects', 'near', 'legacy', 'pk'],
      (option, value) => forExpress('9/1h', { headers: { [option]: value } as Unchecked }),
    ],
    'headers.legacy': [
      ['legacy.limit', 'legacy.remaining', 'legacy.reset', 'resetAs'],
      (option, value) =>
        forExpress('9/1h', {
          headers: { dialects: 'draft-11', legacy: { [option.replace('legacy.', '')]: value } } as Unchecked,
        }),
    ],
    'headers.pk': [
      ['salt'],
      (option, value) => forExpress('9/1h', { headers: { pk: { [option]: value } } as Unchecked }),
    ],
    delay: [
      ['max', 'queue'],
      (option, value) => forExpress('9/1h token-bucket', { delay: { max: '1s', [option]: value } as Unchecked }),
    ],
    penalty: [
      ['after', 'within', 'ban', 'until', 'forget', 'extend', 'restart', 'scope', 'name', 'status'],
      (option, value) =>
        new RateLimiter({
          policies: '9/1h',
          penalty: { after: 1, within: '1m', ban: '1m', [option]: value } as Unchecked,
        }),
    ],
    byIp: [['ipv6Prefix', 'trustedProxies', 'platform', 'warn'], (option, value) => byIp({ [option]: value })],
    'byIp with a platform': [
      ['ipv6Prefix', 'proxies', 'warn'],
      (option, value) => byIp({ platform: 'nginx', [option]: value }),
    ],
  }
  test.each(Object.entries(cases))('option of %s', (_, [options, make]) => {
    expect(silentOf(make, options)).toEqual([])
  })
})

const policyOptions = ['limit', 'window', 'name', 'scope', 'countRefused', 'shadow']
const constructors: Record<string, [make: Make, options: readonly string[]]> = {
  fixedWindow: [fixedWindow as Make, [...policyOptions, 'align']],
  slidingWindow: [slidingWindow as Make, policyOptions],
  slidingLog: [slidingLog as Make, policyOptions],
  segmentedWindow: [segmentedWindow as Make, [...policyOptions, 'segments']],
  tokenBucket: [tokenBucket as Make, [...policyOptions, 'burst', 'refill']],
  leakyBucket: [leakyBucket as Make, [...policyOptions, 'burst']],
  gcra: [gcra as Make, [...policyOptions, 'burst']],
}

test.each(Object.entries(constructors))('%s complains about every wrong option', (_, [make, options]) => {
  expect(silentOf((option, value) => make({ limit: 9, window: '1h', [option]: value }), options)).toEqual([])
})

test('smoothBursty and smoothWarmingUp complain about every wrong option', () => {
  const common = ['rate', 'per', 'name', 'scope', 'countRefused', 'shadow']
  const bursty = [...common, 'maxBurst', 'maxStored']
  const warming = [...common, 'warmup', 'coldFactor']
  expect(silentOf((option, value) => smoothBursty({ rate: 5, [option]: value } as Unchecked), bursty)).toEqual([])
  expect(
    silentOf((option, value) => smoothWarmingUp({ rate: 5, warmup: '1s', [option]: value } as Unchecked), warming),
  ).toEqual([])
})

test('policy complains about options that contradict its text, and about wrong ones', () => {
  const wrong: Unchecked[] = [{ limit: 1000 }, { window: '1d' }, { limit: 2 }, null, '', 'x', 5, [], neverCalled]
  for (const options of wrong)
    expect(
      errorOf(() => policy('2/1h', options)),
      name(options),
    ).toBeDefined()
  expect(errorOf(() => policy('2/1h burst 4', { burst: 5 } as Unchecked))?.code).toBe('HEADGATE_POLICY')
  expect(silentOf((option, value) => policy('2/1h', { [option]: value }), policyOptions.slice(2))).toEqual([])
})

test('RateLimiter complains about every wrong option', () => {
  const options = ['store', 'name', 'penalty', 'onChange', 'onStoreError', 'onThreshold', 'instances', 'storeTimeout']
  const make = (option: string, value: unknown) => new RateLimiter({ policies: '9/1h', [option]: value } as Unchecked)
  expect(silentOf(make, options)).toEqual([])
  for (const policies of [...mistakes, slidingWindow, [slidingWindow]]) {
    expect(
      errorOf(() => new RateLimiter({ policies } as Unchecked)),
      name(policies),
    ).toBeDefined()
  }
  for (const all of mistakes)
    expect(
      errorOf(() => new RateLimiter(all as Unchecked)),
      name(all),
    ).toBeDefined()
})

const client = { evalSha: async () => [], eval: async () => [] }

test('the stores complain about every wrong option', () => {
  const memory = (option: string, value: unknown) => memoryStore({ [option]: value } as Unchecked)
  expect(silentOf(memory, ['maxKeys', 'onFull', 'clock'])).toEqual([])
  const lru = (option: string, value: unknown) => lruStore({ [option]: value } as Unchecked)
  expect(silentOf(lru, ['maxKeys', 'clock'])).toEqual([])
  const redis = (option: string, value: unknown) => redisStore({ client, [option]: value } as Unchecked)
  const redisOptions = [
    'client',
    'prefix',
    'timeout',
    'ttlMargin',
    'time',
    'clock',
    'batch',
    'refusalCache',
    'subscriber',
    'leases',
    'breaker',
    'reconnectAfter',
  ]
  expect(silentOf(redis, redisOptions)).toEqual([])
  for (const make of [memoryStore, lruStore, redisStore] as Make[]) {
    for (const all of [null, '', 'x', 0, NaN, true, [], neverCalled])
      expect(
        errorOf(() => make(all)),
        name(all),
      ).toBeDefined()
  }
})

test.each([
  ['seconds', () => Math.floor(Date.now() / 1000)],
  ['milliseconds', () => Date.now()],
  ['fractions', () => Date.now() + 0.5],
  ['a bigint', () => 5n],
])('a clock that returns %s is an error in every place', (_, clock) => {
  for (const make of [
    () => memoryStore({ clock } as Unchecked),
    () => lruStore({ clock } as Unchecked),
    () => redisStore({ client, clock } as Unchecked),
    () => new Pacer('9/1h', { clock } as Unchecked),
  ]) {
    expect(errorOf(make)?.code).toBe('HEADGATE_CLOCK')
  }
})

test('Pacer complains about every wrong option, in both positions', () => {
  const options = ['store', 'name', 'maxQueue', 'order', 'concurrency', 'unref', 'onStoreError', 'instances']
  options.push('storeTimeout', 'onProgress', 'clock', 'sleeper')
  expect(silentOf((option, value) => new Pacer('9/1h', { [option]: value } as Unchecked), options)).toEqual([])
  expect(silentOf((option, value) => new Pacer({ policies: '9/1h', [option]: value } as Unchecked), options)).toEqual(
    [],
  )
  for (const all of [null, '', 'x', 0, NaN, true, [], neverCalled]) {
    expect(
      errorOf(() => new Pacer('9/1h', all as Unchecked)),
      name(all),
    ).toBeDefined()
    expect(
      errorOf(() => new Pacer({ policies: '9/1h' }, all as Unchecked)),
      name(all),
    ).toBeDefined()
    expect(
      errorOf(() => new Pacer(all as Unchecked)),
      name(all),
    ).toBeDefined()
  }
})

test('on a store that other programs reach, a limiter without a name is an error in every place', () => {
  const stores = [redisStore({ client }), compareAndSetStore({ read: () => undefined, swap: () => true })]
  for (const store of stores) {
    const unnamed = [
      () => new RateLimiter({ policies: '9/1h', store }),
      () => forExpress({ policies: '9/1h', store }),
      () => forExpress({ limit: 9, window: '1h', store }),
      () => forExpress({ policies: () => '9/1h', store }),
      () => new Pacer('9/1h', { store }),
    ]
    for (const make of unnamed)
      expect(errorOf(make)).toMatchObject({ code: 'HEADGATE_NAME', message: expect.stringContaining("name: 'api'") })
    new RateLimiter({ name: 'api', policies: '9/1h', store })
    new Pacer('9/1h', { name: 'calls', store })
  }
  new RateLimiter({ policies: '9/1h', store: memoryStore() })
})

const read = () => undefined
const swap = () => true
const memcached = { gets: read, cas: read, add: read }
const redis = new Redis({ lazyConnect: true })
const pacer = new Pacer('9/1h')
const emptyLimiter = new RateLimiter({ policies: '9/1h' })
const salt = 'a secret of many letters'

/** Everything that takes an object of options: valid ones, and what reads them. */
const readers: Record<string, [valid: object, make: (options: Unchecked) => unknown]> = {
  RateLimiter: [{ policies: '9/1h' }, (options) => new RateLimiter(options)],
  penalty: [{ after: 5, within: '1m', ban: '1m' }, (penalty) => new RateLimiter({ policies: '9/1h', penalty })],
  list: [{}, (options) => emptyLimiter.list(options)],
  memoryStore: [{}, memoryStore],
  lruStore: [{}, lruStore],
  compareAndSetStore: [{ read, swap }, compareAndSetStore],
  hitStore: [{ hit: read }, hitStore],
  memcachedStore: [{ client: memcached }, memcachedStore],
  clusterStore: [{}, clusterStore],
  redisStore: [{ client: redis }, redisStore],
  'a breaker': [{}, (breaker) => redisStore({ client: redis, breaker })],
  'a cache of refusals': [{ longest: '1s' }, (refusalCache) => redisStore({ client: redis, refusalCache })],
  batches: [{ size: 5 }, (batch) => redisStore({ client: redis, batch })],
  leases: [{ units: 5 }, (leases) => redisStore({ client: redis, leases })],
  'leases by demand': [{ units: 'auto' }, (leases) => redisStore({ client: redis, leases })],
  inspectRedis: [{}, (options) => inspectRedis(redis, options)],
  postgresStore: [{ pool: new Pool() }, postgresStore],
  inspectPostgres: [{}, (options) => inspectPostgres(new Pool(), options)],
  faultyStore: [{}, (options) => faultyStore(memoryStore(), options)],
  'a fault': [{ kind: 'hang' }, (fault) => faultyStore(memoryStore(), { faults: [fault] })],
  Pacer: [{}, (options) => new Pacer('9/1h', options)],
  pacedFetch: [{ pacer }, (options) => pacedFetch(fetch, options)],
  quotas: [{}, (quotas) => pacedFetch(fetch, { pacer, quotas })],
  byIp: [{ platform: 'nginx' }, byIp],
  rateLimit: [{ policies: '9/1h' }, forExpress],
  delay: [{ max: '1s' }, (delay) => forExpress({ policies: '9/1h token-bucket', delay })],
  headers: [{}, (headers) => forExpress({ policies: '9/1h', headers })],
  'legacy headers': [{}, (legacy) => forExpress({ policies: '9/1h', headers: { legacy } })],
  'partition keys': [{ salt }, (pk) => forExpress({ policies: '9/1h', headers: { dialects: 'draft-8', pk } })],
  logRefusals: [{ logger: console }, logRefusals],
  HeadgateInstrumentation: [{ enabled: false }, (options) => new HeadgateInstrumentation(options)],
}

/** The names that the error for an unknown option lists. */
function knownTo(make: Make, valid: object): string[] {
  const { message } = errorOf(() => make({ ...valid, unknown: 1 })) as HeadgateError
  return (/has no option "unknown"\. It takes: (.+)\.$/.exec(message) as RegExpExecArray)[1]!.split(', ')
}

describe('null is never a default', () => {
  test.each(Object.entries(readers))('%s', (_, [valid, make]) => {
    expect(errorOf(() => make(valid))).toBeUndefined()
    const silent = knownTo(make, valid).filter(
      (option) => errorOf(() => make({ ...valid, [option]: null })) === undefined,
    )
    expect(silent).toEqual([])
  })

  test.each(Object.entries(readers))('nor are the options of %s', (_, [, make]) => {
    for (const all of [5, 'x', []]) expect(errorOf(() => make(all))).toBeDefined()
  })
})
