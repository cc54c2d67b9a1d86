import { LRUCache } from 'lru-cache'
import type { Policy } from '../algorithms/index.ts'
import { getOrInsert } from '../common/index.ts'
import type { OverriddenLimiter, OverrideTable, OverrideView } from '../overrides/index.ts'
import type { AppliedOverride, Decision } from '../policy/index.ts'
import type { OverrideExtent } from '../stores/contract/index.ts'

/** The most limiters that are remembered. */
const most = 1000

type Derived<Limiter> = ReturnType<OverriddenLimiter<Limiter>['derive']>
/** Opens a limiter with other policies. */
type Make<Limiter> = (policies: readonly Policy[], extent: OverrideExtent) => Derived<Limiter>

/** The limiters that decided, by the list of overrides in their decisions: each list is one object. */
const deciders = new WeakMap<readonly AppliedOverride[], unknown>()

/** The limiter that made a decision: the given one, or one with the policies of overrides. */
export function deciderOf<Limiter>({ override }: Decision, limiter: Limiter): Limiter {
  return override === undefined ? limiter : ((deciders.get(override) as Limiter | undefined) ?? limiter)
}

/** The limiters with the policies of overrides, for the calls of one limiter. */
export class DerivedLimiters<Limiter> implements OverriddenLimiter<Limiter> {
  readonly scopes: readonly string[]
  readonly plan: readonly Policy[]
  readonly #make: Make<Limiter>
  readonly #made = new LRUCache<string, Derived<Limiter>>({ max: most })
  /** The overrides as of the last call. */
  #view: OverrideView<Limiter> | undefined

  /** @param plan the policies of the limiter without a penalty @param make opens a limiter with other policies */
  constructor(scopes: readonly string[], plan: readonly Policy[], make: Make<Limiter>) {
    this.scopes = scopes
    this.plan = plan
    this.#make = make
  }

  /** These overrides, as the limiter sees them. */
  under(table: OverrideTable): OverrideView<Limiter> {
    if (this.#view?.table !== table) this.#view = table.viewOf(this)
    return this.#view
  }

  derive(policies: readonly Policy[], extent: OverrideExtent, applied: readonly AppliedOverride[]): Derived<Limiter> {
    const text = extent + JSON.stringify(policies)
    const derived = getOrInsert(this.#made, text, () => this.#make(policies, extent))
    deciders.set(applied, derived.limiter)
    return derived
  }
}
