import {
  anything,
  type Clock,
  clockOr,
  type Duration,
  duration,
  monotonicClock,
  oneOf,
  optional,
  readOptions,
  unbounded,
  wallClock,
  whole,
  wordOrOptions,
} from '../../common/index.ts'
import { withFailover } from '../../failure/index.ts'
import {
  type Documents,
  type Ledger,
  type LedgerTerms,
  type SharedStoreOptions,
  type Store,
  type StoreTraits,
  sharedOptions,
} from '../contract/index.ts'
import { connectionOf, type RedisClient } from './client/index.ts'
import { encodeId, prefixOf, slotOf } from './keys.ts'
import { Leases, type LeasesOption, leaseSizeOf, RefusalCache, ResetMessages } from './local/index.ts'
import type { RedisContext } from './redis-context.ts'
import { redisDocuments } from './redis-documents.ts'
import { RedisLedger } from './redis-ledger.ts'
import { Script, ShortScripts, script } from './script/index.ts'
import { Batcher } from './wire/index.ts'

/** The options of `redisStore`. */
export interface RedisStoreOptions extends SharedStoreOptions {
  /** A client of ioredis, iovalkey or redis (node-redis): single, Sentinel, Cluster or pool. The store never closes it. */
  client: RedisClient
  /**
   * The beginning of every key: 1 to 128 letters, digits and `_ . / -`. In Redis Cluster, a part in braces, as in `'{quota}'`, puts all
   * keys of the store in one hash slot. Default `'headgate'`.
   */
  prefix?: string | undefined
  /** Which clock gives the time of decisions: the clock of Redis (`'redis'`, the default) or of this process (`'client'`). */
  time?: 'redis' | 'client' | undefined
  /** Returns the time in whole microseconds since the epoch. Implies `time: 'client'`, whose default clock is the wall clock. */
  clock?: Clock | undefined
  /**
   * Whether calls of one turn of the event loop are sent as one batch. `{ size }`: at most `size` calls in a batch, from 1 to 1000.
   * Default true: at most 32 calls in a batch, or up to 1000 while other batches wait. `false` sends each call separately.
   */
  batch?: boolean | { size: number } | undefined
  /**
   * Whether this process repeats a refusal without a request to Redis while no units are left. A reset by another process may take
   * effect here up to `longest` later. Default `{ longest: '1s' }`; `false` sends a request for each call.
   */
  refusalCache?: boolean | { longest: Duration } | undefined
  /**
   * A second client, such as `client.duplicate()`, used only to listen for resets. With this client, a reset by another process
   * that also has a subscriber takes effect here immediately. Default: none; a reset takes effect within `refusalCache.longest`.
   */
  subscriber?: RedisClient | undefined
  /**
   * How many units of a key a request takes for later calls, which this process then decides without a request. Leases (units taken in
   * advance) save requests, but some leased units may never be used. `'auto'` takes about as many units as this process uses in 100 ms, or
   * in three round trips if these take longer. At most 1000 units are taken, or at most `most` of `{ units: 'auto', most }`. The next units
   * are taken before the current units are used up. Default: no leases.
   */
  leases?: LeasesOption | undefined
  /**
   * If Redis answers no request for this time, the store makes the client reconnect, because the client may not notice a broken
   * connection. The store also makes the client reconnect if a server has become a replica, at most once in this time. Default
   * `'5s'`; Infinity for never.
   */
  reconnectAfter?: Duration | undefined
}

/**
 * The largest size of a batch. The size is limited because Redis runs no other command while Redis decides a batch. Also, a request
 * has the index of each key as a number of 16 bits.
 */
const largestBatch = 1000

const readers = {
  client: connectionOf,
  time: oneOf('redis', 'client'),
  clock: clockOr(undefined),
  batch: wordOrOptions([true, false], { size: whole(undefined, { most: largestBatch }) }, '{ size: 32 }'),
  refusalCache: wordOrOptions([true, false], { longest: duration() }, "{ longest: '1s' }"),
  subscriber: anything,
  leases: optional(leaseSizeOf),
  reconnectAfter: unbounded(duration('5s')),
  ...sharedOptions,
  prefix: prefixOf,
}

/**
 * Makes a store in Redis or Valkey, for limits that many processes share. Each decision is one atomic script call.
 * @throws HeadgateError `HEADGATE_OPTION` or `HEADGATE_CLOCK` if an option is invalid
 */
export function redisStore(options: RedisStoreOptions): Store {
  return new RedisStore(options)
}

/** The scripts of a store. Tests pass changed scripts. */
export interface Scripts {
  readonly whole: Script
  readonly changeShort: (text: string) => string
}

const scripts: Scripts = { whole: new Script(script), changeShort: (text) => text }

export class RedisStore implements Store {
  readonly synchronous = false
  readonly traits: StoreTraits
  readonly documents: Documents
  readonly #context: RedisContext

  constructor(options: RedisStoreOptions, { whole, changeShort }: Scripts = scripts) {
    const read = readOptions('redisStore', options, readers)
    const { client: connection, prefix, timeout, ttlMargin, breaker, subscriber } = read
    const clock = read.clock ?? (read.time === 'client' ? wallClock : undefined)
    const localClock = clock ?? monotonicClock
    // There is a circuit breaker for each node of a Cluster, so a key belongs to the breaker of its node.
    const shardOf = (key: string) => connection.nodeOf(slotOf(`${prefix}{${encodeId(key)}}`))
    this.traits = { kind: 'redis', timeout, prefix, breaker, alternatives: true }
    if (connection.cluster) this.traits = { ...this.traits, shardOf }
    const refusalCache =
      read.refusalCache === false ? undefined : new RefusalCache(localClock, longestRefusal(read.refusalCache))
    const leased = read.leases === undefined ? undefined : new Leases(read.leases, localClock)
    const caches = [refusalCache, leased].filter((cache) => cache !== undefined)
    this.#context = {
      connection,
      batcher: new Batcher({
        connection,
        script: whole,
        timeout,
        ttlMargin,
        reconnectAfter: read.reconnectAfter,
        ...batchSizeOf(read.batch),
      }),
      prefix,
      clock,
      shortScripts: new ShortScripts(ttlMargin, changeShort),
      refusalCache,
      leases: leased,
      resets:
        subscriber === undefined
          ? undefined
          : new ResetMessages(options.client, subscriber, `${prefix}:resets`, caches),
    }
    this.documents = redisDocuments(this.#context)
  }

  get connected(): boolean {
    return this.#context.connection.ready()
  }

  close(): void {
    this.#context.resets?.close()
  }

  open(terms: LedgerTerms, joins?: Ledger): Ledger {
    return withFailover(this, terms, joins, (bare) => new RedisLedger(bare, this.#context))
  }
}

/** For how long a cached refusal is repeated at most, in microseconds. */
function longestRefusal(refusalCache: true | { longest: number }): number {
  return refusalCache === true ? 1_000_000 : refusalCache.longest * 1000
}

function batchSizeOf(batch: boolean | { size: number }): { size: number; most: number } {
  if (batch === true) return { size: 32, most: largestBatch }
  const { size } = batch === false ? { size: 1 } : batch
  return { size, most: size }
}
