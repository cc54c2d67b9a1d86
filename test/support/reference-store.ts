import type { Algorithm } from '../../src/algorithms/algorithm.ts'
import {
  banAt,
  type CallBan,
  callBan,
  isBannable,
  laterBan,
  longerBan,
  newBan,
  type StoredBan,
  withBan,
} from '../../src/algorithms/bans/ban.ts'
import { pointTo } from '../../src/algorithms/carry.ts'
import { type DecidingVerb, Evaluation, effectiveTime } from '../../src/algorithms/evaluation/evaluation.ts'
import { isFull } from '../../src/algorithms/evaluation/granted.ts'
import { revive } from '../../src/algorithms/kinds.ts'
import type { Clock, Decision, Policy, Store } from '../../src/index.ts'
import type { Booking, Command, Ledger, LedgerTerms, OutcomeOf, Verb } from '../../src/store.ts'
import { type BanTerms, elsewhere, tooMany } from '../../src/stores/contract/index.ts'

/** The reference for every store: evaluations over plain arrays, which the tests can read. */
export class ReferenceStore implements Store {
  readonly synchronous = true
  readonly traits = { alternatives: true }
  readonly #clock: Clock

  constructor(clock: Clock) {
    this.#clock = clock
  }

  open(terms: LedgerTerms, joins?: Ledger): ReferenceLedger {
    return joins instanceof ReferenceLedger ? joins.joined(terms) : new ReferenceLedger(terms, this.#clock)
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
  /** By scope and key. */
  readonly #bans: Map<string, StoredBan>
  readonly #terms: LedgerTerms
  readonly #clock: Clock
  readonly #evaluation: Evaluation
  readonly #states: States

  /** The id that was given to reservations last: the same ones in every run. */
  readonly #ids: { last: number }

  constructor(
    terms: LedgerTerms,
    clock: Clock,
    states: States = new Map(),
    ids: { last: number } = { last: 0 },
    bans: Map<string, StoredBan> = new Map(),
  ) {
    this.#bans = bans
    this.#ids = ids
    this.#terms = terms
    this.#clock = clock
    this.#evaluation = new Evaluation(terms.policies)
    this.#states = states
  }

  joined(terms: LedgerTerms): ReferenceLedger {
    return new ReferenceLedger(terms, this.#clock, this.#states, this.#ids, this.#bans)
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

  run<V extends Verb>(command: Command<V>): OutcomeOf<V> {
    return this.#run(command) as OutcomeOf<V>
  }

  #run(command: Command): OutcomeOf<Verb> {
    const { verb, ban } = command
    if (verb === 'inspect' || verb === 'scan' || verb === 'clear') throw new Error(`the reference has no ${verb}`)
    if (verb === 'reset') return this.#reset(command.keys)
    if (verb === 'unban') return this.#unban(command.keys)
    if (verb !== 'ban') return this.#decide(command as Command<DecidingVerb>)
    const { duration, reason, extends: keeps } = ban as BanTerms
    for (const name of this.#names(command.keys)) {
      const [known, now] = [this.#bans.get(name), this.#clock()]
      const next = newBan(now, duration, reason)
      this.#bans.set(name, keeps && known ? laterBan(banAt(known, now), next) : next)
    }
    return undefined
  }

  #decide({
    verb,
    keys,
    costs = 1,
    alternatives,
    maxWait = 0,
    expires,
    tickets: given,
    unreserved,
    details,
    windows,
  }: Command<DecidingVerb>): Decision | Booking {
    if (!this.#evaluation.place(windows, this.#clock())) return elsewhere(this.#clock())
    const ban = this.#banOf(keys, verb)
    const refuses = ban !== undefined && isBannable(verb)
    this.#load(keys)
    const decides = refuses ? 'peek' : verb
    if (alternatives === undefined) this.#evaluation.evaluate(decides, this.#clock(), costs, maxWait, given)
    else this.#evaluation.evaluateFirst(decides, this.#clock(), alternatives, maxWait)
    if (expires !== undefined && isFull(this.#evaluation)) return elsewhere(tooMany)
    if (verb === 'refund' || verb === 'settle') this.#evaluation.giveBack(unreserved)
    const committed = this.#evaluation.commit('store', details)
    const decision = ban === undefined ? committed : withBan(committed, ban, refuses)
    const reserves = verb === 'reserve' || verb === 'renew'
    const tickets = reserves && decision.allowed ? this.#evaluation.tickets(expires, ++this.#ids.last) : undefined
    this.#save(keys)
    if (!reserves) return decision
    if (!decision.allowed) return { decision, wait: 0, tickets: undefined }
    const { delay } = this.#evaluation
    return { decision, wait: Math.ceil(delay / 1000), delay, tickets }
  }

  #banOf(keys: readonly string[], verb: DecidingVerb): CallBan | undefined {
    const now = this.#clock()
    const found = keys.map((key, n) => {
      const scope = this.#terms.scopes[n] as string
      const kept = this.#bans.get(JSON.stringify([scope, key]))
      const ban = kept && banAt(kept, now)
      if (ban && verb !== 'peek') this.#bans.set(JSON.stringify([scope, key]), ban)
      return ban && callBan(scope, ban, now)
    })
    return found.reduce(longerBan)
  }

  #unban(keys: readonly (string | undefined)[]): undefined {
    for (const name of this.#names(keys)) {
      this.#bans.delete(name)
      for (const { algorithm, s } of this.#states.get(name)?.values() ?? []) {
        const from = byDefinition(algorithm)
        from.unban?.(s, 0, effectiveTime(from, s[0] as number, this.#clock()))
      }
    }
  }

  #names(keys: readonly (string | undefined)[]): string[] {
    return this.#terms.scopes.flatMap((scope, n) => (keys[n] === undefined ? [] : [JSON.stringify([scope, keys[n]])]))
  }

  #reset(keys: readonly (string | undefined)[]): undefined {
    for (const name of this.#names(keys)) {
      this.#states.delete(name)
      this.#bans.delete(name)
    }
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
      const { policy } = evaluation
      const kept = this.#kept(policy.scope, this.#keyOf(policy, keys)).get(policy.name)
      const left = kept && { definition: kept.algorithm, s: kept.s.slice() }
      pointTo(evaluation, left, this.#clock(), this.#terms.onChange ?? 'keep')
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

/** The algorithm as other processes know it. (A policy knows its window as well, which may be longer than a refill.) */
function byDefinition(algorithm: Algorithm): Algorithm {
  return revive(algorithm) ?? algorithm
}
