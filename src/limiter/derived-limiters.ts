import { LRUCache } from 'lru-cache'
import type { Policy } from '../algorithms/index.ts'
import { getOrInsert } from '../common/index.ts'
import type { OverriddenLimiter, OverrideTable, OverrideView } from '../overrides/index.ts'
import type { AppliedOverride, Decision } from '../policy/index.ts'
import type { OverrideExtent } from '../stores/contract/index.ts'

/** How many derived limiters are remembered at most. */
const most = 1000

type Derived<Limiter> = ReturnType<OverriddenLimiter<Limiter>['derive']>
/** Makes a limiter with the same states and other policies. */
type Make<Limiter> = (policies: readonly Policy[], extent: OverrideExtent) => Derived<Limiter>

/** Maps the list of overrides in a decision to the limiter that made the decision. All decisions of a limiter have the same list object. */
const deciders = new WeakMap<readonly AppliedOverride[], unknown>()

/** The limiter that made a decision: the given limiter, or a limiter that was derived for overrides. */
export function deciderOf<Limiter>({ override }: Decision, limiter: Limiter): Limiter {
  return override === undefined ? limiter : ((deciders.get(override) as Limiter | undefined) ?? limiter)
}

/** The limiters that were derived from one limiter, for its calls under overrides. */
export class DerivedLimiters<Limiter> implements OverriddenLimiter<Limiter> {
  readonly scopes: readonly string[]
  readonly plan: readonly Policy[]
  readonly askLater: OverriddenLimiter<Limiter>['askLater']
  readonly #make: Make<Limiter>
  readonly #made = new LRUCache<string, Derived<Limiter>>({ max: most })
  /** The result of `under` for the overrides that the last call used. */
  #view: OverrideView<Limiter> | undefined

  /**
   * @param plan the policies of the limiter without a penalty
   * @param later asks again about a call with this cost, under the policies that apply when an override ends
   * @param make makes a limiter with other policies
   */
  constructor(
    scopes: readonly string[],
    plan: readonly Policy[],
    later: (cost: number) => OverriddenLimiter<Limiter>['askLater'],
    make: Make<Limiter>,
  ) {
    this.scopes = scopes
    this.plan = plan
    this.askLater = (next, command) => later(command.costs as number)(next, command)
    this.#make = make
  }

  /** Returns the object that finds, by the keys of a call, the limiter that decides the call under these overrides. */
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
