import type { Policy } from '../algorithms/index.ts'
import { callOptions } from '../common/index.ts'
import type { Decision } from '../policy/index.ts'
import { type AnyCost, askedBy, type CostOptions, costOf, costUnderOverride, type Key } from './call-arguments.ts'
import { Operations } from './operator-verbs.ts'
import { type Usage, type UsageOptions, usageOf } from './usage.ts'

/** The methods that read how many units of a key are used or left, under the policies of a limiter. */
export abstract class ReadVerbs<Limiter extends object> extends Operations<Limiter> {
  abstract readonly policies: readonly Policy[]

  /**
   * Returns the decision that `consume` would return now. Takes no units and changes no state. With several scopes, `key` may name only
   * some of the scopes: only the policies of these scopes then decide.
   *
   * Rejects for the same reasons as `consume`.
   */
  async peek(key: Key, options?: CostOptions): Promise<Decision> {
    const { ledger, keys, policies = this.policies, scopes, match } = this.under(key)
    const cost = match?.renamed ? this.renamed(costOf(options), policies, scopes) : costOf(options)
    const asked = askedBy(cost, policies, this.store)
    return ledger.run({ verb: 'peek', keys, ...asked, calendar: options?.calendar })
  }

  /**
   * The units that the key has used under each policy, and the running window of each policy whose windows have a fixed start and end.
   * Takes no units and changes no state. The numbers come from one request to the store. With several scopes, `key` may name only some of
   * the scopes: the result then has only the policies of these scopes. A penalty is not listed.
   *
   *     const { policies: [month] } = await limiter.usage('ann')
   *     // { name: 'month', scope: 'default', limit: 1000, used: 340, remaining: 660, start: 1793491200000, end: 1796083200000 }
   *
   * Rejects for the same reasons as `peek`.
   */
  async usage(key: Key, options?: UsageOptions): Promise<Usage> {
    if (options !== undefined) callOptions('usage', options, ['calendar'])
    const { calendar } = options ?? {}
    const { ledger, keys, policies = this.policies } = this.under(key)
    const decision = await ledger.run({ verb: 'peek', keys, details: { at: true }, calendar })
    return usageOf(policies, decision, calendar)
  }

  /**
   * The cost of a call under the policies of an override, which may have other names than the policies of this limiter.
   * @param scopes the scopes of the call
   */
  protected renamed(cost: AnyCost, policies: readonly Policy[], scopes: readonly string[] = this.scopes): AnyCost {
    const plan = this.policies.filter(({ scope }) => scopes.includes(scope))
    return costUnderOverride(cost, plan, policies, this.store)
  }
}
