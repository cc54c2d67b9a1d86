import { LRUCache } from 'lru-cache'
import type { PenaltyOptions } from '../algorithms/bans/index.ts'
import type { CarryRule, Policy, PolicyLike } from '../algorithms/index.ts'
import { HeadgateError, shown } from '../common/index.ts'
import {
  type CheckedLedger,
  type FailureTerms,
  type Health,
  noCalls,
  openLedger,
  type Store,
} from '../stores/contract/index.ts'
import type { HeavyKeys } from './heaviest/index.ts'
import type { Load } from './limiter-events.ts'

/** One policy or several, in any form that a policy may be written in. */
export type PolicyLikes = PolicyLike | readonly PolicyLike[]

/** The policies that apply to one caller, with a penalty of their own. */
export interface Plan {
  readonly policies: PolicyLikes
  /** Default: the penalty of the limiter. False for none. */
  readonly penalty?: PenaltyOptions | false
}

/** One plan: only its policies, or an object that also has a penalty. Without one, the limiter's penalty applies. */
export type PlanLike = PolicyLikes | Plan

/**
 * The most limiters kept by the text of their policies. Beyond this number, the least recently used limiter is dropped,
 * and made again when its plan is used.
 */
const maxLimiters = 1000

export interface PlansOptions {
  readonly name: string
  /** True if no other limiter on the store may have the name. */
  readonly uniqueName: boolean
  readonly store: Store
  readonly onChange: CarryRule
  readonly penalty: PenaltyOptions | undefined
  readonly failure: FailureTerms
  readonly heavyKeys: HeavyKeys | undefined
}

/** A plan that was given as an object, and its limiter. */
interface KnownPlan<Limiter> {
  readonly limiter: Limiter
  /** A copy of the elements of an array or a plan, because the application may change the original. */
  readonly elements: readonly unknown[] | undefined
}

/**
 * The limiters of one name on one store, which share their states. A plan is the policies that apply to one caller, and
 * each plan has one limiter.
 */
export class Plans<Limiter extends object> {
  readonly options: PlansOptions
  readonly load: Load = { inFlight: 0, waiting: 0 }
  #isRegistered = false
  #first: CheckedLedger | undefined
  readonly #byIdentity = new WeakMap<object, KnownPlan<Limiter>>()
  /** Made at first use: most limiters have one plan. */
  #byText: LRUCache<string, Limiter> | undefined

  constructor(options: PlansOptions) {
    this.options = options
  }

  /**
   * Registers the name, once.
   * @throws HeadgateError `HEADGATE_DUPLICATE_LIMITER` if another limiter on this store has it
   */
  registerName(): void {
    const { uniqueName, store, name } = this.options
    if (uniqueName && !this.#isRegistered) registerName(store, name)
    this.#isRegistered = true
  }

  /** Opens a ledger for the policies. All ledgers of the name reach the same states. */
  open(policies: readonly Policy[], scopes: readonly string[]): CheckedLedger {
    const { name, store, onChange, failure } = this.options
    const ledger = openLedger(store, { name, policies, scopes, onChange, failure }, this.#first)
    this.#first ??= ledger
    return ledger
  }

  health(): Health {
    return this.#first?.health?.() ?? noCalls()
  }

  /** The limiter of a plan, found by the identity of the plan's object, else by its text. Undefined if none is kept. */
  find(plan: PlanLike): Limiter | undefined {
    if (typeof plan === 'object' && plan !== null) {
      const known = this.#byIdentity.get(plan)
      if (known !== undefined && isUnchanged(known.elements, plan)) return known.limiter
    }
    if (this.#byText === undefined) return undefined
    const text = textOf(plan)
    return text === undefined ? undefined : this.#byText.get(text)
  }

  /** Keeps the limiter of a plan. It is found by identity only if the plan's policies cannot change. */
  keep(plan: PlanLike, limiter: Limiter): Limiter {
    const elements = Array.isArray(plan) || isPlan(plan) ? [...elementsOf(plan)] : undefined
    if (typeof plan === 'object' && (elements ?? [plan]).every(isConstant)) {
      this.#byIdentity.set(plan, { limiter, elements })
    }
    const text = textOf(plan)
    this.#byText ??= new LRUCache({ max: maxLimiters })
    if (text !== undefined) this.#byText.set(text, limiter)
    return limiter
  }
}

/** True for a plan that may have a penalty of its own. */
export function isPlan(plan: PlanLike): plan is Plan {
  return typeof plan === 'object' && plan !== null && 'policies' in plan
}

/** The elements of an array or a plan: its policies, and then the members of its penalty. */
function elementsOf(plan: PlanLike): readonly unknown[] {
  if (!isPlan(plan)) return plan as readonly PolicyLike[]
  const { policies, penalty } = plan
  return [policies, typeof penalty, Object.entries(penalty || {})].flat(3)
}

/** True for texts and numbers, and for the frozen objects that the constructors of policies return. */
function isConstant(element: unknown): boolean {
  return typeof element !== 'object' || Object.isFrozen(element)
}

function isUnchanged(elements: readonly unknown[] | undefined, plan: PlanLike): boolean {
  if (elements === undefined) return true
  const now = elementsOf(plan)
  if (now.length !== elements.length) return false
  for (let n = 0; n < elements.length; n++) if (now[n] !== elements[n]) return false
  return true
}

/** The beginning of the text of a plan that is an object. No valid text of a policy begins with this mark. */
const jsonMark = 'json '

/** The plan as a text. Undefined if JSON cannot hold it: then it is invalid, and the limiter's constructor throws. */
function textOf(plan: PlanLike): string | undefined {
  if (typeof plan === 'string') return plan.startsWith(jsonMark) ? undefined : plan
  try {
    return jsonMark + JSON.stringify(plan)
  } catch {
    return undefined
  }
}

/** The names of limiters by store. Two limiters of one name would share their states. */
const namesOn = new WeakMap<Store, Set<string>>()

function registerName(store: Store, name: string): void {
  const names = namesOn.get(store) ?? new Set()
  if (names.has(name)) {
    throw new HeadgateError(
      'HEADGATE_DUPLICATE_LIMITER',
      `Another limiter on this store is named ${shown(name)}. Give each a name of its own: new RateLimiter({ name: 'api', ... }), ` +
        'or one limiter to all that share a quota.',
    )
  }
  namesOn.set(store, names.add(name))
}
