import type { Policy } from './algorithms/algorithm.ts'
import type { CarryRule } from './algorithms/carry.ts'
import type { PenaltyOptions } from './algorithms/penalty.ts'
import { HeadgateError, shown } from './errors.ts'
import { openLedger } from './failure/failover-ledger.ts'
import type { FailoverOptions } from './failure/on-store-error.ts'
import type { Ledger, Store } from './stores/store.ts'

/** The limiters kept by the text of their policies; more are made again when they are needed. */
const most = 1000

export interface PlansOptions {
  readonly name: string
  /** Whether no other may have the name: not so of the limiters without one, each with its own states in memory. */
  readonly named: boolean
  readonly store: Store
  readonly onChange: CarryRule
  readonly penalty: PenaltyOptions | undefined
  readonly failure: FailoverOptions
}

/** What the limiters of one name on one store have in common, whatever their policies: the states. */
export class Plans<Limiter> {
  readonly name: string
  readonly store: Store
  readonly penalty: PenaltyOptions | undefined
  readonly #onChange: CarryRule
  readonly #failure: FailoverOptions
  readonly #members = new Map<string, Limiter>()
  #claims: boolean
  #first: Ledger | undefined

  constructor({ name, named, store, onChange, penalty, failure }: PlansOptions) {
    this.name = name
    this.store = store
    this.penalty = penalty
    this.#onChange = onChange
    this.#failure = failure
    this.#claims = named
  }

  /** @throws HeadgateError `HEADGATE_DUPLICATE_LIMITER` if another family has the name on this store */
  claim(): void {
    if (this.#claims) claimName(this.store, this.name)
    this.#claims = false
  }

  open(policies: readonly Policy[], scopes: readonly string[]): Ledger {
    const terms = { name: this.name, policies, scopes, onChange: this.#onChange }
    if (this.#first !== undefined) return this.#first.vary?.(terms) ?? openLedger(this.store, terms, this.#failure)
    this.#first = openLedger(this.store, terms, this.#failure)
    return this.#first
  }

  /** The limiter of those policies, by their text. */
  member(policies: string, make: () => Limiter): Limiter {
    let member = this.#members.get(policies)
    if (member !== undefined) return member
    member = make()
    if (this.#members.size >= most) this.#members.delete(this.#members.keys().next().value as string)
    this.#members.set(policies, member)
    return member
  }
}

/** The names that were given to limiters, by the store that they are on: two of one name would share their states. */
const namesOn = new WeakMap<Store, Set<string>>()

function claimName(store: Store, name: string): void {
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
