import type { StoredBan } from '../algorithms/bans/index.ts'
import type { Definition, Policy } from '../algorithms/index.ts'
import type { Source } from '../policy/index.ts'

/** The state of one key under one policy, as the store returns it. */
export interface KeptState {
  /** The name of the policy; undefined if the store has only a hash, and no policy of the limiter has this hash. */
  readonly name: string | undefined
  /** The hash of the policy's name, if the store has only the hash. */
  readonly hash?: string
  /** The algorithm that wrote the state. */
  readonly definition: Definition
  /** A copy of the numbers of the state, in the order that the algorithm uses (see `Algorithm`). */
  readonly s: readonly number[]
}

/** What a store has for one key in one scope (kind of key, such as `user`). */
export interface KeptKey {
  /** The time by the store's clock, in whole microseconds since the epoch. */
  readonly now: number
  /**
   * The states of the key, also under policies of other plans (the policies of other callers), and under policies that only other versions
   * of the application have. A policy without a state has its full quota.
   */
  readonly states: readonly KeptState[]
  /** The last ban that the method `ban` set for the key, which may be over; undefined if the store has none. */
  readonly ban?: StoredBan | undefined
  /** Where the numbers come from. Default `'store'`. */
  readonly source?: Source
  /** The policies that decide about this key. Default: the policies of the limiter. */
  readonly policies?: readonly Policy[]
  /** True if the states may have more used units than the key has really used. Default false. */
  readonly atMost?: boolean
  /** Sentences about facts that the states do not show. Default: none. */
  readonly notes?: readonly string[]
}

/** A key in the list of a store's keys. Either the key or the key's hash is known. */
export interface KeptListing {
  readonly key?: string
  /** The hash of the key, if the store has only the hash. */
  readonly hash?: string
  readonly kept: KeptKey
}

/** A part of the list of all keys in a scope (kind of key, such as `user`). */
export interface KeyPage {
  readonly keys: readonly KeptListing[]
  /** The position at which the next page starts; undefined after the last page. */
  readonly next?: unknown
}
