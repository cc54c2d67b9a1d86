import { LRUCache } from 'lru-cache'
import type { PenaltyOptions } from '../algorithms/bans/index.ts'
import type { CarryRule, Policy, PolicyLike } from '../algorithms/index.ts'
import { HeadgateError, shown, warnOnce } from '../common/index.ts'
import {
  type CheckedLedger,
  type FailureTerms,
  type Health,
  noCalls,
  openLedger,
  type Store,
} from '../stores/contract/index.ts'
import { keysIn } from '../stores/memory/index.ts'
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
  /** How many plans were objects that are found by their text alone. */
  #alike = 0
  readonly #byIdentity = new WeakMap<object, KnownPlan<Limiter>>()
  /** Made at first use: most limiters have one plan. */
  #byText: LRUCache<string, Limiter> | undefined

  constructor(options: PlansOptions) {
    this.options = options
  }

  /**
   * Registers the name, once.
   * @param policies the policies of the limiter, unless they are a function of the request
   * @throws HeadgateError `HEADGATE_DUPLICATE_LIMITER` if another limiter on this store has it
   */
  registerName(policies?: readonly Policy[]): void {
    if (this.#isRegistered) return
    this.#isRegistered = true
    const { uniqueName, store, name } = this.options
    if (uniqueName) registerName(store, name)
    else if (policies !== undefined) warnOfAlike(store, policies)
    if (keysIn(store) !== undefined) warnOfMany(store, name)
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
    const limiter = text === undefined ? undefined : this.#byText.get(text)
    if (limiter !== undefined && typeof plan === 'object' && ++this.#alike === many) warnOfNewObjects()
    return limiter
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

/** How often something has to happen that is right when it happens a few times. */
const many = 100

function warnOfNewObjects(): void {
  warnOnce(
    'HEADGATE_NEW_PLANS',
    'Plans were given as new objects 100 times, and each had to be written as text to find its limiter. Make the policies of each ' +
      "plan once, by their constructors, and pass the same objects: const plans = { pro: [policy('1000/1h')] }.",
  )
}

/** The policies of limiters without a name, as text, by store. */
const unnamedOn = new WeakMap<Store, Set<string>>()

/** Warns of two limiters without a name that have the same policies and the same store: they do not share their states. */
function warnOfAlike(store: Store, policies: readonly Policy[]): void {
  const texts = unnamedOn.get(store) ?? new Set()
  const text = JSON.stringify(policies)
  if (texts.has(text)) {
    warnOnce(
      'HEADGATE_UNNAMED',
      'Two limiters without a name have the same policies on one store, and count apart. To count together, make one limiter ' +
        "and pass it to both: rateLimit(limiter). To count apart, give each a name of its own: name: 'login'.",
    )
  }
  unnamedOn.set(store, texts.add(text))
}

interface Last {
  readonly store: WeakRef<Store>
  /** How many limiters in a row were asked for one key and then followed by another of their name. */
  readonly alike: number
}

/** The limiter that was made last, by name. */
const lastOf = new LRUCache<string, Last>({ max: 100 })

/**
 * Warns at the hundredth limiter of a name, if each was asked for one key before the next was made, on a store of its own. A
 * limiter that is made in each request is used so, and limits nobody. Limiters that are made first and asked later give no
 * warning, and neither do limiters with several keys.
 */
function warnOfMany(store: Store, name: string): void {
  const last = lastOf.get(name)
  const before = last?.store.deref()
  if (before === store) return
  const keys = (before && keysIn(before)) ?? 0
  const alike = keys > 1 ? 0 : (last?.alike ?? 0) + keys
  lastOf.set(name, { store: new WeakRef(store), alike })
  if (alike !== many - 1) return
  warnOnce(
    'HEADGATE_PER_REQUEST',
    `The hundredth limiter named ${shown(name)} was made, and each before it was asked for one key. A limiter that is made in each ` +
      "request limits nobody, because it starts with nothing counted. Make it once, outside of the handler: const limit = rateLimit('100/15m'). " +
      'If each is meant, give each a name of its own.',
  )
}

/** Forgets the limiters that were made. For tests: many tests run in one process. */
export function forgetLimiters(): void {
  lastOf.clear()
}
