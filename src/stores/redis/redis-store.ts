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
  type Ledger,
  type LedgerTerms,
  type SharedStoreOptions,
  type Store,
  type StoreTraits,
  sharedOptions,
} from '../contract/index.ts'
import { connectionOf, type RedisClient } from './client/index.ts'
import { encodeId, slotOf } from './keys.ts'
import { Leases, type LeasesOption, leaseSizeOf, RefusalCache, ResetMessages } from './local/index.ts'
import type { RedisContext } from './redis-context.ts'
import { RedisLedger } from './redis-ledger.ts'
import { PlainScripts, Script, script } from './script/index.ts'
import { Batcher } from './wire/index.ts'

/** The options of `redisStore`. */
export interface RedisStoreOptions extends SharedStoreOptions {
  /** A client of ioredis, iovalkey or redis (node-redis): single, Sentinel, Cluster or pool. You close it yourself. */
  client: RedisClient
  /** Which clock decides: that of Redis, read once for each batch, or that of this process. Default `'redis'`. */
  time?: 'redis' | 'client'
  /** A clock of whole microseconds since the epoch. It implies `time: 'client'`. The default for `'client'` is the wall clock. */
  clock?: Clock
  /**
   * Whether calls of one turn of the event loop travel together; `size` is how many at most, up to 1000. Default true: 32,
   * and up to 1000 while more wait. While Redis decides one batch, this process writes the next.
   */
  batch?: boolean | { size: number }
  /**
   * Whether a refusal is repeated locally while only time can change it, and for how long at most. After that, Redis is asked
   * again, and a reset by another process shows. Default `{ longest: '1s' }`; `false` asks Redis each time.
   */
  refusalCache?: boolean | { longest: Duration }
  /**
   * A second client, such as `client.duplicate()`, which only listens. Then a reset by another process that also has a subscriber
   * takes effect here at once. Default: none; a reset takes effect after `refusalCache.longest`.
   */
  subscriber?: RedisClient
  /**
   * How many units of a key one call takes ahead, for this process to spend locally. Leases save requests, but some
   * units may be taken and never spent. `'auto'` takes about as many as the process uses in 100 ms, or in three round trips
   * if they are longer, at most 1000 or `{ units: 'auto', most }`. It takes the next units before these are used up.
   * Default: no leases.
   */
  leases?: LeasesOption
  /**
   * If nothing that was sent is answered for this long, the client is told to reconnect: the other end of its connection may be
   * gone without notice. Also how often, at most, a client of one server leaves a replica, after a failover behind a balancer.
   * Default `'5s'`; Infinity for never.
   */
  reconnectAfter?: Duration
}

/** The largest size of a batch: keys and plans are counted in 16 bits, and Redis serves nobody else while it decides a batch. */
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
}

/**
 * A store in Redis or Valkey: one limit for many processes, where each decision is one atomic script call.
 * @throws HeadgateError `HEADGATE_OPTION` or `HEADGATE_CLOCK` if an option is invalid
 */
export function redisStore(options: RedisStoreOptions): Store {
  return new RedisStore(options)
}

/** The scripts of a store. Tests change them. */
export interface Scripts {
  readonly whole: Script
  readonly changePlain: (text: string) => string
}

const scripts: Scripts = { whole: new Script(script), changePlain: (text) => text }

export class RedisStore implements Store {
  readonly synchronous = false
  readonly traits: StoreTraits
  readonly #context: RedisContext

  constructor(options: RedisStoreOptions, { whole, changePlain }: Scripts = scripts) {
    const read = readOptions('redisStore', options, readers)
    const { client: connection, prefix, timeout, ttlMargin, breaker, subscriber } = read
    const clock = read.clock ?? (read.time === 'client' ? wallClock : undefined)
    const localClock = clock ?? monotonicClock
    // Each node of a cluster has its own circuit breaker.
    const shardOf = (key: string) => connection.nodeOf(slotOf(`{${encodeId(key)}}`))
    this.traits = { kind: 'redis', timeout, prefix, breaker, ...(connection.cluster && { shardOf }) }
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
      plainScripts: new PlainScripts(ttlMargin, changePlain),
      refusalCache,
      leases: leased,
      resets:
        subscriber === undefined
          ? undefined
          : new ResetMessages(options.client, subscriber, `${prefix}:resets`, caches),
    }
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

/** The longest time that a refusal is repeated, in microseconds. */
function longestRefusal(refusalCache: true | { longest: number }): number {
  return refusalCache === true ? 1_000_000 : refusalCache.longest * 1000
}

function batchSizeOf(batch: boolean | { size: number }): { size: number; most: number } {
  if (batch === true) return { size: 32, most: largestBatch }
  const { size } = batch === false ? { size: 1 } : batch
  return { size, most: size }
}
