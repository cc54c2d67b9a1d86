import type { PenaltyOptions } from '../algorithms/bans/index.ts'
import type { CarryRule, Policy, PolicyLike } from '../algorithms/index.ts'
import { HeadgateError, ownText, RecentMap, shown, warnOnce } from '../common/index.ts'
import {
  type CheckedLedger,
  type FailureTerms,
  type Health,
  noCalls,
  type OverrideExtent,
  openLedger,
  type Store,
  type ThresholdEvent,
} from '../stores/contract/index.ts'
import { keysIn } from '../stores/memory/index.ts'
import { Comparison } from './candidate/index.ts'
import type { HeavyKeys } from './heaviest/index.ts'
import type { Load } from './limiter-events.ts'
import { LoadedOverrides } from './loaded-overrides.ts'
import { unlimitedLedger } from './unlimited.ts'

/** One policy or a list of policies, in any form in which a policy can be written. */
export type PolicyLikes = PolicyLike | readonly PolicyLike[]

/** The policies that apply to one caller, with their own penalty (automatic bans). */
export interface Plan {
  readonly policies: PolicyLikes
  /** The penalty (automatic bans) of this plan. False for no penalty. Default: the penalty of the limiter. */
  readonly penalty?: PenaltyOptions | false | undefined
  /** The policies that are tried beside this plan. Default: none. */
  readonly candidate?: Candidate | undefined
}

/** Policies that are tried beside the current policies: `'80/15m'`, or `{ policies, penalty }`. Default for `penalty`: that of the plan. */
export type Candidate = PolicyLikes | Omit<Plan, 'candidate'>

/**
 * One plan: policies, or an object with policies and a penalty. Without a penalty in the plan, the limiter's penalty applies.
 * `'unlimited'` is the plan without limits: every call is admitted, nothing is counted, and no store is asked.
 */
export type PlanLike = PolicyLikes | Plan

/** How many limiters are remembered by the text of their policies. The limiter whose last use is oldest is forgotten, and made again later. */
const maxLimiters = 1000

export interface PlansOptions {
  readonly name: string
  /** True if no other limiter on the store may have the same name. */
  readonly uniqueName: boolean
  readonly store: Store
  readonly onChange: CarryRule
  readonly penalty: PenaltyOptions | undefined
  readonly failure: FailureTerms
  readonly heavyKeys: HeavyKeys | undefined
  /** Reports a threshold on the channel and to the limiter's hook. */
  readonly onThreshold: ((event: ThresholdEvent) => void) | undefined
}

/** A plan (policies of one caller) that was passed as an object, and the limiter of the plan. */
interface KnownPlan<Limiter> {
  readonly limiter: Limiter
  /** A copy of the elements of an array of policies or of a plan, to notice if the application changes the original. */
  readonly elements: readonly unknown[] | undefined
}

/** The limiters with one name on one store: one limiter for each plan (the policies of one caller). All limiters share the states. */
export class Plans<Limiter extends object> {
  readonly options: PlansOptions
  readonly load: Load = { inFlight: 0, waiting: 0 }
  readonly overrides: LoadedOverrides
  /** How the decisions of the candidates differ. Undefined if no plan has had a candidate. */
  comparison: Comparison | undefined
  #candidates: Plans<Limiter> | undefined
  #isRegistered = false
  #first: CheckedLedger | undefined
  /** How often a plan (policies) was passed as a new object, so that its limiter had to be found by the plan's text. */
  #alike = 0
  readonly #byIdentity = new WeakMap<object, KnownPlan<Limiter>>()
  /** The limiters by the text of their plans (policies). Undefined until the first use, because most limiters have one plan. */
  #byText: RecentMap<string, Limiter> | undefined

  /** @param overrides default: the overrides of the limiters' name */
  constructor(options: PlansOptions, overrides: LoadedOverrides = new LoadedOverrides(options.store, options.name)) {
    this.options = options
    this.overrides = overrides
  }

  /** The limiters of the candidates, with a name and states of their own. Made at the first use. */
  get candidates(): Plans<Limiter> {
    this.comparison ??= new Comparison()
    const name = `${this.options.name}~candidate`
    const failure = { ...this.options.failure, onStoreError: 'open', apart: true } as const
    const own = { name, failure, heavyKeys: undefined, onThreshold: undefined }
    this.#candidates ??= new Plans({ ...this.options, ...own }, this.overrides)
    return this.#candidates
  }

  /**
   * Registers the name of the limiters at the first call. Later calls do nothing.
   * @param policies the policies of the limiter; undefined if a function returns the policies for each request
   * @throws HeadgateError `HEADGATE_DUPLICATE_LIMITER` if another limiter on this store has the name
   */
  registerName(policies?: readonly Policy[]): void {
    if (this.#isRegistered) return
    this.#isRegistered = true
    const { uniqueName, store, name } = this.options
    if (uniqueName) registerName(store, name)
    else if (policies !== undefined) warnOfAlike(store, policies)
    if (keysIn(store) !== undefined) warnOfMany(store, name)
    this.overrides.start()
  }

  /**
   * Opens a ledger (access to the store) for the policies. All ledgers with the name of these limiters use the same states.
   * @param override if the policies come from an override: whether the override is for all keys or for some keys
   */
  open(policies: readonly Policy[], scopes: readonly string[], override?: OverrideExtent): CheckedLedger {
    if (policies.length === 0) return unlimitedLedger
    const { name, store, onChange, failure, onThreshold } = this.options
    const terms = { name, policies, scopes, onChange, failure, onThreshold, ...(override && { override }) }
    const ledger = openLedger(store, terms, this.#first)
    this.#first ??= ledger
    return ledger
  }

  health(): Health {
    const health = this.#first?.health?.() ?? noCalls()
    const { unreadSince } = this.overrides
    const candidate = this.comparison?.health()
    if (unreadSince === undefined && candidate === undefined) return health
    return { ...health, ...(unreadSince && { overridesUnreadSince: unreadSince }), ...(candidate && { candidate }) }
  }

  /** The limiter of a plan (policies), found by the identity of the plan object, or else by the plan's text. Undefined if none is known. */
  find(plan: PlanLike): Limiter | undefined {
    if (typeof plan === 'object' && plan !== null) {
      const known = this.#byIdentity.get(plan)
      if (known !== undefined && isUnchanged(known.elements, plan)) return known.limiter
    }
    if (this.#byText === undefined) return undefined
    const text = textOf(plan)
    const limiter = text === undefined ? undefined : this.#byText.get(text)
    if (limiter === undefined || typeof plan !== 'object') return limiter
    if (++this.#alike === many) warnOfNewObjects()
    return this.#remember(plan, limiter)
  }

  /** Remembers the limiter of a plan (policies). Returns the limiter. A plan whose policies cannot change is later found by identity. */
  keep(plan: PlanLike, limiter: Limiter): Limiter {
    if (typeof plan === 'object') this.#remember(plan, limiter)
    const text = textOf(plan)
    this.#byText ??= new RecentMap(maxLimiters)
    if (text !== undefined) this.#byText.set(ownText(text), limiter)
    return limiter
  }

  #remember(plan: Exclude<PlanLike, string>, limiter: Limiter): Limiter {
    const elements = Array.isArray(plan) || isPlan(plan) ? [...elementsOf(plan)] : undefined
    if ((elements ?? [plan]).every(isConstant)) this.#byIdentity.set(plan, { limiter, elements })
    return limiter
  }
}

/** True for a plan that is an object `{ policies, penalty }`. */
export function isPlan(plan: PlanLike | Candidate): plan is Plan {
  return typeof plan === 'object' && plan !== null && 'policies' in plan
}

/** The elements of an array or of a plan object: policies, for a plan the names and values of `penalty`, and the elements of `candidate`. */
function elementsOf(plan: PlanLike): readonly unknown[] {
  if (!isPlan(plan)) return plan as readonly PolicyLike[]
  const { policies, penalty, candidate = [] } = plan
  const tried = isPlan(candidate) ? elementsOf(candidate) : candidate
  return [policies, typeof penalty, Object.entries(penalty || {}), 'candidate', tried].flat(3)
}

/** True for a value that cannot change: a text, a number, or a frozen object, as functions such as `tokenBucket` return. */
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

/** The prefix of the text of a plan object `{ policies }`. No valid text of a policy begins with this prefix. */
const jsonMark = 'json '

/** The text of a plan (policies). Undefined if the plan cannot be JSON and so is invalid: then the limiter's constructor throws. */
function textOf(plan: PlanLike): string | undefined {
  if (typeof plan === 'string') return plan.startsWith(jsonMark) ? undefined : plan
  try {
    return jsonMark + JSON.stringify(plan)
  } catch {
    return undefined
  }
}

/** The names of the limiters on each store. Two limiters with the same name would share the states of keys. */
const namesOn = new WeakMap<Store, Set<string>>()

function registerName(store: Store, name: string): void {
  const names = namesOn.get(store) ?? new Set()
  if (names.has(name)) {
    throw new HeadgateError(
      'HEADGATE_DUPLICATE_LIMITER',
      `Another limiter on this store is named ${shown(name)}. Give each a name of its own: new RateLimiter({ name: 'api', ... }), ` +
        'or one limiter to all that share a quota. If each request makes the limiter, make the limiter once, outside of the handler.',
    )
  }
  namesOn.set(store, names.add(name))
}

/** How many times a possible mistake must be seen before a warning is given, because the same code may also be correct. */
const many = 100

function warnOfNewObjects(): void {
  warnOnce(
    'HEADGATE_NEW_PLANS',
    '100 times, a plan had to be written as text to find its limiter, because it was a new object, or one that may change. Make ' +
      "the policies of each plan once, by their constructors, and pass the same objects: const plans = { pro: [policy('1000/1h')] }.",
  )
}

/** The policies of limiters without a name, as text, for each store. */
const unnamedOn = new WeakMap<Store, Set<string>>()

/** Warns if two limiters on one store have no name and the same policies. These limiters do not share states, which may be a mistake. */
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
  /** How many limiters with this name, one after another, were used for exactly one key before the next limiter was made. */
  readonly alike: number
}

/** The last limiter with each name, by name. */
const lastOf = new RecentMap<string, Last>(100)

/**
 * Warns at the hundredth limiter with the same name, if each limiter had its own store and was used for one key before the next
 * limiter was made. Such an application probably makes a limiter for each request, which limits nobody. There is no warning if all
 * limiters are made before their first use, or if a limiter has several keys.
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

/** Forgets which limiters were made, for tests: a process runs many tests. */
export function forgetLimiters(): void {
  lastOf.clear()
}
