import { type Clock, checkClock, monotonicClock, wallClock } from '../../clock.ts'
import { type Duration, milliseconds } from '../../duration.ts'
import type { HeadgateError } from '../../errors.ts'
import { withFailover } from '../../failure/failover-ledger.ts'
import { knownOptions, type Names, positiveInteger } from '../../options.ts'
import { OptimisticStore } from '../optimistic/optimistic-store.ts'
import { type SharedStoreOptions, sharedNames, sharedOptions, wrongOption } from '../shared-options.ts'
import type { Ledger, LedgerTerms, Store, StoreTraits } from '../store.ts'
import { Batcher } from './batcher.ts'
import { type Connection, connectionOf, type RedisClient } from './client.ts'
import { DenyCache } from './deny-cache.ts'
import { encodeId, slotOf } from './keys.ts'
import { type LeasesOption, leaseSizeOf } from './lease-size.ts'
import { Leases } from './leases.ts'
import { script } from './lua/script.ts'
import { PlainScripts } from './plain-scripts.ts'
import type { RedisContext } from './redis-context.ts'
import { RedisLedger } from './redis-ledger.ts'
import { Resets } from './resets.ts'
import { Script } from './script.ts'

export interface RedisStoreOptions extends SharedStoreOptions {
  /** A client of ioredis, iovalkey or redis (node-redis): single, Sentinel, Cluster or pool. You close it yourself. */
  client: RedisClient
  /** Which clock decides: that of Redis, read once for each batch, or that of this process. Default `'redis'`. */
  time?: 'redis' | 'client'
  /** A clock of whole microseconds since the epoch. It implies `time: 'client'`, whose default is the wall clock. */
  clock?: Clock
  /**
   * True if calls of one turn of the event loop travel together, or the most calls that do, up to 1000. Default true: 32,
   * and up to 1000 while more wait. While Redis decides one batch, this process writes the next.
   */
  batch?: boolean | { size: number }
  /**
   * Whether a refusal is repeated locally as long as only time can change it, and for how long at most: then Redis is asked
   * again, and a reset by another process shows. Default `{ longest: '1s' }`; `false` asks Redis each time.
   */
  denyCache?: boolean | { longest: Duration }
  /**
   * A second client, such as `client.duplicate()`, which only listens: resets by other processes that have one take effect
   * here at once. Default: none; a reset takes effect after `denyCache.longest`.
   */
  subscriber?: RedisClient
  /**
   * How many units of a key one call takes ahead, for this process to spend locally. That makes fewer calls, but some
   * units may be taken and never spent. `'auto'` takes as many as the process used in the last 100 ms or three round trips, at
   * most 1000 or `{ units: 'auto', most }`, and the next ones before these are used up. Default: no leases.
   */
  leases?: LeasesOption
  /**
   * After how long without any answer to what was sent the client is told to connect anew: the other end of its connection may
   * be gone without a word. It is also how often a client of one server leaves a replica at most, after a failover behind a
   * balancer. Default `'5s'`; Infinity for never.
   */
  reconnectAfter?: Duration
  /**
   * `'strict'` asks Redis for every decision. `'optimistic'` asks for none: each process admits its part of what remains, and
   * reports every `report` (see docs/scale.md). Default `'strict'`.
   */
  mode?: 'strict' | 'optimistic'
  /** How often a process reports in the mode `'optimistic'`, from 1 ms to 1 h. Default `'100ms'`. */
  report?: Duration
}

const known: Names<RedisStoreOptions> = [
  'client',
  'time',
  'clock',
  'batch',
  'denyCache',
  'subscriber',
  'leases',
  'reconnectAfter',
  'mode',
  'report',
  ...sharedNames,
]

/** The wire counts the keys and plans of a batch in 16 bits. And while Redis decides one batch, all others wait. */
const largestBatch = 1000

/**
 * A store in Redis or Valkey: one limit for many processes, where each decision is one atomic script call.
 * @throws HeadgateError `HEADGATE_OPTION` or `HEADGATE_CLOCK` if an option is invalid
 */
export function redisStore(options: RedisStoreOptions): Store {
  const store = new RedisStore(options)
  const period = reportPeriod(options)
  return period === undefined ? store : new OptimisticStore(store, period)
}

/** The scripts of a store; the tests change them. */
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
    knownOptions('redisStore', options, known)
    const { client, leases, subscriber } = options
    const connection = connectionOf(client)
    const clock = clockOf(options)
    const longest = longestDenial(options.denyCache)
    const { prefix, timeout, ttlMargin, breaker } = sharedOptions('redisStore', options)
    const size = leases === undefined ? undefined : leaseSizeOf(leases)
    const localClock = clock ?? monotonicClock
    // The nodes of a cluster fail apart from each other.
    const shardOf = (keys: readonly string[]) => nodesOf(connection, keys)
    this.traits = { kind: 'redis', timeout, prefix, breaker, ...(connection.cluster && { shardOf }) }
    const denyCache = longest === 0 ? undefined : new DenyCache(localClock, longest)
    const leased = size === undefined ? undefined : new Leases(size, localClock)
    const caches = [denyCache, leased].filter((cache) => cache !== undefined)
    this.#context = {
      connection,
      batcher: new Batcher({
        connection,
        script: whole,
        timeout,
        ttlMargin,
        reconnectAfter: reconnectTime(options),
        ...batchSizeOf(options.batch),
      }),
      prefix,
      clock,
      plainScripts: new PlainScripts(ttlMargin, changePlain),
      denyCache,
      leases: leased,
      resets: subscriber && new Resets(client, subscriber, `${prefix}:resets`, caches),
    }
  }

  get connected(): boolean {
    return this.#context.connection.ready()
  }

  open(terms: LedgerTerms, joins?: Ledger): Ledger {
    return withFailover(this, terms, joins, (bare) => new RedisLedger(bare, this.#context))
  }
}

/** The nodes that decide on these keys. */
function nodesOf(connection: Connection, keys: readonly string[]): string {
  const nodes = keys.map((key) => connection.nodeOf(slotOf(`{${encodeId(key)}}`)))
  return nodes.length === 1 ? (nodes[0] as string) : [...new Set(nodes)].sort().join('+')
}

/** Undefined for the time of Redis. */
function clockOf({ time, clock }: RedisStoreOptions): Clock | undefined {
  if (time !== undefined && time !== 'redis' && time !== 'client')
    throw wrong('time', time, "Give 'redis' or 'client'.")
  if (clock !== undefined) return checkClock(clock)
  return time === 'client' ? wallClock : undefined
}

/** How long a refusal is repeated at most, in microseconds; 0 for never. */
function longestDenial(denyCache: RedisStoreOptions['denyCache'] = true): number {
  if (denyCache === false) return 0
  if (denyCache === true) return 1_000_000
  if (typeof denyCache !== 'object' || denyCache === null) {
    throw wrong('denyCache', denyCache, "Give true, false or { longest: '1s' }.")
  }
  knownOptions('redisStore: denyCache', denyCache, ['longest'])
  return milliseconds(denyCache.longest, 'redisStore: denyCache.longest', 'HEADGATE_OPTION') * 1000
}

function batchSizeOf(batch: RedisStoreOptions['batch'] = true): { size: number; most: number } {
  if (batch === true) return { size: 32, most: largestBatch }
  if (batch === false) return { size: 1, most: 1 }
  if (typeof batch !== 'object' || batch === null) throw wrong('batch', batch, 'Give true, false or { size: 32 }.')
  knownOptions('redisStore: batch', batch, ['size'])
  const { size } = batch
  if (positiveInteger(size, 'redisStore: batch.size', 'HEADGATE_OPTION') <= largestBatch) return { size, most: size }
  throw wrong('batch.size', size, `Give at most ${largestBatch}.`)
}

/** The longest period of reports, in milliseconds. */
const longestPeriod = 3_600_000

/**
 * How often a process reports, in milliseconds; undefined for the mode `'strict'`.
 * @throws HeadgateError `HEADGATE_OPTION`
 */
function reportPeriod({ mode = 'strict', report, leases }: RedisStoreOptions): number | undefined {
  if (mode !== 'strict' && mode !== 'optimistic') throw wrong('mode', mode, "Give 'strict' or 'optimistic'.")
  if (mode === 'strict') {
    if (report === undefined) return undefined
    throw wrong('report', report, "Give mode: 'optimistic' too, or leave report out.")
  }
  if (leases !== undefined) {
    throw wrong('leases', leases, "Leave leases out in the mode 'optimistic', which asks for no units ahead.")
  }
  const period = milliseconds(report ?? 100, 'redisStore: report', 'HEADGATE_OPTION')
  if (period <= longestPeriod) return period
  throw wrong('report', report, 'Give at most 1 hour.')
}

/** In milliseconds. */
function reconnectTime({ reconnectAfter = 5000 }: RedisStoreOptions): number {
  if (reconnectAfter === Infinity) return Infinity
  return milliseconds(reconnectAfter, 'redisStore: reconnectAfter', 'HEADGATE_OPTION')
}

function wrong(option: string, value: unknown, fix: string): HeadgateError {
  return wrongOption('redisStore', option, value, fix)
}
