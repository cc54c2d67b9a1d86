import type { Algorithm } from './algorithm.ts'
import { Bucket } from './bucket.ts'
import { Closed } from './closed.ts'
import { Concurrency } from './concurrency.ts'
import { IntervalBucket } from './interval-bucket.ts'
import { Penalty } from './penalty.ts'
import { SegmentedWindow } from './segmented-window.ts'
import { SlidingLog } from './sliding-log.ts'
import { SlidingWindow } from './sliding-window.ts'
import { SmoothBursty } from './smooth-bursty.ts'
import { SmoothWarmingUp } from './smooth-warming-up.ts'

/** The numbers that define an algorithm. A store keeps them beside a state, for other processes and later deploys. */
export type Definition = Pick<Algorithm, 'kind' | 'span' | 'parameters'>

type Reviver = (span: number, ...parameters: number[]) => Algorithm

const revivers = new Map(
  Object.entries<Reviver>({
    // Weight and drain have no common divisor, so they serve as window and limit.
    bucket: (_, burst = 0, weight = 0, drain = 0) => new Bucket(drain, weight, burst),
    intervalBucket: (_, limit = 0, window = 0, burst = 0, aligned = 0) =>
      new IntervalBucket(limit, window, burst, aligned === 1),
    slidingWindow: (span, limit = 0) => new SlidingWindow(limit, span),
    segmentedWindow: (span, limit = 0, segments = 0) => new SegmentedWindow(limit, span, segments),
    slidingLog: (span, limit = 0) => new SlidingLog(limit, span),
    concurrency: (span, limit = 0) => new Concurrency(limit, span),
    penalty: (_, after = 0, within = 0, forget = 0, ...blocks) => new Penalty(after, within, forget, blocks),
    smoothBursty: (_, stable = 0, max = 0) => new SmoothBursty(stable, max),
    smoothWarmingUp: (_, stable = 0, warmup = 0, coldFactor = 0) => new SmoothWarmingUp(stable, warmup, coldFactor),
    closed: () => new Closed(),
  }),
)

/** The algorithm with that definition; undefined for an unknown kind. */
export function revive({ kind, span, parameters }: Definition): Algorithm | undefined {
  return revivers.get(kind)?.(span, ...parameters)
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
