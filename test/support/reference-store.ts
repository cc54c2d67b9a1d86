import type { Algorithm } from '../../src/algorithms/algorithm.ts'
import { carry, hasFullQuota } from '../../src/algorithms/carry.ts'
import { type Costs, Evaluation } from '../../src/algorithms/evaluation.ts'
import { sameDefinition } from '../../src/algorithms/revive.ts'
import type { Clock, Decision, Policy, Store } from '../../src/index.ts'
import type { Booking, DecideOptions, DecideVerb, Ledger, LedgerTerms, ReserveOptions } from '../../src/store.ts'

/** The reference for every store: evaluations over plain arrays, which the tests can read. */
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

/** A state, and the algorithm that it was written under. */
interface Kept {
  readonly algorithm: Algorithm
  readonly s: number[]
}

/** The states by scope and key, then by policy name. */
type States = Map<string, Map<string, Kept>>

export class ReferenceLedger implements Ledger {
  readonly #terms: LedgerTerms
  readonly #clock: Clock
  readonly #evaluation: Evaluation
  readonly #states: States

  /** The id that was given to reservations last: the same ones in every run. */
  readonly #ids: { last: number }

  constructor(terms: LedgerTerms, clock: Clock, states: States = new Map(), ids: { last: number } = { last: 0 }) {
    this.#ids = ids
    this.#terms = terms
    this.#clock = clock
    this.#evaluation = new Evaluation(terms.policies)
    this.#states = states
  }

  vary(terms: LedgerTerms): ReferenceLedger {
    return new ReferenceLedger(terms, this.#clock, this.#states, this.#ids)
  }

  /** The last written states of a scope's key. */
  states(scope: string, key: string): Map<Policy, number[]> {
    const states = new Map<Policy, number[]>()
    for (const policy of this.#terms.policies) {
      const kept = this.#kept(scope, key).get(policy.name)
      if (policy.scope === scope && kept) states.set({ ...policy, algorithm: kept.algorithm }, kept.s)
    }
    return states
  }

  decide(verb: DecideVerb, keys: readonly string[], costs: Costs, extras?: DecideOptions): Decision {
    this.#load(keys)
    this.#evaluation.evaluate(verb, this.#clock(), costs, 0, extras?.tickets)
    if (verb === 'refund' || verb === 'settle') this.#evaluation.giveBack()
    const decision = this.#evaluation.commit('store', extras)
    this.#save(keys)
    return decision
  }

  reserve(keys: readonly string[], costs: Costs, maxWait: number, extras?: ReserveOptions): Booking {
    this.#load(keys)
    const verb = extras?.renews === undefined ? 'reserve' : 'renew'
    this.#evaluation.evaluate(verb, this.#clock(), costs, maxWait, extras?.renews)
    const decision = this.#evaluation.commit('store', extras)
    const tickets = decision.allowed ? this.#evaluation.tickets(++this.#ids.last) : undefined
    this.#save(keys)
    if (!decision.allowed) return { decision, wait: 0, tickets: undefined }
    const { delay } = this.#evaluation
    return { decision, wait: Math.ceil(delay / 1000), delay, tickets }
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

  /** Points each policy to a copy of its state, carried over if its numbers have changed. */
  #load(keys: readonly string[]): void {
    for (const evaluation of this.#evaluation.policies) {
      const { policy, algorithm } = evaluation
      const kept = this.#kept(policy.scope, this.#keyOf(policy, keys)).get(policy.name)
      const same = kept === undefined || sameDefinition(kept.algorithm, algorithm)
      const lasting = kept !== undefined && !hasFullQuota(kept.s, 0, kept.algorithm, this.#clock())
      evaluation.carried = !same && lasting && this.#terms.onChange !== 'retune'
      evaluation.foreign = undefined
      if (kept === undefined) evaluation.s = new Array(algorithm.slots).fill(0)
      else if (same) evaluation.s = kept.s.slice()
      else {
        const { algorithm: from } = kept
        const now = this.#clock()
        const s = kept.s.slice()
        const carried = () => carry(s.slice(), from, algorithm, now, this.#terms.onChange ?? 'keep')
        evaluation.s = carried()
        evaluation.foreign = lasting ? { algorithm: from, s, carried } : undefined
      }
    }
  }

  /** Saves the states that the call changed. */
  #save(keys: readonly string[]): void {
    for (const { policy, algorithm, s, wrote, wroteForeign, foreign } of this.#evaluation.policies) {
      const kept = wrote ? { algorithm, s } : wroteForeign ? foreign : undefined
      if (kept === undefined) continue
      const { algorithm: by, s: numbers } = kept
      this.#kept(policy.scope, this.#keyOf(policy, keys)).set(policy.name, { algorithm: by, s: numbers as number[] })
    }
  }

  #keyOf(policy: Policy, keys: readonly string[]): string {
    return keys[this.#terms.scopes.indexOf(policy.scope)] as string
  }
}
