/*
 * Guava's SmoothBursty: permits (units) are stored while no call comes, and stored permits cost no waiting time.
 *
 *     price of
 *     a permit   stable  |_ _ _ _ _ _ ____________
 *                        |            |  fresh
 *                     0  |____________|
 *                        0  stored   max
 *
 * A limiter starts without stored permits. If `max` is 0, nothing is stored, so each call waits until the price of the
 * calls before it has passed.
 *
 * Bound: in any span of time t, at most max + rate * t units, plus the cost of the last call. Only the call after the last
 * call waits for this cost.
 */
import { type Duration, duration, invalidOption } from '../../common/index.ts'
import type { Policy } from '../algorithm.ts'
import { defineSmoothPolicy, type SmoothOptions } from './define-smooth-policy.ts'
import { Smooth } from './smooth.ts'

export class SmoothBursty extends Smooth {
  readonly kind = 'smoothBursty'
  readonly parameters: readonly number[]
  protected readonly initial = 0

  /**
   * @param stable microseconds per fresh permit @param max the most stored permits @param window the option `per` in
   *   microseconds
   */
  constructor(stable: number, max: number, window: number = stable) {
    super(stable, max, stable, stable, window)
    this.parameters = [stable, max]
  }

  protected price(): number {
    return 0
  }

  protected rescaled(stored: number, max: number): number {
    return max === 0 ? 0 : (stored * this.max) / max
  }
}

/** The options of `smoothBursty`. */
export interface SmoothBurstyOptions extends SmoothOptions {
  /** The longest idle time for which permits are stored. Default `'1s'`; with 0, no permits are stored. */
  maxBurst?: Duration | undefined
  /** The most stored permits. Give this option or `maxBurst`, not both. Default: the permits that are added in the time `maxBurst`. */
  maxStored?: number | undefined
}

/**
 * `rate` units in each `per`, plus the units that were stored while no call came: Guava's `RateLimiter.create(rate)`.
 * @throws HeadgateError if an option is unknown or out of range
 */
export function smoothBursty(options: SmoothBurstyOptions): Policy {
  return defineSmoothPolicy('smoothBursty', options, ['maxBurst', 'maxStored'], (rate, per) => {
    const { maxBurst, maxStored } = options
    if (maxStored === undefined) {
      const burst = duration('1s', { least: 0, code: 'HEADGATE_BURST' })(maxBurst, 'smoothBursty: maxBurst')
      return new SmoothBursty((per * 1000) / rate, (burst / per) * rate, per * 1000)
    }
    if (maxBurst === undefined && typeof maxStored === 'number' && maxStored >= 0 && maxStored < Infinity) {
      return new SmoothBursty((per * 1000) / rate, maxStored, per * 1000)
    }
    const expected = 'a number of units from 0, without maxBurst'
    const fix = 'Give one of the two: maxStored: 0 spaces calls evenly.'
    throw invalidOption('smoothBursty: maxStored', expected, maxStored, fix, 'HEADGATE_BURST')
  })
}
