import type { Algorithm } from '../../src/algorithms/algorithm.ts'
import { carry, hasFullQuota } from '../../src/algorithms/carry.ts'
import { Evaluation } from '../../src/algorithms/evaluation.ts'
import { sameDefinition } from '../../src/algorithms/revive.ts'
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

/** A state, and the numbers it was written under. */
interface Kept {
  readonly algorithm: Algorithm
  readonly s: number[]
}

/** By scope and key, a state for each policy by its name. */
type States = Map<string, Map<string, Kept>>

export class ReferenceLedger implements Ledger {
  readonly #terms: LedgerTerms
  readonly #clock: Clock
  readonly #step: Evaluation
  readonly #states: States

  constructor(terms: LedgerTerms, clock: Clock, states: States = new Map()) {
    this.#terms = terms
    this.#clock = clock
    this.#step = new Evaluation(terms.policies)
    this.#states = states
  }

  vary(terms: LedgerTerms): ReferenceLedger {
    return new ReferenceLedger(terms, this.#clock, this.#states)
  }

  /** The states of a scope's key, as they were last written. */
  states(scope: string, key: string): Map<Policy, number[]> {
    const states = new Map<Policy, number[]>()
    for (const policy of this.#terms.policies) {
      const kept = this.#kept(scope, key).get(policy.name)
      if (policy.scope === scope && kept) states.set({ ...policy, algorithm: kept.algorithm }, kept.s)
    }
    return states
  }

  decide(verb: DecideVerb, keys: readonly string[], cost: number, extras?: DecideExtras): Decision {
    this.#point(keys)
    this.#step.evaluate(verb, this.#clock(), cost, 0)
    if (verb === 'refund') this.#step.refund(extras?.tickets)
    const decision = this.#step.commit('store', extras)
    this.#keep(keys)
    return decision
  }

  reserve(keys: readonly string[], cost: number, maxWait: number): Booking {
    this.#point(keys)
    this.#step.evaluate('reserve', this.#clock(), cost, maxWait)
    const decision = this.#step.commit('store')
    this.#keep(keys)
    if (!decision.allowed) return { decision, wait: 0, tickets: undefined }
    return { decision, wait: Math.ceil(this.#step.delay / 1000), tickets: this.#step.tickets() }
  }

  reset(keys: readonly string[]): void {
    for (const [n, scope] of this.#terms.scopes.entries()) this.#states.delete(JSON.stringify([scope, keys[n]]))
  }

  #kept(scope: string, key: string): Map<string, Kept> {
    const name = JSON.stringify([scope, key])
    const kept = this.#states.get(name) ?? new Map()
    this.#states.set(name, kept)
    return kept
  }

  /** On copies, carried over where the numbers are others now. */
  #point(keys: readonly string[]): void {
    for (const weighing of this.#step.policies) {
      const { policy, algorithm } = weighing
      const kept = this.#kept(policy.scope, this.#keyOf(policy, keys)).get(policy.name)
      const same = kept === undefined || sameDefinition(kept.algorithm, algorithm)
      const lasting = kept !== undefined && !hasFullQuota(kept.s, 0, kept.algorithm, this.#clock())
      weighing.carried = !same && lasting && this.#terms.onChange !== 'retune'
      if (kept === undefined) weighing.s = new Array(algorithm.slots).fill(0)
      else if (same) weighing.s = kept.s.slice()
      else weighing.s = carry(kept.s.slice(), kept.algorithm, algorithm, this.#clock(), this.#terms.onChange ?? 'keep')
    }
  }

  /** Writes the states that the call changed. */
  #keep(keys: readonly string[]): void {
    for (const { policy, algorithm, s, wrote } of this.#step.policies) {
      if (!wrote) continue
      this.#kept(policy.scope, this.#keyOf(policy, keys)).set(policy.name, { algorithm, s: s as number[] })
    }
  }

  #keyOf(policy: Policy, keys: readonly string[]): string {
    return keys[this.#terms.scopes.indexOf(policy.scope)] as string
  }
}
