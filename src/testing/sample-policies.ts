import { gcra, leakyBucket, tokenBucket } from '../algorithms/buckets/index.ts'
import type { Kind, Policy } from '../algorithms/index.ts'
import { concurrency, slidingLog } from '../algorithms/logs/index.ts'
import { fixedWindow, segmentedWindow, slidingWindow } from '../algorithms/windows/index.ts'
import type { PolicyOptions } from '../policy/index.ts'

type MakePolicy = (options: PolicyOptions) => Policy

/** The policies that tests use, by their names in test titles. Kinds without a policy here have separate tests. */
const samplesOf: Readonly<Record<Kind, Readonly<Record<string, MakePolicy>>>> = {
  intervalBucket: {
    'fixed-window': fixedWindow,
    'fixed-window from the first request': (options) => fixedWindow({ ...options, align: 'first-request' }),
    'token-bucket by intervals': (options) => tokenBucket({ ...options, burst: options.limit + 3, refill: 'interval' }),
  },
  slidingWindow: { 'sliding-window': slidingWindow },
  segmentedWindow: { 'segmented-window': (options) => segmentedWindow({ ...options, segments: 4 }) },
  slidingLog: { 'sliding-log': slidingLog },
  bucket: {
    'token-bucket': (options) => tokenBucket({ ...options, burst: options.limit + 3 }),
    'leaky-bucket': leakyBucket,
    gcra: (options) => gcra({ ...options, burst: 2 }),
  },
  // No samples: the windows of a calendar are too long for these tests. Calendars have separate tests.
  calendarWindow: {},
  concurrency: {
    concurrency: ({ countRefused, window, ...options }) => concurrency({ name: 'at-once', ...options, lease: window }),
  },
  // No samples of Guava's limiters: a store may remove the state of a key that has its full quota, and the key's new state
  // then limits more strictly than the removed state would.
  smoothBursty: {},
  smoothWarmingUp: {},
  penalty: {},
}

export const samples: Readonly<Record<string, MakePolicy>> = Object.assign({}, ...Object.values(samplesOf))
