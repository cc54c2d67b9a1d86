import { type Policy, toPolicy } from '../algorithms/index.ts'
import { limiterUnder, type RateLimiter } from './limiter.ts'
import { type PlanLike, type RateLimiterOptions, readPlans } from './limiter-options.ts'
import type { ShownLimiter } from './list-keys.ts'
import { Operations } from './operator-verbs.ts'

/** The most policies whose names are remembered. A store that keeps hashes of names needs them to show its keys. */
const mostNames = 100

/**
 * The limiter of a middleware whose policies are a function of the request. It has no policies of its own: `withPlan`
 * gives the limiter of one plan. The verbs of an operator work under every plan at once.
 *
 *     const limit = rateLimit({ policies: (request) => plans[request.tenant.plan], keys: byHeader('x-tenant') })
 *     await limit.limiter.withPlan(plans.pro).peek('ann') // what ann has left under this plan
 *     await limit.limiter.inspect('ann') // what the store has of ann, under whichever plans she called
 *     await limit.limiter.ban('ann', '1h') // under every plan
 */
export class PlanLimiter extends Operations<RateLimiter> {
  /** The scopes of the keys. A record of keys needs a key for each of them. */
  readonly scopes: readonly string[]
  /** One policy for each scope and name that the plans so far have. */
  readonly #policies = new Map<string, Policy>()
  /** Shows keys. Made at the first verb of an operator, and again when a plan brings a policy with a new name. */
  #shown: ShownLimiter | undefined

  /** @throws HeadgateError if an option is invalid, or if another limiter on this store has the name */
  constructor(options: Omit<RateLimiterOptions, 'policies'>, scopes: readonly string[]) {
    super(readPlans<RateLimiter>(options))
    this.plans.registerName()
    this.scopes = scopes
  }

  /**
   * The limiter of this plan: its policies, or `{ policies, penalty }`. All plans share one name, one store and their
   * states, so `reset` under one plan resets the key under every plan.
   * @throws HeadgateError if a policy is invalid, or if two policies have the same name
   */
  withPlan(plan: PlanLike): RateLimiter {
    return this.plans.find(plan) ?? this.#made(plan)
  }

  protected get opened(): ShownLimiter {
    this.#shown ??= this.#open()
    return this.#shown
  }

  #made(plan: PlanLike): RateLimiter {
    const limiter = limiterUnder(this.plans, plan)
    for (const each of limiter.policies) {
      const name = `${each.scope}\n${each.name}`
      if (this.#policies.has(name) || this.#policies.size === mostNames) continue
      this.#policies.set(name, each)
      this.#shown = undefined
    }
    return limiter
  }

  /** A ledger over all scopes. Until a plan is known, the ledger has one policy that no call uses. */
  #open(): ShownLimiter {
    const { scopes } = this
    const known = [...this.#policies.values()].filter(({ scope }) => scopes.includes(scope))
    const missing = scopes.filter((scope) => !known.some((each) => each.scope === scope))
    const standIns = missing.map((scope) => toPolicy({ name: `no plan of ${scope}`, limit: 1, window: '1s', scope }))
    const ledger = this.plans.open([...known, ...standIns], scopes)
    return { ledger, scopes, policies: undefined, onChange: this.plans.options.onChange }
  }
}
