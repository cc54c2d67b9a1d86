import { monotonicClock } from '../clock.ts'
import type { HeavyKey, TopOptions } from '../heavy-keys.ts'
import { limiters, type RateLimiter } from '../limiter.ts'
import type { PlanLike } from '../limiter-options.ts'
import { type Health, noCalls } from '../stores/health.ts'
import type { LimiterParts } from './rate-limit-options.ts'

/**
 * The limiter of a middleware whose policies are a function of the request. It has no policies of its own: `under` gives
 * the limiter of one plan.
 *
 *     const limit = rateLimit({ policies: (request) => plans[request.tenant.plan], keys: byHeader('x-tenant') })
 *     await limit.limiter.under(plans.pro).peek('ann') // what ann has left under this plan
 *     await limit.limiter.under(plans.pro).reset('ann') // ann has her full quota again, under every plan
 *     limit.limiter.health() // of the store that all plans share
 */
export class PlanLimiter {
  readonly #limiterOf: (plan: PlanLike) => RateLimiter
  /** Any limiter of these plans: they share their health. */
  #latest: RateLimiter | undefined
  readonly #since = Math.floor(monotonicClock() / 1000)

  /** @throws HeadgateError if an option is invalid, or if another limiter on this store has the name */
  constructor(parts: LimiterParts) {
    this.#limiterOf = limiters(parts)
  }

  /**
   * The limiter of this plan: its policies, or `{ policies, penalty }`. All plans share one name, one store and their states, so `reset` through any of them
   * resets a key under all.
   * @throws HeadgateError if a policy is invalid, or if two policies have the same name
   */
  under(plan: PlanLike): RateLimiter {
    this.#latest = this.#limiterOf(plan)
    return this.#latest
  }

  /** As `RateLimiter.top`, over all plans together. Empty before the first request. */
  top(count?: number, options?: TopOptions): readonly HeavyKey[] {
    return this.#latest?.top(count, options) ?? []
  }

  /** As `RateLimiter.health`, for all plans together. */
  health(): Health {
    return this.#latest?.health() ?? noCalls(this.#since)
  }
}
