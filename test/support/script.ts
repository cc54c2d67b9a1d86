/** Random timelines for any policy, and a limiter whose clock a test moves. */

import { type Clock, type Policy, RateLimiter, type Store } from '../../src/index.ts'
import fc from './fast-check.ts'
import type { Promised } from './promised.ts'

export type CreateStore = (clock: Clock) => Store

/** Time passes, then a call comes. Both are relative, so that a script suits every policy. */
export interface Step {
  /** Microseconds, or thousandths of a window, or until the last decision's `retryAfter` or `resetAfter`. */
  after: { us: number } | { window: number } | { until: 'retryAfter' | 'resetAfter' }
  /** Units, or thousandths of the capacity. */
  cost: { units: number } | { capacity: number }
}

const after: fc.Arbitrary<Step['after']> = fc.oneof(
  { weight: 3, arbitrary: fc.constant({ us: 0 }) },
  { weight: 1, arbitrary: fc.record({ us: fc.integer({ min: 1, max: 3 }) }) },
  { weight: 2, arbitrary: fc.record({ us: fc.integer({ min: 1, max: 3000 }) }) },
  { weight: 4, arbitrary: fc.record({ window: fc.integer({ min: 1, max: 1200 }) }) },
  { weight: 1, arbitrary: fc.record({ window: fc.constantFrom(1000, 2000, 2500, 5000) }) },
  { weight: 3, arbitrary: fc.record({ until: fc.constant<'retryAfter' | 'resetAfter'>('retryAfter') }) },
  { weight: 1, arbitrary: fc.record({ until: fc.constant<'retryAfter' | 'resetAfter'>('resetAfter') }) },
)

export const cost: fc.Arbitrary<Step['cost']> = fc.oneof(
  { weight: 3, arbitrary: fc.constant({ units: 1 }) },
  { weight: 2, arbitrary: fc.record({ units: fc.integer({ min: 1, max: 5 }) }) },
  { weight: 4, arbitrary: fc.record({ capacity: fc.integer({ min: 1, max: 1100 }) }) },
)

export const step: fc.Arbitrary<Step> = fc.record({ after, cost })

export const script: fc.Arbitrary<Step[]> = fc.array(step, { minLength: 1, maxLength: 25 })

/** Microseconds since the epoch: the epoch itself, today, and later. */
export const start: fc.Arbitrary<number> = fc.oneof(
  fc.integer({ min: 0, max: 10_000_000 }),
  fc.integer({ min: 1_767_225_600_000_000, max: 1_800_000_000_000_000 }),
)

export function units(cost: Step['cost'], capacity: number): number {
  return 'units' in cost ? cost.units : Math.max(1, Math.ceil((capacity * cost.capacity) / 1000))
}

/** The times of a decision that a step may wait for. */
export interface Waits {
  retryAfter: number
  resetAfter: number
}

export function elapsed(after: Step['after'], window: number, last: Waits): number {
  if ('us' in after) return after.us
  if ('window' in after) return Math.floor((window * after.window) / 1000)
  const wait = last[after.until]
  return Number.isFinite(wait) ? wait * 1000 : 0
}

/** A limiter whose time a test sets, in microseconds. */
export class Rig {
  time: number
  readonly limiter: RateLimiter

  constructor(create: CreateStore, policies: Policy | readonly Policy[], time: number) {
    this.time = time
    this.limiter = new RateLimiter({ name: 'laws', policies, store: create(() => this.time) })
  }
}

/** Plays a script: advances the time and calls with a cost in units. The result tells later steps how long to wait. */
export async function play(
  steps: readonly Step[],
  { capacity, window }: Pick<Promised, 'capacity' | 'window'>,
  startedAt: number,
  call: (time: number, cost: number) => Promise<Waits>,
): Promise<number> {
  let time = startedAt
  let last: Waits = { retryAfter: 0, resetAfter: 0 }
  for (const { after, cost } of steps) {
    time += elapsed(after, window, last)
    last = await call(time, units(cost, capacity))
  }
  return time
}
