/**
 * Every option except `store` may be undefined, as its type says: the option then has its default. So a program that compiles with
 * `exactOptionalPropertyTypes` can pass an option on. `store` is left out, because an undefined store gives a warning.
 */
import { Redis } from 'ioredis'
import { Pool } from 'pg'
import { expect, test } from 'vitest'
import type { MessageOptions } from '../adapters/sockets/index.ts'
import { type CalendarWindowOptions, calendarWindow } from '../src/calendar/index.ts'
import { createGuard } from '../src/http.ts'
import * as headgate from '../src/index.ts'
import * as pacing from '../src/pacer/index.ts'
import { type PostgresStoreOptions, postgresStore } from '../src/stores/postgres/index.ts'
import { type RedisStoreOptions, redisStore } from '../src/stores/redis/index.ts'
import { plainFramework } from './support/plain-framework.ts'

type Optional<Options> = {
  [Option in keyof Options]-?: object extends Pick<Options, Option> ? Option : never
}[keyof Options]

/** The compiler refuses an option that is missing here, and an option whose type does not take undefined. */
function all<Options>(
  options: Options & { readonly [Option in Exclude<Optional<Options>, 'store'>]-?: undefined },
): Options {
  return options
}

const no = undefined
const policy = { name: no, label: no, listed: no, scope: no, shadow: no }
const window = { limit: 5, window: '1m', countRefused: no, ...policy } as const
const server = { prefix: no, timeout: no, ttlMargin: no, breaker: no }
const limiter = new headgate.RateLimiter({ policies: '5/1m' })
const pacer = new pacing.Pacer('5/1s')

test.each<[string, () => unknown]>([
  ['a policy', () => headgate.slidingWindow(all<headgate.PolicyOptions>(window))],
  ['a bucket', () => headgate.gcra(all<headgate.BurstOptions>({ ...window, burst: no }))],
  ['tokenBucket', () => headgate.tokenBucket(all<headgate.TokenBucketOptions>({ ...window, burst: no, refill: no }))],
  [
    'fixedWindow',
    () =>
      headgate.fixedWindow(all<headgate.FixedWindowOptions>({ ...window, align: no, thresholds: no, giveBack: no })),
  ],
  [
    'segmentedWindow',
    () => headgate.segmentedWindow(all<headgate.SegmentedWindowOptions>({ ...window, segments: no })),
  ],
  [
    'concurrency',
    () => headgate.concurrency(all<headgate.ConcurrencyOptions>({ limit: 5, ...policy, lease: no, retryAfter: no })),
  ],
  [
    'smoothBursty',
    () =>
      headgate.smoothBursty(
        all<headgate.SmoothBurstyOptions>({
          rate: 5,
          countRefused: no,
          ...policy,
          per: no,
          maxBurst: no,
          maxStored: no,
        }),
      ),
  ],
  [
    'smoothWarmingUp',
    () =>
      headgate.smoothWarmingUp(
        all<headgate.SmoothWarmingUpOptions>({
          rate: 5,
          warmup: '1s',
          countRefused: no,
          ...policy,
          per: no,
          coldFactor: no,
        }),
      ),
  ],
  [
    'calendarWindow',
    () =>
      calendarWindow(
        all<CalendarWindowOptions>({
          ...{ limit: 5, every: 'month', countRefused: no, ...policy },
          ...{ anchor: no, timeZone: no, weekStart: no, thresholds: no },
        }),
      ),
  ],
  [
    'a limiter',
    () =>
      new headgate.RateLimiter(
        all<headgate.RateLimiterOptions>({
          ...{ policies: '5/1m', name: no, penalty: no, onChange: no, onStoreError: no, instances: no },
          ...{ storeTimeout: no, top: no, onThreshold: no, candidate: no },
        }),
      ),
  ],
  [
    'a penalty',
    () => {
      const penalty = all<Omit<headgate.PenaltyOptions, 'on' | 'ban'>>({
        ...{ after: no, within: no, until: no, forget: no, extend: no, restart: no },
        ...{ scope: no, name: no, status: no },
      })
      return new headgate.RateLimiter({ policies: '5/1m', penalty: { on: 'spent', ban: '1h', ...penalty } })
    },
  ],
  [
    'byIp',
    () =>
      headgate.byIp(
        all<headgate.ByIpOptions>({ ipv6Prefix: no, trustedProxies: no, platform: no, proxies: no, warn: no }),
      ),
  ],
  [
    'a middleware',
    () => {
      const legacy = all<headgate.LegacyOptions>({ policy: no, limit: no, remaining: no, reset: no, resetAs: no })
      const headers = all<headgate.HeadersOptions>({ dialects: no, near: no, legacy: no, pk: no })
      const delay = all<headgate.DelayOptions>({ max: '1s', queue: no })
      createGuard(plainFramework, { policies: '5/1m token-bucket', headers: { ...headers, legacy }, delay })
      return createGuard(plainFramework, { policies: '5/1m', headers })
    },
  ],
  ['consume', () => limiter.consume('ann', all<headgate.CostOptions>({ cost: no, calendar: no }))],
  [
    'reserve',
    () =>
      limiter.reserve(
        'ann',
        all<headgate.ReserveOptions>({ cost: no, calendar: no, maxWait: no, expires: no, onExpiry: no }),
      ),
  ],
  ['usage', () => limiter.usage('ann', all<headgate.UsageOptions>({ calendar: no }))],
  ['ban', () => limiter.ban('bob', '1h', all<headgate.BanOptions>({ reason: no }))],
  ['list', () => limiter.list(all<headgate.ListOptions>({ refused: no, limit: no, scope: no })).next()],
  [
    'top',
    () =>
      new headgate.RateLimiter({ policies: '5/1m', top: 1 }).top(1, all<headgate.TopOptions>({ scope: no, reset: no })),
  ],
  [
    'override',
    () =>
      limiter.override('cid', {
        limit: 9,
        ...all<Omit<headgate.OverrideOptions, 'limit'>>({
          ...{ policy: no, add: no, policies: no, scale: no, until: no, reason: no, calendar: no },
        }),
      }),
  ],
  ['memoryStore', () => headgate.memoryStore(all<headgate.MemoryStoreOptions>({ maxKeys: no, onFull: no, clock: no }))],
  ['lruStore', () => headgate.lruStore(all<headgate.LruStoreOptions>({ maxKeys: no, clock: no }))],
  [
    'redisStore',
    () =>
      redisStore(
        all<RedisStoreOptions>({
          ...{ client: new Redis({ lazyConnect: true }), ...server, time: no, clock: no, batch: no },
          ...{ refusalCache: no, subscriber: no, leases: no, reconnectAfter: no },
        }),
      ),
  ],
  [
    'postgresStore',
    () =>
      postgresStore(
        all<PostgresStoreOptions>({
          ...{ pool: new Pool(), ...server, table: no, transactions: no, prepare: no, synchronous: no, clock: no },
        }),
      ),
  ],
  [
    'logRefusals',
    () =>
      headgate.logRefusals(
        all<headgate.LogRefusalsOptions>({
          logger: { warn: () => undefined },
          sample: no,
          maxLines: no,
          key: no,
          secret: no,
          clock: no,
        }),
      )(),
  ],
  [
    'a pacer',
    () =>
      new pacing.Pacer(
        '5/1s',
        all<pacing.PacerOptions>({
          ...{ name: no, maxQueue: no, order: no, horizon: no, concurrency: no, spacing: no, poll: no, random: no },
          ...{ unref: no, storeTimeout: no, onStoreError: no, instances: no, onProgress: no, clock: no, sleeper: no },
        }),
      ),
  ],
  [
    'throttle',
    () =>
      pacer.throttle(
        () => 1,
        all<pacing.ThrottleOptions>({
          ...{ signal: no, timeout: no, priority: no, onDelay: no, cost: no, runTimeout: no },
        }),
      ),
  ],
  ['hold', () => pacer.hold('1ms', all<pacing.HoldOptions>({ shared: no }))],
  [
    'pacedFetch',
    () =>
      pacing.pacedFetch(
        fetch,
        all<pacing.PacedFetchOptions>({
          ...{ pacer, key: no, priority: no, cost: no, quotas: no, retries: no, retryMethods: no },
          ...{ maxHold: no, backoff: no, runTimeout: no, random: no, now: no },
        }),
      ),
  ],
])('%s takes options that are undefined', async (_, make) => {
  await expect((async () => void (await make()))()).resolves.toBe(undefined)
})

test('the options of limited messages may be undefined too', () => {
  const options = all<MessageOptions<string>>({
    ...{ key: no, overLimit: no, cost: no, calendar: no, notify: no, maxWait: no, maxQueue: no, sleeper: no },
  })
  expect(Object.keys(options)).toHaveLength(8)
})
