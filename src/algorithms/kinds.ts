/* Each kind of algorithm: how its definition becomes arithmetic again, and who makes policies of it. */
import type { Algorithm, Kind } from './algorithm.ts'
import { Penalty } from './bans/index.ts'
import { Bucket, gcra, IntervalBucket, leakyBucket, tokenBucket } from './buckets/index.ts'
import { Concurrency, concurrency, SlidingLog, slidingLog } from './logs/index.ts'
import { SmoothBursty, SmoothWarmingUp, smoothBursty, smoothWarmingUp } from './smooth/index.ts'
import {
  counter,
  fixedWindow,
  SegmentedWindow,
  SlidingWindow,
  segmentedWindow,
  slidingWindow,
} from './windows/index.ts'

/** The numbers that define an algorithm. A store keeps them beside a state, for other processes and later deploys. */
export interface Definition extends Pick<Algorithm, 'span' | 'parameters'> {
  /** A `Kind`, or what another build calls so. */
  readonly kind: string
}

interface KindOf {
  /** @param window of the policy, in microseconds */
  readonly revive: (span: number, parameters: readonly number[], window?: number) => Algorithm
  /** The functions that make policies of this kind. */
  readonly constructors: readonly unknown[]
}

const kinds: Readonly<Record<Kind, KindOf>> = {
  bucket: {
    constructors: [tokenBucket, leakyBucket, gcra],
    revive: (_, [burst = 0, weight = 0, drain = 0], window = weight) => {
      const divisor = Math.round(window / weight)
      return new Bucket(drain * divisor, weight * divisor, burst)
    },
  },
  intervalBucket: {
    constructors: [fixedWindow, counter, tokenBucket],
    revive: (_, [limit = 0, window = 0, burst = 0, aligned]) => new IntervalBucket(limit, window, burst, aligned === 1),
  },
  slidingWindow: {
    constructors: [slidingWindow],
    revive: (span, [limit = 0]) => new SlidingWindow(limit, span),
  },
  segmentedWindow: {
    constructors: [segmentedWindow],
    revive: (span, [limit = 0, segments = 0]) => new SegmentedWindow(limit, span, segments),
  },
  slidingLog: {
    constructors: [slidingLog],
    revive: (span, [limit = 0]) => new SlidingLog(limit, span),
  },
  concurrency: {
    constructors: [concurrency],
    revive: (span, [limit = 0]) => new Concurrency(limit, span),
  },
  smoothBursty: {
    constructors: [smoothBursty],
    revive: (_, [stable = 0, max = 0], window) => new SmoothBursty(stable, max, window),
  },
  smoothWarmingUp: {
    constructors: [smoothWarmingUp],
    revive: (_, [stable = 0, warmup = 0, coldFactor = 0], window) =>
      new SmoothWarmingUp(stable, warmup, coldFactor, window),
  },
  // The option `penalty` of a limiter makes it.
  penalty: {
    constructors: [],
    revive: (_, parameters) => Penalty.of(parameters),
  },
}

export function isKind(kind: string): kind is Kind {
  return Object.hasOwn(kinds, kind)
}

/**
 * The algorithm with that definition; undefined for an unknown kind.
 * @param window of its policy, in microseconds: how far back a clock may go depends on it, and nothing else does
 */
export function revive({ kind, span, parameters }: Definition, window?: number): Algorithm | undefined {
  return isKind(kind) ? kinds[kind].revive(span, parameters, window) : undefined
}

/** True for a function that makes policies. One that was not called is no policy. */
export function isConstructor(value: unknown): boolean {
  return Object.values(kinds).some(({ constructors }) => constructors.includes(value))
}

/** True if a state under one definition means the same under the other. */
export function sameDefinition(a: Definition, b: Definition): boolean {
  return (
    a.kind === b.kind &&
    a.span === b.span &&
    a.parameters.length === b.parameters.length &&
    a.parameters.every((parameter, n) => parameter === b.parameters[n])
  )
}
