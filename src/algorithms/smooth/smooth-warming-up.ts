/*
 * Guava's SmoothWarmingUp: a limiter that had no calls for some time is cold: it admits the next calls at a lower rate.
 *
 * A permit allows one unit. While no calls come, permits are stored, up to `max`. A permit costs the time for which the next
 * call has to wait. Here a stored permit costs more time than a fresh permit, which a call gets when no permits are stored. A
 * limiter with `max` stored permits is cold: the first permit costs the cold interval, which is coldFactor times the stable
 * interval. While stored permits are spent, the interval falls along a straight line. Below the threshold, each permit costs
 * the stable interval.
 *
 *     price of          ^
 *     a permit    cold  +                  /
 *                       |                /.
 *                       |              /  .
 *                       |            /    .     the price of permits is the area above them:
 *                       |          /      .     a trapezoid right of the threshold,
 *               stable  +---------/  WARM .     a rectangle left of it
 *                       |         .   UP  .
 *                       |         .       .
 *                     0 +---------+-------+-->  stored permits
 *                       0    threshold   max
 *
 * The area of the trapezoid is the time `warmup`. threshold = warmup / 2 / stable, so the area of the rectangle is half of
 * `warmup`, and max = threshold + 2 * warmup / (stable + cold). Without calls, the stored permits rise from 0 to max in `warmup`.
 *
 * A new limiter is cold. Bound: in any span t, rate * t units, plus the cost of the last call.
 */
import { type Duration, invalidOption, milliseconds } from '../../common/index.ts'
import type { Policy } from '../algorithm.ts'
import { defineSmoothPolicy, type SmoothOptions } from './define-smooth-policy.ts'
import { Smooth } from './smooth.ts'

export class SmoothWarmingUp extends Smooth {
  readonly kind = 'smoothWarmingUp'
  readonly parameters: readonly number[]
  protected readonly initial: number
  readonly threshold: number
  readonly slope: number

  /**
   * @param stable microseconds that a permit costs when no permits are stored
   * @param warmup in microseconds
   * @param window the option `per`, in microseconds
   */
  constructor(stable: number, warmup: number, coldFactor: number, window: number = stable) {
    const cold = stable * coldFactor
    const threshold = (0.5 * warmup) / stable
    const max = threshold + (2 * warmup) / (stable + cold)
    super(stable, max, warmup / max, cold, window)
    this.initial = max
    this.threshold = threshold
    this.slope = (cold - stable) / (max - threshold)
    this.parameters = [stable, warmup, coldFactor]
  }

  protected price(stored: number, permits: number): number {
    const above = stored - this.threshold
    let micros = 0
    if (above > 0) {
      const taken = Math.min(above, permits)
      micros = Math.trunc((taken * (this.#intervalAt(above) + this.#intervalAt(above - taken))) / 2)
      permits -= taken
    }
    return micros + Math.trunc(this.stable * permits)
  }

  /** The microseconds that one stored permit costs, if `above` stored permits are above the threshold. */
  #intervalAt(above: number): number {
    return this.stable + above * this.slope
  }

  protected rescaled(stored: number, max: number): number {
    return (stored * this.max) / max
  }
}

/** The options of `smoothWarmingUp`. */
export interface SmoothWarmingUpOptions extends SmoothOptions {
  /** How long a cold limiter needs to reach the full rate, and an unused limiter to become cold: at least 1 ms, such as `'10s'`. */
  warmup: Duration
  /** How many times slower a cold limiter admits its first units: above 0, at most 1e6. Default 3. */
  coldFactor?: number | undefined
}

/**
 * `rate` units in each `per`, and fewer at first after a time without calls: Guava's `RateLimiter.create(rate, warmup)`.
 * @throws HeadgateError if an option is unknown or out of range
 */
export function smoothWarmingUp(options: SmoothWarmingUpOptions): Policy {
  return defineSmoothPolicy('smoothWarmingUp', options, ['warmup', 'coldFactor'], (rate, per) => {
    const warmup = milliseconds(options.warmup, 'smoothWarmingUp: warmup', 'HEADGATE_WINDOW')
    const { coldFactor = 3 } = options
    if (typeof coldFactor !== 'number' || !(coldFactor > 0) || coldFactor > 1e6) {
      const fix = 'Leave it out for 3.'
      throw invalidOption('smoothWarmingUp: coldFactor', 'a number above 0, at most 1e6', coldFactor, fix)
    }
    return new SmoothWarmingUp((per * 1000) / rate, warmup * 1000, coldFactor, per * 1000)
  })
}
