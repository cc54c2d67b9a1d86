/*
 * A store on a least-recently-used cache, and the model of how a store is written.
 *
 * A store keeps the states of keys and decides nothing itself. It does the same for every verb (see `#run`):
 *
 *     1. It reads the time once.
 *     2. It points each policy to its state of the key: to the numbers `s[i]`, `s[i + 1]` and so on.
 *     3. It lets the evaluation decide, which writes to the states where they are.
 *     4. It saves the states that were written.
 *
 * No other call may change the keys in between. This store is synchronous, so nothing can.
 */
import { LRUCache } from 'lru-cache'
import type { Algorithm, Policy } from '../algorithms/algorithm.ts'
import { isBlockable, withBlock } from '../algorithms/block.ts'
import { carry, hasFullQuota } from '../algorithms/carry.ts'
import { type Costs, Evaluation, effectiveTime, type PolicyEvaluation, type Verb } from '../algorithms/evaluation.ts'
import { newReservationId } from '../algorithms/reservation-id.ts'
import { byDefinition, type Definition, sameDefinition } from '../algorithms/revive.ts'
import { type Clock, checkClock, monotonicClock } from '../clock.ts'
import type { Decision } from '../decision.ts'
import { HeadgateError } from '../errors.ts'
import type { KeptKey, KeyPage } from '../inspection/kept-key.ts'
import { knownOptions, positiveInteger } from '../options.ts'
import { Blocks } from './blocks.ts'
import { decodeId, encodeId } from './encode.ts'
import type { Booking, DecideOptions, DecideVerb, Ledger, LedgerTerms, ReserveOptions, Store } from './store.ts'

export interface LruStoreOptions {
  /**
   * The most keys held for each scope of each limiter, at most 16,777,215. Default 100,000. When one key more comes, the
   * least recently used one is forgotten: it has its full quota when it comes back.
   */
  maxKeys?: number
  /** Whole microseconds since the epoch. Default: a monotonic clock. */
  clock?: Clock
}

/** How many keys are listed at once. */
const pageSize = 100

/** The cache is built on a Map, which has at most 2^24 entries. */
const mostKeys = 2 ** 24 - 1

/**
 * States in the memory of this process, on a least-recently-used cache: synchronous, bounded, without timers.
 * @throws HeadgateError `HEADGATE_OPTION` or `HEADGATE_CLOCK`
 */
export function lruStore(options: LruStoreOptions = {}): Store {
  knownOptions('lruStore', options, ['maxKeys', 'clock'])
  const maxKeys = positiveInteger(options.maxKeys ?? 100_000, 'lruStore: maxKeys', 'HEADGATE_OPTION')
  if (maxKeys > mostKeys) {
    throw new HeadgateError('HEADGATE_OPTION', `lruStore: maxKeys is ${maxKeys}. Give ${mostKeys} at most.`)
  }
  const clock = options.clock === undefined ? monotonicClock : checkClock(options.clock)
  return { kind: 'lru', synchronous: true, open: (terms) => new LruLedger(terms, clock, maxKeys) }
}

/** The state of one key under one policy, and the algorithm that wrote it. */
interface KeyState {
  readonly algorithm: Algorithm
  readonly s: number[]
}

/** The keys of one scope. Each has a state for each of its policies, by the policy's name. */
type Cache = LRUCache<string, Map<string, KeyState>>

function definitionOf({ kind, span, parameters }: Algorithm): Definition {
  return { kind, span, parameters }
}

/** One limiter under one plan. Its other plans have ledgers of their own, on the same caches. */
class LruLedger implements Ledger {
  readonly #terms: LedgerTerms
  readonly #clock: Clock
  readonly #maxKeys: number
  /** By scope. */
  readonly #caches: Map<string, Cache>
  /** The keys that are blocked by hand, under any plan. */
  readonly #blocks: Blocks
  #evaluation: Evaluation

  constructor(
    terms: LedgerTerms,
    clock: Clock,
    maxKeys: number,
    caches: Map<string, Cache> = new Map(),
    blocks = new Blocks(encodeId),
  ) {
    this.#terms = terms
    this.#clock = clock
    this.#maxKeys = maxKeys
    this.#caches = caches
    this.#blocks = blocks
    this.#evaluation = new Evaluation(terms.policies)
  }

  decide(verb: DecideVerb, keys: readonly string[], costs: Costs, extras?: DecideOptions): Decision {
    return this.#run(verb, keys, costs, 0, extras)
  }

  /** The tickets say what was taken, so that a later settlement gives back no more than that. */
  reserve(keys: readonly string[], costs: Costs, maxWait: number, extras?: ReserveOptions): Booking {
    const verb = extras?.renews === undefined ? 'reserve' : 'renew'
    const decision = this.#run(verb, keys, costs, maxWait, { ...extras, tickets: extras?.renews })
    if (!decision.allowed) return { decision, wait: 0, tickets: undefined }
    const { delay } = this.#evaluation
    const tickets = this.#evaluation.tickets(newReservationId())
    return { decision, wait: Math.ceil(delay / 1000), delay, tickets }
  }

  /** A call on a blocked key is a peek, whose decision is then refused. */
  #run(verb: Verb, keys: readonly string[], costs: Costs, maxWait: number, extras?: DecideOptions): Decision {
    const now = this.#clock()
    const block = this.#blocks.find(this.#terms.scopes, keys, now, verb !== 'peek')
    if (block === undefined) return this.#evaluate(verb, keys, costs, maxWait, now, extras)
    const refuses = isBlockable(verb)
    return withBlock(this.#evaluate(refuses ? 'peek' : verb, keys, costs, maxWait, now, extras), block, refuses)
  }

  #evaluate(
    verb: Verb,
    keys: readonly string[],
    costs: Costs,
    maxWait: number,
    now: number,
    extras?: DecideOptions,
  ): Decision {
    const evaluation = this.#evaluation
    for (const policy of evaluation.policies) this.#load(policy, this.#idOf(policy, keys), now)
    evaluation.evaluate(verb, now, costs, maxWait, extras?.tickets)
    if (verb === 'refund' || verb === 'settle') evaluation.giveBack()
    const decision = evaluation.commit('store', extras)
    for (const policy of evaluation.policies) if (policy.wrote) this.#save(policy, this.#idOf(policy, keys))
    return decision
  }

  /** A new key starts from zeros. A state that another plan wrote is carried over, in a copy. */
  #load(policy: PolicyEvaluation, id: string, now: number): void {
    const { algorithm } = policy
    const { onChange: rule = 'keep' } = this.#terms
    const state = this.#cacheOf(policy.policy.scope).get(id)?.get(policy.policy.name)
    policy.carried = false
    policy.foreign = undefined
    if (state === undefined) {
      policy.s = new Array(algorithm.slots).fill(0)
    } else if (sameDefinition(state.algorithm, algorithm)) {
      policy.s = state.s
    } else {
      const { s } = state
      const from = byDefinition(state.algorithm)
      const carried = () => carry(s.slice(), from, algorithm, now, rule)
      policy.s = carried()
      if (hasFullQuota(s, 0, from, now)) return
      policy.carried = rule !== 'retune'
      policy.foreign = { algorithm: from, s, carried }
    }
  }

  /** Saves only states that were written. A peek, most refusals and a state that was only carried over change nothing. */
  #save({ policy, algorithm, s }: PolicyEvaluation, id: string): void {
    const cache = this.#cacheOf(policy.scope)
    const states = cache.get(id) ?? new Map<string, KeyState>()
    cache.set(id, states.set(policy.name, { algorithm, s: s as number[] }))
  }

  reset(keys: readonly string[]): void {
    for (const [n, scope] of this.#terms.scopes.entries()) this.#cacheOf(scope).delete(encodeId(keys[n] as string))
    this.#blocks.delete(this.#terms.scopes, keys)
  }

  block(keys: readonly (string | undefined)[], duration: number, reason: string | undefined): void {
    this.#blocks.set(this.#terms.scopes, keys, this.#clock(), duration, reason)
  }

  /** Ends the block, and those that penalties have given. */
  unblock(keys: readonly (string | undefined)[]): void {
    const now = this.#clock()
    this.#blocks.delete(this.#terms.scopes, keys)
    for (const [n, scope] of this.#terms.scopes.entries()) {
      const states = keys[n] === undefined ? undefined : this.#cacheOf(scope).get(encodeId(keys[n]))
      for (const { algorithm, s } of states?.values() ?? []) {
        algorithm.unblock?.(s, 0, effectiveTime(algorithm, s[0] as number, now))
      }
    }
  }

  clear(): void {
    for (const cache of this.#caches.values()) cache.clear()
    this.#blocks.clear()
  }

  /** Looks without using: the order of the cache stays. */
  inspect(keys: readonly string[]): readonly KeptKey[] {
    return this.#terms.scopes.map((scope, n) => this.#kept(scope, encodeId(keys[n] as string)))
  }

  #kept(scope: string, id: string): KeptKey {
    const states = [...(this.#cacheOf(scope).peek(id) ?? [])]
    const kept = states.map(([name, { algorithm, s }]) => ({ name, definition: definitionOf(algorithm), s: s.slice() }))
    return { now: this.#clock(), states: kept, block: this.#blocks.look(scope, id) }
  }

  /** @param from the ids that are left of those that were there at first: the order changes while they are listed */
  list(scope: string, from: unknown): KeyPage {
    const cached = () => this.#cacheOf(scope).keys()
    const ids = (from as readonly string[] | undefined) ?? [...new Set([...cached(), ...this.#blocks.names(scope)])]
    const keys = ids.slice(0, pageSize).map((id) => ({ ...decodeId(id), kept: this.#kept(scope, id) }))
    return { keys, next: ids.length > pageSize ? ids.slice(pageSize) : undefined }
  }

  /** Another plan: the same keys under other policies. */
  vary(terms: LedgerTerms): Ledger {
    return new LruLedger(terms, this.#clock, this.#maxKeys, this.#caches, this.#blocks)
  }

  /** The same policies with other limits. All states are adopted now: until now they have drained at the old rates. */
  retune(policies: readonly Policy[]): void {
    const now = this.#clock()
    this.#evaluation = new Evaluation(policies)
    for (const { scope, name, algorithm } of policies) {
      for (const states of this.#cacheOf(scope).values()) {
        const state = states.get(name)
        if (state === undefined) continue
        const { s, algorithm: from } = state
        algorithm.adopt?.(s, 0, effectiveTime(from, s[0] as number, now), from)
        states.set(name, { algorithm, s })
      }
    }
  }

  /** The id of a key: short for any key, and different for different keys. */
  #idOf({ policy }: PolicyEvaluation, keys: readonly string[]): string {
    return encodeId(keys[this.#terms.scopes.indexOf(policy.scope)] as string)
  }

  #cacheOf(scope: string): Cache {
    let cache = this.#caches.get(scope)
    if (cache !== undefined) return cache
    cache = new LRUCache({ max: this.#maxKeys })
    this.#caches.set(scope, cache)
    return cache
  }
}
