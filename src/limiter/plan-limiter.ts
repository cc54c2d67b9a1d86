import type { PenaltyOptions } from '../algorithms/bans/index.ts'
import type { Policy } from '../algorithms/index.ts'
import { HeadgateError } from '../common/index.ts'
import { standIn } from './candidate/index.ts'
import { limiterUnder, type RateLimiter } from './limiter.ts'
import { type PlanLike, type RateLimiterOptions, readPlans } from './limiter-options.ts'
import type { ShownLimiter } from './list-keys.ts'
import { Operations } from './operator-verbs.ts'

/**
 * How many names of policies a PlanLimiter remembers at most. A store that has only hashes of the names needs the names to
 * show the states of a key.
 */
const mostNames = 100

/**
 * The limiter of a middleware whose policies are a function of the request. A PlanLimiter has no own policies: `withPlan` returns the
 * limiter of one plan (the policies of one caller). The methods for an administrator, such as `inspect` and `ban`, apply to all plans.
 *
 *     const limit = rateLimit({ policies: (request) => plans[request.tenant.plan], keys: byHeader('x-tenant') })
 *     await limit.limiter.withPlan(plans.pro).peek('ann') // what ann has left under this plan
 *     await limit.limiter.inspect('ann') // what the store has of ann, under every plan under which she called
 *     await limit.limiter.ban('ann', '1h') // under every plan
 */
export class PlanLimiter extends Operations<RateLimiter> {
  /** The scopes (kinds of keys, such as `user`). With several scopes, a key is a record with a text for each scope. */
  readonly scopes: readonly string[]
  /** The options of the penalty for plans without a penalty of their own. Undefined if no penalty is set. */
  readonly penalty: PenaltyOptions | undefined
  /** The policies of the plans (policy lists) that were used so far: the first policy of each scope and name. */
  readonly #policies = new Map<string, Policy>()

  /** @throws HeadgateError if an option is invalid, or if another limiter on this store has the same name */
  constructor(options: Omit<RateLimiterOptions, 'policies'>, scopes: readonly string[]) {
    super(readPlans<RateLimiter>(options))
    if (options.candidate !== undefined) throw ownCandidates()
    this.plans.registerName()
    this.scopes = scopes
    this.penalty = this.plans.options.penalty
  }

  /**
   * Returns the limiter of a plan. A plan is policies, or an object `{ policies, penalty }`. All plans share one name, one store
   * and the states of keys, so `reset` under one plan resets the key under every plan.
   * @throws HeadgateError if a policy is invalid, or if two policies have the same name
   */
  withPlan(plan: PlanLike): RateLimiter {
    if (plan === undefined) throw noPlan()
    return this.plans.find(plan) ?? this.#made(plan)
  }

  #made(plan: PlanLike): RateLimiter {
    const limiter = limiterUnder(this.plans, plan)
    for (const each of limiter.policies) {
      const name = `${each.scope}\n${each.name}`
      if (this.#policies.has(name) || this.#policies.size === mostNames) continue
      this.#policies.set(name, each)
      this.forgetOpened()
    }
    return limiter
  }

  protected known(): readonly Policy[] {
    return [...this.#policies.values()].filter(({ algorithm }) => !algorithm.punishes)
  }

  /**
   * Opens a ledger for these scopes. A ledger needs a policy for each scope, so a scope whose policies are not known yet gets a
   * placeholder, which no call uses.
   */
  protected open(scopes: readonly string[]): ShownLimiter {
    const known = [...this.#policies.values()].filter(({ scope }) => scopes.includes(scope))
    const missing = scopes.filter((scope) => !known.some((each) => each.scope === scope))
    const ledger = this.plans.open([...known, ...missing.map(standIn)], scopes)
    return { ledger, scopes, policies: undefined, onChange: this.plans.options.onChange }
  }
}

function noPlan(): HeadgateError {
  return new HeadgateError(
    'HEADGATE_POLICY',
    'The plan of a call is undefined: the function policies returned nothing, or withPlan got nothing. Return the policies of each plan, ' +
      "with a default: plans[request.user.plan] ?? plans.free. For a plan without limits, return 'unlimited'.",
  )
}

function ownCandidates(): HeadgateError {
  return new HeadgateError(
    'HEADGATE_CANDIDATE',
    'candidate needs policies to be tried beside, and here a function returns them. Return { policies, candidate } from the function.',
  )
}
