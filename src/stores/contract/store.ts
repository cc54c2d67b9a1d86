/*
 * The contract of a store. A limiter opens a ledger in its store and runs every command on that ledger. `testStore` of
 * headgate/testing checks a store against this contract.
 */
import type { Policy, StateRule } from '../../algorithms/index.ts'
import type { MaybePromise } from '../../common/index.ts'
import type { Command, OutcomeOf, Verb } from './command.ts'
import type { FailureTerms } from './on-store-error.ts'

/** The limiter whose states a store keeps. */
export interface LedgerTerms {
  /** The limiter's name: the namespace of its states. Two limiters on one store never share a state. */
  readonly name: string
  readonly policies: readonly Policy[]
  /** The scopes of the policies, each once. A command brings one key for each scope, in this order. */
  readonly scopes: readonly string[]
  /** What happens to the state of a policy whose numbers changed after the state was written. Default `'keep'`. */
  readonly onChange?: StateRule
  /** True if the joined ledger is no longer used. An `exclusive` store then moves all its states to the new policies at once. */
  readonly replaces?: boolean
  /**
   * What happens to calls that the store cannot decide. A store that can fail passes this on to `withFailover`. Without it, an
   * error of the store reaches the caller.
   */
  readonly failure?: FailureTerms | undefined
}

/**
 * The states of one limiter. Each command is one atomic step over all policies and all its keys: read the time, load the
 * states, evaluate, and save what changed.
 *
 * A ledger throws, or rejects, only if the store fails, or with HeadgateError `HEADGATE_UNSUPPORTED` for a verb that it does
 * not have. A refusal is an outcome.
 */
export interface Ledger {
  run<V extends Verb>(command: Command<V>): MaybePromise<OutcomeOf<V>>
}

/** The settings of a store's circuit breaker. Durations are in milliseconds. */
export interface BreakerTerms {
  /** How many exchanges in a row have to fail before the breaker opens. */
  readonly failures: number
  /** The time from opening to the first probe. */
  readonly openFor: number
  /** The time from a failed probe to the next probe. */
  readonly probeEvery: number
}

/** What a limiter has to know about a store. */
export interface StoreTraits {
  /** The kind of the store for metrics, such as `'redis'`. Default `'other'`. */
  readonly kind?: string
  /**
   * The prefix of the store's keys, if other programs have keys beside them. With a prefix, each limiter needs a name.
   */
  readonly prefix?: string
  /**
   * The longest time of a call in milliseconds, if the store itself enforces that. A late call then rejects with
   * HeadgateError `HEADGATE_STORE_TIMEOUT`. Without it, the limiter enforces a timeout of its own.
   */
  readonly timeout?: number
  /** When the store's circuit breaker opens, and how often it probes. Default: 5 failures, 500 ms, 500 ms. */
  readonly breaker?: Partial<BreakerTerms>
  /**
   * The part of the store (shard) that decides on a key, such as a node of Redis Cluster: parts that fail separately have a circuit
   * breaker each. An error of a call can name the parts that failed, by its `shards`. Without this function, the store has one breaker.
   */
  readonly shardOf?: (key: string) => string
  /**
   * True if nobody else can reach the states of a ledger. Then `open` with `joins` may change the rate. Default false.
   */
  readonly exclusive?: boolean
  /** True if a command can fail: then the ledgers come from `withFailover`. Default: true unless the store is synchronous. */
  readonly fallible?: boolean
}

/** Keeps the states, owns the clock, and makes each step atomic. */
export interface Store {
  /** True if every ledger returns its outcomes at once, never as promises. */
  readonly synchronous: boolean
  /** Facts that limiters need. Default: none. */
  readonly traits?: StoreTraits
  /**
   * Opens the states of a limiter. In a store that processes share, the same name opens the same states.
   * @param joins a ledger of the same name from this store: the new ledger reaches its states under other policies, matched by
   *   name. A store that finds states by their names does not need `joins`
   * @throws HeadgateError `HEADGATE_POLICY` for an algorithm that the store does not have, `HEADGATE_STATE_SIZE` for
   * policies whose state does not fit
   */
  open(terms: LedgerTerms, joins?: Ledger): Ledger
  /**
   * Ends what the store itself began: subscriptions, listeners, periodic reports. The client or the database that it was given stays
   * open. A store that begins nothing has no such method.
   */
  close?(): void
}

/** Opens a ledger of a store that may fail. */
export type OpenLedger = (terms: LedgerTerms, joins?: Ledger) => Ledger

/** True if a command of this store can fail. */
export function isFallible({ synchronous, traits }: Store): boolean {
  return traits?.fallible ?? !synchronous
}

/** True if the store is in this process alone, and cannot fail. A file is neither. */
export function isLocal(store: Store): boolean {
  return store.synchronous && !isFallible(store)
}
