import { LRUCache } from 'lru-cache'
import type { Policy } from '../algorithms/index.ts'
import { getOrInsert } from '../common/index.ts'
import type { OverriddenLimiter, OverrideTable, OverrideView } from '../overrides/index.ts'
import type { OverrideExtent } from '../stores/contract/index.ts'

/** The most limiters that are remembered. */
const most = 1000

type Derive<Limiter> = OverriddenLimiter<Limiter>['derive']

/** The limiters with the policies of overrides, for the calls of one limiter. */
export class DerivedLimiters<Limiter> implements OverriddenLimiter<Limiter> {
  readonly scopes: readonly string[]
  readonly plan: readonly Policy[]
  readonly #make: Derive<Limiter>
  readonly #made = new LRUCache<string, ReturnType<Derive<Limiter>>>({ max: most })
  /** The overrides as of the last call. */
  #view: OverrideView<Limiter> | undefined

  /** @param plan the policies of the limiter without a penalty @param make opens a limiter with other policies */
  constructor(scopes: readonly string[], plan: readonly Policy[], make: Derive<Limiter>) {
    this.scopes = scopes
    this.plan = plan
    this.#make = make
  }

  /** These overrides, as the limiter sees them. */
  under(table: OverrideTable): OverrideView<Limiter> {
    if (this.#view?.table !== table) this.#view = table.viewOf(this)
    return this.#view
  }

  derive(policies: readonly Policy[], extent: OverrideExtent): ReturnType<Derive<Limiter>> {
    return getOrInsert(this.#made, extent + JSON.stringify(policies), () => this.#make(policies, extent))
  }
}
