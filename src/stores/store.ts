/*
 * The contract of a store. A limiter opens a ledger in its store and makes every call on that ledger. `testStore` of
 * headgate/testing checks a store against this contract.
 */
import type { Policy } from '../algorithms/algorithm.ts'
import type { StateRule } from '../algorithms/carry.ts'
import type { Costs, Details, Tickets, Verb } from '../algorithms/evaluation.ts'
import type { Decision } from '../decision.ts'
import type { KeptKey, KeyPage } from '../inspection/kept-key.ts'
import type { MaybePromise } from '../maybe-promise.ts'

/** The limiter whose states a store keeps. */
export interface LedgerTerms {
  /** The limiter's name: the namespace of its states. Two limiters on one store never share a state. */
  readonly name: string
  readonly policies: readonly Policy[]
  /** The scopes of the policies, each once. A call brings one key for each scope, in this order. */
  readonly scopes: readonly string[]
  /** What happens to the state of a policy whose numbers have changed since it was written. Default `'keep'`. */
  readonly onChange?: StateRule
  /** How many processes share the limits, as the user says. A store that all of them ask can ignore it. Default 1. */
  readonly instances?: number
}

/** The result of a reservation, granted or refused. */
export interface Booking {
  readonly decision: Decision
  /** How long the caller has to wait before it acts, in whole milliseconds, rounded up. 0 if refused. */
  readonly wait: number
  /**
   * Optional. The same wait in whole microseconds, as exact as the algorithm has it. A pacer times its slots by it. Default:
   * `wait` milliseconds.
   */
  readonly delay?: number
  /** One for each policy. `settle` needs them. Undefined if refused. */
  readonly tickets: Tickets | undefined
}

/** The verbs of `decide`. They differ in how they take the cost: see `Evaluation`. */
export type DecideVerb = Exclude<Verb, 'reserve' | 'renew'>

/**
 * What happens to a call that the store cannot decide: it is refused, let through, decided in this process, or rejected
 * with the store's error.
 */
export type StoreErrorAction = 'deny' | 'allow' | 'local' | 'throw'

/** Options of a call. */
export interface CallOptions extends Details {
  /**
   * Called with the error if the store fails this call. It returns the action, or undefined for the limiter's
   * `onStoreError`. Only the limiter calls it. A store can ignore it.
   */
  readonly onFailure?: (error: unknown) => StoreErrorAction | undefined
  /** False if the caller does not enforce a refusal of this call. Only for events. A store can ignore it. Default true. */
  readonly enforced?: boolean
}

export interface DecideOptions extends CallOptions {
  /** For `settle`: the tickets of the reservation. */
  readonly tickets?: Tickets | undefined
  /** For `charge` with a cost for each policy: the number of the report that it is. A store can ignore it. */
  readonly report?: NumberedReport | undefined
}

/**
 * A report that may arrive twice, because its sender did not see the answer. A store that knows a number as large as this one
 * from the same sender for the key has counted the report: it charges nothing, and answers.
 */
export interface NumberedReport {
  /** Who sends it: the same text for all reports of a key that count up one number. */
  readonly by: string
  /** Larger than in any report that the sender has sent before, except when it is sent again. */
  readonly number: number
  /** How long the store has to remember the number, in microseconds. */
  readonly life: number
}

export interface ReserveOptions extends CallOptions {
  /**
   * The tickets of a reservation whose leases are renewed: its units are taken anew under the policies that hold them by a
   * lease (`Algorithm.leases`). The other policies keep their tickets. The booking has the tickets to use from then on.
   */
  readonly renews?: Tickets | undefined
}

/**
 * The states of one limiter. Each call is one atomic step over all policies and all its keys: read the time, load the
 * states, evaluate, and save what changed.
 *
 * The limiter has validated the arguments. `keys` has one key for each scope of the terms, in their order. `costs` is a
 * positive safe integer, for `charge` also 0, which creates the key's state; or one number for each policy, in the order of
 * the terms: from 0, where 0 leaves the policy alone, and for `settle` also below 0 for what is given back.
 *
 * A ledger throws, or rejects, only if the store fails. A refusal is a result.
 */
export interface Ledger {
  decide(verb: DecideVerb, keys: readonly string[], costs: Costs, options?: DecideOptions): MaybePromise<Decision>
  /** @param maxWait how long the caller would wait, in whole microseconds */
  reserve(keys: readonly string[], costs: Costs, maxWait: number, options?: ReserveOptions): MaybePromise<Booking>
  /** Forgets the states of these keys: each has its full quota again. */
  reset(keys: readonly string[]): MaybePromise<void>
  /** Optional. Forgets the states of every key of the limiter. Without it, `limiter.clear()` rejects. */
  clear?(): MaybePromise<void>
  /**
   * Optional. Blocks keys: from now on a call on one of them is refused by `consume`, `reserve` and `peek`, until the block
   * ends. A second block of a key replaces the first, and `reset` lifts it. The decisions of all other verbs tell it too.
   * Without it, `limiter.block()` rejects.
   * @param keys one for each scope; undefined for a scope that is left alone
   * @param duration in whole microseconds; Infinity for a block without an end
   */
  block?(keys: readonly (string | undefined)[], duration: number, reason: string | undefined): MaybePromise<void>
  /** Optional. Lifts the blocks of these keys, also those of penalties, which count anew then. */
  unblock?(keys: readonly (string | undefined)[]): MaybePromise<void>
  /**
   * Optional. What the store keeps of these keys: one for each scope. It changes nothing and creates no key. Without it,
   * `limiter.inspect()` rejects.
   */
  inspect?(keys: readonly string[]): MaybePromise<readonly KeptKey[]>
  /**
   * Optional. Some of the keys that the store keeps for a scope, from where the page before ended. A key that is there all the
   * while is on at least one page. Keys without a state may be left out. Without it, `limiter.list()` throws.
   * @param from `next` of the page before; undefined for the first page
   */
  list?(scope: string, from: unknown): MaybePromise<KeyPage>
  /**
   * Optional. Continues with the same policies under other limits, and adopts every state. Implement it only if no
   * one else can reach the states: its caller relies on knowing every booking.
   */
  retune?(policies: readonly Policy[]): void
  /** Optional. Opens the same states under other policies, matched by name. Without it, `open` is called. */
  vary?(terms: LedgerTerms): Ledger
}

/** The settings of a store's circuit breaker. Durations are in milliseconds. */
export interface BreakerTerms {
  /** How many exchanges in a row have to fail to open it. */
  readonly failures: number
  /** The time from opening to the first probe. */
  readonly openFor: number
  /** The time from a probe that failed to the next one. */
  readonly probeEvery: number
}

/** Keeps the states, owns the clock, and makes each step atomic. */
export interface Store {
  /** Optional. What it is, for metrics, such as `'redis'`. Default `'other'`. */
  readonly kind?: string
  /** True if every ledger returns its result at once, never as a promise. */
  readonly synchronous: boolean
  /**
   * How long a call takes at most, in milliseconds, if the store itself enforces that. It then rejects with
   * HeadgateError `HEADGATE_STORE_TIMEOUT`. Without it, the limiter enforces a timeout of its own.
   */
  readonly timeout?: number
  /**
   * Optional. The beginning of its keys where other programs have theirs. On a store with a prefix, each limiter needs a name.
   */
  readonly prefix?: string
  /** Optional. When its circuit breaker opens and how often that probes. Default: 5 failures, 500 ms, 500 ms. */
  readonly breaker?: Partial<BreakerTerms>
  /**
   * Optional. The part of the store that decides a call on these keys, such as a node of Redis Cluster: parts that fail
   * apart from each other have a circuit breaker each. Without it, the store has one.
   */
  shardOf?(keys: readonly string[]): string
  /**
   * Opens the states of a limiter. In a store that processes share, the same name opens the same states.
   * @throws HeadgateError `HEADGATE_POLICY` for an algorithm that the store does not have, `HEADGATE_STATE_SIZE` for
   * policies whose state does not fit
   */
  open(terms: LedgerTerms): Ledger
}
