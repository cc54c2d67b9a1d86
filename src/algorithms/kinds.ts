/* For each kind of algorithm: how to make the arithmetic again from its definition, and which functions make policies. */
import { HeadgateError, shown } from '../common/index.ts'
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
  /** A `Kind`, or a name that another build uses. */
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
  // Limiters make a penalty from their option `penalty`.
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
 * @param window of its policy, in microseconds; only the tolerance of a clock that goes back depends on it
 */
export function revive({ kind, span, parameters }: Definition, window?: number): Algorithm | undefined {
  return isKind(kind) ? kinds[kind].revive(span, parameters, window) : undefined
}

/**
 * The algorithm that wrote a state under the name of a policy.
 * @throws HeadgateError `HEADGATE_STORE_RECORD` for an unknown kind: another version has counted here
 */
export function writerOf(name: string, definition: Definition): Algorithm {
  const writer = revive(definition)
  if (writer !== undefined) return writer
  throw new HeadgateError(
    'HEADGATE_STORE_RECORD',
    `The state of the policy ${shown(name)} is of a kind that this version does not know: ${shown(definition.kind)}. ` +
      'Run the version that wrote it, or delete the key with reset(key).',
    { uncounted: true },
  )
}

/** True for a function that makes policies: a user passed it without calling it. */
export function isConstructor(value: unknown): boolean {
  return Object.values(kinds).some(({ constructors }) => constructors.includes(value))
}

/** True if a state of `a` means the same under `b`. */
export function sameDefinition(a: Definition, b: Definition): boolean {
  return (
    a.kind === b.kind &&
    a.span === b.span &&
    a.parameters.length === b.parameters.length &&
    a.parameters.every((parameter, n) => parameter === b.parameters[n])
  )
}
