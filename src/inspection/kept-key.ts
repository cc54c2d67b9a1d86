import type { StoredBan } from '../algorithms/bans/index.ts'
import type { Definition, Policy } from '../algorithms/index.ts'
import type { Source } from '../policy/index.ts'

/** The state of one key under one policy, as a store keeps it. */
export interface KeptState {
  /** The name of the policy; undefined if the store keeps only a hash of the name that no policy of the limiter has. */
  readonly name: string | undefined
  /** The hash of the name, if the store keeps one. */
  readonly hash?: string
  /** The algorithm that wrote the state. */
  readonly definition: Definition
  /** The numbers of the state in the order of the algorithm (see `Algorithm`), in a copy. */
  readonly s: readonly number[]
}

/** What a store keeps of one key in one scope. */
export interface KeptKey {
  /** The time of the store, in whole microseconds since the epoch. */
  readonly now: number
  /** The states, including those under policies of other plans and deploys. A policy without a state has its full quota. */
  readonly states: readonly KeptState[]
  /** The ban by hand, if there is one, also one that is over. */
  readonly ban?: StoredBan | undefined
  /** Default `'store'`. */
  readonly source?: Source
  /** The policies that decide about the key, if they differ from the limiter's. */
  readonly policies?: readonly Policy[]
  /** True if the numbers are an upper bound of what is used. */
  readonly atMost?: boolean
  /** Whole sentences about what the states do not show. */
  readonly notes?: readonly string[]
}

/** A key that a store lists. Either the key or its hash is known. */
export interface KeptListing {
  readonly key?: string
  /** The hash of the key, if the store keeps no more of it. */
  readonly hash?: string
  readonly kept: KeptKey
}

/** Some of the keys of a scope. */
export interface KeyPage {
  readonly keys: readonly KeptListing[]
  /** Where the next page starts; undefined after the last page. */
  readonly next?: unknown
}
