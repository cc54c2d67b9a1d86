/*
 * Guava's SmoothWarmingUp: a limiter that was idle is cold, and starts slowly.
 *
 * Stored permits stand for coldness here, so they cost more than fresh ones. A limiter with `max` stored permits is cold: it
 * gives the first permit at the cold interval, which is coldFactor times the stable one. As stored permits are spent, the
 * interval falls along a straight line, and from the threshold on the limiter runs at the stable interval.
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
 * The area of the trapezoid is the warm-up time. threshold = warmup / 2 / stable, so the rectangle takes half of `warmup`, and
 * max = threshold + 2 * warmup / (stable + cold). While idle, the limiter cools down from 0 to max in `warmup`.
 *
 * A limiter starts cold. Bound: in any span t, rate * t units, plus the cost of the last call.
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

  /** @param window the `per` of the rate, in microseconds */
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

  /** The price of a stored permit that lies `above` the threshold. */
  #intervalAt(above: number): number {
    return this.stable + above * this.slope
  }

  protected rescaled(stored: number, max: number): number {
    return (stored * this.max) / max
  }
}

/** The options of `smoothWarmingUp`. */
export interface SmoothWarmingUpOptions extends SmoothOptions {
  /** How long the limiter takes to warm up, and to cool down: at least 1 ms, such as `'10s'`. */
  warmup: Duration
  /** How many times slower the limiter is when it is cold: above 0, at most 1e6. Default 3. */
  coldFactor?: number
}

/**
 * `rate` units in `per` once it is warm, fewer after an idle time: Guava's `RateLimiter.create(rate, warmup)`.
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
