/*
 * A store on a least-recently-used cache. It is also an example of how to write a store.
 *
 * A store has the states of the keys, and decides nothing itself. For each command, it reads the clock once, finds the states of
 * the keys, runs the command on these states, and saves the changed states. Between these steps, no other command may change the
 * states. In this store no other command can run between the steps, because the store is synchronous.
 */
import { LRUCache } from 'lru-cache'
import { makeSpace } from '../algorithms/bans/index.ts'
import { type Clock, clockOr, monotonicClock, ownText, readOptions, whole } from '../common/index.ts'
import type { KeptKey, KeyPage } from '../inspection/index.ts'
import {
  type Command,
  decodeId,
  encodeId,
  KeyStates,
  type Ledger,
  type LedgerTerms,
  type Outcome,
  type OutcomeOf,
  runOnStates,
  type ScanTerms,
  ScopedEvaluation,
  type StateVerb,
  type Store,
  type Verb,
} from './contract/index.ts'

/** The options of `lruStore`. */
export interface LruStoreOptions {
  /**
   * The most keys in memory, for each scope (kind of key, such as user or address) of each limiter, at most 16,777,215. Default 100,000.
   * When one more key is stored, the least recently used key is removed. A removed key has its full quota at its next call.
   */
  maxKeys?: number | undefined
  /** Returns whole microseconds since the epoch. Default: a monotonic clock. */
  clock?: Clock | undefined
}

/** How many keys one page of a scan lists. */
const pageSize = 100

/** The largest `maxKeys`: the cache is built on a Map, which has at most 2^24 entries. */
const mostKeys = 2 ** 24 - 1

/**
 * Makes a store in the memory of this process, on a least-recently-used cache: synchronous, bounded, without timers.
 * @throws HeadgateError `HEADGATE_OPTION` or `HEADGATE_CLOCK` if an option is invalid
 */
export function lruStore(options: LruStoreOptions = {}): Store {
  const readers = { maxKeys: whole(100_000, { most: mostKeys }), clock: clockOr(monotonicClock) }
  const { maxKeys, clock } = readOptions('lruStore', options, readers)
  return {
    synchronous: true,
    traits: { kind: 'lru', alternatives: true },
    open: (terms, joins) => new LruLedger(terms, clock, maxKeys, joins instanceof LruLedger ? joins.keys : new Map()),
  }
}

/** The states of the keys of one kind (scope), by the encoded keys. Banned keys are in a separate Map, so that no other key evicts them. */
interface ScopeKeys {
  readonly cached: LRUCache<string, KeyStates>
  readonly banned: Map<string, KeyStates>
  /** When ended bans were last moved to the cache, in microseconds. */
  sweptAt: number
}

/** The ledger of a limiter under one plan (set of policies). The limiter's ledgers under other plans use the same `keys`. */
class LruLedger implements Ledger {
  readonly #clock: Clock
  readonly #maxKeys: number
  readonly #scopes: readonly string[]
  readonly #evaluation: ScopedEvaluation
  /** For each scope (kind of key), by its name: the states of its keys. */
  readonly keys: Map<string, ScopeKeys>

  constructor(terms: LedgerTerms, clock: Clock, maxKeys: number, keys: Map<string, ScopeKeys>) {
    this.#clock = clock
    this.#maxKeys = maxKeys
    this.#scopes = terms.scopes
    this.#evaluation = new ScopedEvaluation(terms)
    this.keys = keys
  }

  run<V extends Verb>(command: Command<V>): OutcomeOf<V> {
    return this.#run(command) as OutcomeOf<V>
  }

  #run(command: Command): Outcome {
    const { verb } = command
    const now = this.#clock()
    if (verb === 'clear') return void this.keys.clear()
    if (verb === 'scan') return this.#scan(command.scan as ScanTerms, now)
    const ids = (command.keys as readonly (string | undefined)[]).map((key) => {
      return key === undefined ? undefined : encodeId(key)
    })
    if (verb === 'inspect') return ids.map((id, n) => this.#kept(this.#scopes[n] as string, id as string, now))
    if (verb === 'ban') for (const [n, id] of ids.entries()) if (id !== undefined) this.#makeSpace(n, id, now)
    const states = ids.map((id, n) => (id === undefined ? undefined : this.#find(n, id)))
    const outcome = runOnStates(states, this.#evaluation, command as Command<StateVerb>, now)
    for (const [n, each] of states.entries()) if (each?.changed) this.#save(n, ids[n] as string, each)
    return outcome
  }

  /** Returns the states of a key. For a new key, the returned object has no states. */
  #find(scope: number, id: string): KeyStates {
    const { cached, banned } = this.#keysOf(this.#scopes[scope] as string)
    return cached.get(id) ?? banned.get(id) ?? new KeyStates()
  }

  #save(scope: number, id: string, states: KeyStates): void {
    const { cached, banned } = this.#keysOf(this.#scopes[scope] as string)
    states.changed = false
    if (states.storedBan !== undefined) {
      cached.delete(id)
      banned.set(ownText(id), states)
    } else {
      banned.delete(id)
      cached.set(cached.has(id) ? id : ownText(id), states)
    }
  }

  /** If there is no space for the ban of a key, forgets the bans that have ended. @throws HeadgateError `HEADGATE_BAN` */
  #makeSpace(scope: number, id: string, now: number): void {
    const keys = this.#keysOf(this.#scopes[scope] as string)
    const { cached, banned } = keys
    makeSpace(banned, banned.has(id) ? 0 : 1, now, keys.sweptAt, () => {
      keys.sweptAt = now
      for (const [key, states] of banned) {
        if (states.banAt(now, false) !== undefined) continue
        banned.delete(key)
        states.storedBan = undefined
        if (cached.size < this.#maxKeys) cached.set(key, states) // else it would evict keys that were used more recently
      }
    })
  }

  /** The states of a key for an inspection. The inspection does not count as a use of the key in the cache. */
  #kept(scope: string, id: string, now: number): KeptKey {
    const { cached, banned } = this.#keysOf(scope)
    const { kept: states, storedBan: ban } = cached.peek(id) ?? banned.get(id) ?? new KeyStates()
    return { now, states, ban }
  }

  /**
   * Lists a page of the keys of a scope.
   * @param from the keys that are not listed yet, in the order of the first page, because every use of a key changes the order in the cache
   */
  #scan({ scope, from }: ScanTerms, now: number): KeyPage {
    const { cached, banned } = this.#keysOf(scope)
    const ids = (from as readonly string[] | undefined) ?? [...cached.keys(), ...banned.keys()]
    const keys = ids.slice(0, pageSize).map((id) => ({ ...decodeId(id), kept: this.#kept(scope, id, now) }))
    return { keys, next: ids.length > pageSize ? ids.slice(pageSize) : undefined }
  }

  #keysOf(scope: string): ScopeKeys {
    let keys = this.keys.get(scope)
    if (keys !== undefined) return keys
    // The option `max` is not used, because with `max` a new LRUCache allocates arrays for `maxKeys` keys.
    keys = {
      cached: new LRUCache({ maxSize: this.#maxKeys, sizeCalculation: () => 1 }),
      banned: new Map(),
      sweptAt: -Infinity,
    }
    this.keys.set(scope, keys)
    return keys
  }
}
