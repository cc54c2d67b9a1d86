import type { Algorithm, Kind } from './algorithm.ts'
import { Bucket } from './bucket.ts'
import { Concurrency } from './concurrency.ts'
import { IntervalBucket } from './interval-bucket.ts'
import { Penalty } from './penalty.ts'
import { SegmentedWindow } from './segmented-window.ts'
import { SlidingLog } from './sliding-log.ts'
import { SlidingWindow } from './sliding-window.ts'
import { SmoothBursty } from './smooth-bursty.ts'
import { SmoothWarmingUp } from './smooth-warming-up.ts'

/** The numbers that define an algorithm. A store keeps them beside a state, for other processes and later deploys. */
export interface Definition extends Pick<Algorithm, 'span' | 'parameters'> {
  /** A `Kind`, or what another build calls so. */
  readonly kind: string
}

type Numbers = readonly number[]
/** @param window of the policy, in microseconds */
type Reviver = (span: number, parameters: Numbers, window?: number) => Algorithm

const revivers: Readonly<Record<Kind, Reviver>> = {
  bucket: (_, [burst = 0, weight = 0, drain = 0], window = weight) => {
    const divisor = Math.round(window / weight)
    return new Bucket(drain * divisor, weight * divisor, burst)
  },
  intervalBucket: (_, [limit = 0, window = 0, burst = 0, aligned = 0]) =>
    new IntervalBucket(limit, window, burst, aligned === 1),
  slidingWindow: (span, [limit = 0]) => new SlidingWindow(limit, span),
  segmentedWindow: (span, [limit = 0, segments = 0]) => new SegmentedWindow(limit, span, segments),
  slidingLog: (span, [limit = 0]) => new SlidingLog(limit, span),
  concurrency: (span, [limit = 0]) => new Concurrency(limit, span),
  penalty: (_, parameters) => Penalty.of(parameters),
  smoothBursty: (_, [stable = 0, max = 0], window) => new SmoothBursty(stable, max, window),
  smoothWarmingUp: (_, [stable = 0, warmup = 0, coldFactor = 0], window) =>
    new SmoothWarmingUp(stable, warmup, coldFactor, window),
}

/**
 * The algorithm with that definition; undefined for an unknown kind.
 * @param window of its policy, in microseconds: how far back a clock may go depends on it, and nothing else does
 */
export function revive({ kind, span, parameters }: Definition, window?: number): Algorithm | undefined {
  return Object.hasOwn(revivers, kind) ? revivers[kind as Kind](span, parameters, window) : undefined
}

const knownByDefinition = new WeakMap<Algorithm, Algorithm>()

/**
 * The algorithm as other processes know it, by its definition alone. A state that was left under other numbers is read so
 * in every store. (A policy knows its window as well, which may be longer than a refill.)
 */
export function byDefinition(algorithm: Algorithm): Algorithm {
  let known = knownByDefinition.get(algorithm)
  if (known === undefined) {
    known = revive(algorithm) ?? algorithm
    knownByDefinition.set(algorithm, known)
  }
  return known
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
