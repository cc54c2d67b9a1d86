/* For each kind of algorithm: how to make the algorithm from a stored definition, and which functions make its policies. */
import { HeadgateError, shown } from '../common/index.ts'
import type { Algorithm, Kind } from './algorithm.ts'
import { SpentPenalty } from './bans/index.ts'
import { Bucket, gcra, IntervalBucket, leakyBucket, tokenBucket } from './buckets/index.ts'
import { Concurrency, concurrency, SlidingLog, slidingLog } from './logs/index.ts'
import { SmoothBursty, SmoothWarmingUp, smoothBursty, smoothWarmingUp } from './smooth/index.ts'
import {
  CalendarWindow,
  counter,
  fixedWindow,
  SegmentedWindow,
  SlidingWindow,
  segmentedWindow,
  slidingWindow,
} from './windows/index.ts'

/**
 * The numbers that define an algorithm. Stores save these numbers together with each state, so that a process with other limits can
 * read the state.
 */
export interface Definition extends Pick<Algorithm, 'span' | 'parameters'> {
  /** A `Kind`, or the name of a kind that only another version of headgate has. */
  readonly kind: string
}

interface KindOf {
  /** Makes the algorithm from its definition. @param window the window of the policy, in microseconds */
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
  // The constructor is in headgate/calendar, so that an application without `calendarWindow` does not load time zones.
  calendarWindow: {
    constructors: [],
    revive: (_, [limit = 0, months = 0, days = 0]) => new CalendarWindow(limit, months, days),
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
  // A penalty has no public constructor such as `tokenBucket`, because a limiter makes the penalty from its option `penalty`.
  penalty: {
    constructors: [],
    revive: (_, parameters) => SpentPenalty.of(parameters),
  },
}

export function isKind(kind: string): kind is Kind {
  return Object.hasOwn(kinds, kind)
}

/**
 * The algorithm that has this definition; undefined for an unknown kind.
 * @param window the window of the policy, in microseconds; only the algorithm's `tolerance` depends on it: by how much a
 *   clock may go back before the algorithm changes a state
 */
export function revive({ kind, span, parameters }: Definition, window?: number): Algorithm | undefined {
  return isKind(kind) ? kinds[kind].revive(span, parameters, window) : undefined
}

/**
 * The algorithm that wrote a stored state.
 * @param name the name of the policy under which the state is stored, for the error
 * @throws HeadgateError `HEADGATE_STORE_RECORD` for an unknown kind: another version of headgate wrote the state
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

/** True for a function that makes policies, such as `gcra`: the user passed the function instead of its result. */
export function isConstructor(value: unknown): boolean {
  return Object.values(kinds).some(({ constructors }) => constructors.includes(value))
}

/** True if the definitions are equal, so that a state which was written under `a` needs no conversion under `b`. */
export function sameDefinition(a: Definition, b: Definition): boolean {
  return (
    a.kind === b.kind &&
    a.span === b.span &&
    a.parameters.length === b.parameters.length &&
    a.parameters.every((parameter, n) => parameter === b.parameters[n])
  )
}
