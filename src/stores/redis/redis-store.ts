import { type Clock, checkClock, monotonicClock, wallClock } from '../../clock.ts'
import { type Duration, milliseconds } from '../../duration.ts'
import type { HeadgateError } from '../../errors.ts'
import { knownOptions, type Names, positiveInteger } from '../../options.ts'
import { OptimisticStore } from '../optimistic/optimistic-store.ts'
import { type SharedStoreOptions, sharedNames, sharedOptions, wrongOption } from '../shared-options.ts'
import type { Ledger, LedgerTerms, Store } from '../store.ts'
import { Batcher } from './batcher.ts'
import { connectionOf, type RedisClient } from './client.ts'
import { DenyCache } from './deny-cache.ts'
import { Leases } from './leases.ts'
import { script } from './lua/script.ts'
import type { RedisContext } from './redis-context.ts'
import { RedisLedger } from './redis-ledger.ts'

export interface RedisStoreOptions extends SharedStoreOptions {
  /** A client of ioredis, iovalkey or redis (node-redis): single, Sentinel, Cluster or pool. You close it yourself. */
  client: RedisClient
  /** Which clock decides: that of Redis, read once for each batch, or that of this process. Default `'redis'`. */
  time?: 'redis' | 'client'
  /** A clock of whole microseconds since the epoch. It implies `time: 'client'`, whose default is the wall clock. */
  clock?: Clock
  /**
   * True if calls of one turn of the event loop travel together, or the most calls that do, up to 1000. Default
   * `{ size: 32 }`: while Redis decides one batch, this process writes the next.
   */
  batch?: boolean | { size: number }
  /** True if a refusal is repeated locally for as long as only time can change it. Default true. */
  denyCache?: boolean
  /**
   * How many units of a key one call takes ahead, for this process to spend locally. That makes fewer calls, but some
   * units may be taken and never spent. Default: no leases.
   */
  leases?: { units: number }
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
  'leases',
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
  const period = reportOf(options)
  return period === undefined ? store : new OptimisticStore(store, period)
}

export class RedisStore implements Store {
  readonly synchronous = false
  /** How long a call may take, in milliseconds. */
  readonly timeout: number
  readonly #context: RedisContext

  /** @param text another script, for tests that change it */
  constructor(options: RedisStoreOptions, text: string = script) {
    knownOptions('redisStore', options, known)
    const { client, leases, denyCache = true } = options
    const connection = connectionOf(client)
    const clock = clockOf(options)
    if (typeof denyCache !== 'boolean') throw wrong('denyCache', denyCache, 'Give true or false.')
    const { prefix, timeout, ttlMargin } = sharedOptions('redisStore', options)
    const units = leases === undefined ? undefined : leaseUnits(leases)
    const localClock = clock ?? monotonicClock
    this.timeout = timeout
    this.#context = {
      batcher: new Batcher({ connection, script: text, timeout, ttlMargin, size: batchSizeOf(options.batch) }),
      prefix,
      cluster: connection.cluster,
      clock,
      denyCache: denyCache ? new DenyCache(localClock) : undefined,
      leases: units === undefined ? undefined : new Leases(units, localClock),
    }
  }

  open(terms: LedgerTerms): Ledger {
    return new RedisLedger(terms, this.#context)
  }
}

/** Undefined for the time of Redis. */
function clockOf({ time, clock }: RedisStoreOptions): Clock | undefined {
  if (time !== undefined && time !== 'redis' && time !== 'client')
    throw wrong('time', time, "Give 'redis' or 'client'.")
  if (clock !== undefined) return checkClock(clock)
  return time === 'client' ? wallClock : undefined
}

function batchSizeOf(batch: RedisStoreOptions['batch'] = true): number {
  if (batch === true) return 32
  if (batch === false) return 1
  if (typeof batch !== 'object' || batch === null) throw wrong('batch', batch, 'Give true, false or { size: 32 }.')
  knownOptions('redisStore: batch', batch, ['size'])
  const { size } = batch
  if (positiveInteger(size, 'redisStore: batch.size', 'HEADGATE_OPTION') <= largestBatch) return size
  throw wrong('batch.size', size, `Give at most ${largestBatch}.`)
}

/** In milliseconds; undefined for the mode `'strict'`. */
function reportOf({ mode = 'strict', report, leases }: RedisStoreOptions): number | undefined {
  if (mode !== 'strict' && mode !== 'optimistic') throw wrong('mode', mode, "Give 'strict' or 'optimistic'.")
  if (mode === 'strict') {
    if (report === undefined) return undefined
    throw wrong('report', report, "Give mode: 'optimistic' too, or leave report out.")
  }
  if (leases !== undefined)
    throw wrong('leases', leases, "Leave leases out in the mode 'optimistic', which asks for no units ahead.")
  const period = milliseconds(report ?? 100, 'redisStore: report', 'HEADGATE_OPTION')
  if (period <= longestReport) return period
  throw wrong('report', report, 'Give at most 1 hour.')
}

const longestReport = 3_600_000

function leaseUnits(leases: { units: number }): number {
  knownOptions('redisStore: leases', leases, ['units'])
  return positiveInteger(leases.units, 'redisStore: leases.units', 'HEADGATE_OPTION')
}

function wrong(option: string, value: unknown, fix: string): HeadgateError {
  return wrongOption('redisStore', option, value, fix)
}
