/*
 * The contract of a store. A limiter opens a ledger (access to its states) in its store and runs every command on that ledger. `testStore`
 * of headgate/testing checks a store against this contract.
 */
import type { Policy, StateRule } from '../../algorithms/index.ts'
import type { MaybePromise } from '../../common/index.ts'
import type { Booking, Command, Outcome, OutcomeOf, Verb } from './command.ts'
import type { Documents } from './documents.ts'
import type { FailureTerms } from './on-store-error.ts'

/** Says that an admitted call has reached a threshold: this part of a quota is used, for the first time in the window. */
export interface ThresholdEvent {
  /** The name of the limiter. */
  readonly limiter: string
  /** The name of the policy. */
  readonly policy: string
  /** The key that has used this part of its quota. */
  readonly key: string
  /** The name of the key's kind, such as `user`. */
  readonly scope: string
  /** The part of the quota, as in the option `thresholds`. Example: `0.8`. */
  readonly threshold: number
  /** The used units after the call. */
  readonly used: number
  readonly limit: number
  /** The end of the window, in milliseconds since the epoch by the store's clock. */
  readonly resetAt: number
}

/** What a limiter passes to `Store.open`, to open its states in the store. */
export interface LedgerTerms {
  /** The name of the limiter, which is the namespace of its states. Two limiters in one store never share a state. */
  readonly name: string
  readonly policies: readonly Policy[]
  /** The scopes (kinds of key) of the policies, each of them once. A command has one key for each scope, in this order. */
  readonly scopes: readonly string[]
  /** What happens to a state if the policy's numbers, such as its limit, have changed since the state was written. Default `'keep'`. */
  readonly onChange?: StateRule
  /**
   * True if the earlier ledger (states of this limiter) that was passed as `joins` to `Store.open` is no longer used. A store with the
   * trait `exclusive` then changes all states of that ledger to the new policies.
   */
  readonly replaces?: boolean
  /**
   * What happens to a call if the store fails. A store that can fail passes `failure` to `withFailover`. If `failure` is
   * undefined, errors of the store reach the caller.
   */
  readonly failure?: FailureTerms | undefined
  /** Called once for each threshold that an outcome reports in `Verdict.reached`. Undefined if the limiter has no such function. */
  readonly onThreshold?: ((event: ThresholdEvent) => void) | undefined
  /**
   * For the ledger that a store passes to `withFailover`. If the store has a timeout of its own (`traits.timeout`), its ledger calls
   * `onLate` with an outcome that comes after this time, so that no caller gets the outcome. The units of the command are then given back.
   * `withFailover` sets this function, and ignores one that was passed to `Store.open`.
   */
  readonly onLate?: OnLate | undefined
  /**
   * Set if these are the policies of an override. `'some'`: for a few keys, so the store need not prepare memory for these policies.
   * `'all'`: for every key. Undefined for the policies of a plan.
   */
  readonly override?: OverrideExtent | undefined
}

/**
 * @param outcome the outcome of any verb. `tickets`, also those of a `consume`, identify the units that the command took
 * @param elapsed how many milliseconds ago the command was sent
 */
export type OnLate = (
  command: Command,
  outcome: Outcome | Pick<Booking, 'decision' | 'tickets'>,
  elapsed: number,
) => void

/** Which keys the policies of an override are for. */
export type OverrideExtent = 'some' | 'all'

/**
 * The states of one limiter. Each command is one atomic step over all policies and all keys of the command: read the time, load the
 * states, evaluate, and save what changed.
 *
 * A ledger throws, or rejects, only if the store fails, or with HeadgateError `HEADGATE_UNSUPPORTED` for a verb that the store does
 * not support. A refused call is an outcome, and not an error.
 */
export interface Ledger {
  run<V extends Verb>(command: Command<V>): MaybePromise<OutcomeOf<V>>
}

/** The settings of the circuit breaker of a store. Durations are in milliseconds. */
export interface BreakerTerms {
  /** How many requests to the store have to fail, without a success between them, to open the breaker. */
  readonly failures: number
  /** Milliseconds from the opening of the breaker to the first probe. */
  readonly openFor: number
  /** Milliseconds from a failed probe to the next probe. */
  readonly probeEvery: number
}

/** The facts about a store that a limiter needs. */
export interface StoreTraits {
  /** The kind of the store, for metrics. Example: `'redis'`. Default `'other'`. */
  readonly kind?: string
  /**
   * The prefix of the store's keys, if other programs use the same server. With a prefix, each limiter needs a name.
   */
  readonly prefix?: string
  /**
   * The longest time of a call in milliseconds, if the store itself enforces this limit. A call that takes longer rejects with
   * HeadgateError `HEADGATE_STORE_TIMEOUT`. Without `timeout`, the limiter enforces a timeout.
   */
  readonly timeout?: number
  /**
   * When the circuit breaker of the store opens, and how often the open breaker sends a probe. Default: opens after 5 failures, and probes
   * every 500 ms.
   */
  readonly breaker?: Partial<BreakerTerms>
  /**
   * Returns the part of the store (shard) that decides on a key, such as a node of Redis Cluster. Each part has a circuit breaker
   * of its own. The field `shards` of an error lists the parts that failed. Default: the whole store has one breaker.
   */
  readonly shardOf?: (key: string) => string
  /**
   * True if no other process can reach the states. In this case, the stored states can be converted when a limiter changes its
   * rate: see `LedgerTerms.replaces`. Default false.
   */
  readonly exclusive?: boolean
  /**
   * True if the store's ledgers evaluate `Command.alternatives`, as `runOnStates` does. Default false: a call with a list of costs then
   * rejects with HeadgateError `HEADGATE_UNSUPPORTED`.
   */
  readonly alternatives?: boolean
  /**
   * False if the store only decides about the present, so that `reserve` never answers with a later time. A pacer then asks again when
   * units may be free. Default true.
   */
  readonly promises?: boolean
  /**
   * True if a command can fail. The store must then make its ledgers by `withFailover`. Default: false for a synchronous store,
   * else true.
   */
  readonly fallible?: boolean
}

/** Stores the states of keys, reads the clock, and runs each command as one atomic step. */
export interface Store {
  /** True if every ledger returns its outcomes directly, and never as promises. */
  readonly synchronous: boolean
  /** Facts about this store that limiters need. Default: none. */
  readonly traits?: StoreTraits
  /**
   * Stores the overrides of limiters for all processes. Absent if the store cannot do so: `override` then rejects with HeadgateError
   * `HEADGATE_UNSUPPORTED`. A store in the memory of one process needs no `documents`, because its limiters keep their overrides
   * themselves.
   */
  readonly documents?: Documents
  /**
   * Opens the states of a limiter. If several processes share the store, limiters with the same name share their states.
   * @param joins a ledger that this store has opened under the same name. The new ledger uses the states of `joins` with the
   *   policies of `terms`: each state belongs to the policy of the same name. A store that finds states by their names does not
   *   need `joins`
   * @throws HeadgateError `HEADGATE_POLICY` for an algorithm that the store does not have
   * @throws HeadgateError `HEADGATE_STATE_SIZE` if a state could be too large for the store
   */
  open(terms: LedgerTerms, joins?: Ledger): Ledger
  /**
   * Ends what the store itself has started: subscriptions, listeners, periodic reports. The client or the database that the store
   * was given stays open. A store that starts nothing has no `close`.
   */
  close?(): void
}

/** A function that opens a ledger in a store. */
export type OpenLedger = (terms: LedgerTerms, joins?: Ledger) => Ledger

/** True if a command of this store can fail. */
export function isFallible({ synchronous, traits }: Store): boolean {
  return traits?.fallible ?? !synchronous
}

/**
 * True if the store is in the memory of this process, and cannot fail. A store in a file is not local, because other processes reach the
 * file, and the file can fail.
 */
export function isLocal(store: Store): boolean {
  return store.synchronous && !isFallible(store)
}
