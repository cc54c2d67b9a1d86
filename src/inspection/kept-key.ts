import type { Block } from '../algorithms/bans/index.ts'
import type { Definition, Policy } from '../algorithms/index.ts'

import type { Source } from '../policy/index.ts'

/** The state of one key under one policy, as a store keeps it. */
export interface KeptState {
  /** The name of the policy; undefined if the store keeps a hash of it, and no policy of the limiter has that hash. */
  readonly name: string | undefined
  /** The hash of the name, if the store keeps one. */
  readonly hash?: string
  /** The algorithm that wrote the state. */
  readonly definition: Definition
  /** The numbers as that algorithm has them (see `Algorithm`), in a copy. */
  readonly s: readonly number[]
}

/** What a store keeps of one key in one scope. */
export interface KeptKey {
  /** The time of the store, in whole microseconds since the epoch. */
  readonly now: number
  /** Those of policies of other plans and deploys too. A policy without a state has its full quota. */
  readonly states: readonly KeptState[]
  /** The block by hand, if there is one, also one that is over. */
  readonly block?: Block | undefined
  /** Default `'store'`. */
  readonly source?: Source
  /** The policies that decide, if they are not those of the limiter. */
  readonly policies?: readonly Policy[]
  /** True if the numbers are an upper bound of what is used, and not what is used. */
  readonly atMost?: boolean
  /** What the states do not show, in whole sentences. */
  readonly notes?: readonly string[]
}

/** A key that a store keeps. Either the key or its hash is known. */
export interface KeptListing {
  readonly key?: string
  /** In place of a key that the store keeps hashed only. */
  readonly hash?: string
  readonly kept: KeptKey
}

/** Some of the keys of a scope. */
export interface KeyPage {
  readonly keys: readonly KeptListing[]
  /** What the next page starts from; undefined after the last page. */
  readonly next?: unknown
}
