import { Step } from '../../src/algorithms/step.ts'
import type {
  Booking,
  Clock,
  DecideExtras,
  DecideVerb,
  Decision,
  Ledger,
  LedgerTerms,
  Policy,
  Store,
} from '../../src/index.ts'

/** The definition with nothing around it: a step over plain arrays, which the tests may look into. */
export class ReferenceStore implements Store {
  readonly synchronous = true
  readonly #clock: Clock

  constructor(clock: Clock) {
    this.#clock = clock
  }

  open(terms: LedgerTerms): ReferenceLedger {
    return new ReferenceLedger(terms, this.#clock)
  }
}

/** By scope and key, a state for each policy of the scope. */
export type States = Map<string, Map<Policy, number[]>>

export class ReferenceLedger implements Ledger {
  readonly #terms: LedgerTerms
  readonly #clock: Clock
  readonly #step: Step
  readonly #states: States

  /** @param states those of another ledger, to be reached by this one too */
  constructor(terms: LedgerTerms, clock: Clock, states: States = new Map()) {
    this.#terms = terms
    this.#clock = clock
    this.#states = states
    this.#step = new Step(terms.policies)
  }

  /** The states of a scope's key. */
  states(scope: string, key: string): Map<Policy, number[]> {
    const name = JSON.stringify([scope, key])
    let states = this.#states.get(name)
    if (states === undefined) {
      states = new Map()
      this.#states.set(name, states)
    }
    for (const policy of this.#terms.policies) {
      if (policy.scope === scope && !states.has(policy)) states.set(policy, new Array(policy.algorithm.slots).fill(0))
    }
    return states
  }

  decide(verb: DecideVerb, keys: readonly string[], cost: number, extras?: DecideExtras): Decision {
    this.#point(keys)
    this.#step.weigh(verb, this.#clock(), cost, 0)
    if (verb === 'refund') this.#step.refund(extras?.tickets)
    return this.#step.settle('store', extras)
  }

  reserve(keys: readonly string[], cost: number, maxWait: number): Booking {
    this.#point(keys)
    this.#step.weigh('reserve', this.#clock(), cost, maxWait)
    const decision = this.#step.settle('store')
    if (!decision.allowed) return { decision, wait: 0, tickets: undefined }
    return { decision, wait: Math.ceil(this.#step.delay / 1000), tickets: this.#step.tickets() }
  }

  reset(keys: readonly string[]): void {
    for (const [n, scope] of this.#terms.scopes.entries()) this.#states.delete(JSON.stringify([scope, keys[n]]))
  }

  #point(keys: readonly string[]): void {
    for (const weighing of this.#step.weighings) {
      const key = keys[this.#terms.scopes.indexOf(weighing.policy.scope)] as string
      weighing.s = this.states(weighing.policy.scope, key).get(weighing.policy) as number[]
    }
  }
}
