import { type Clock, checkClock, monotonicClock, wallClock } from '../../clock.ts'
import type { HeadgateError } from '../../errors.ts'
import { knownOptions, positiveInteger } from '../../options.ts'
import { type SharedStoreOptions, sharedOptions, wrongOption } from '../shared-options.ts'
import type { Ledger, LedgerTerms, Store } from '../store.ts'
import { Batcher } from './batcher.ts'
import { connectionOf, type RedisClient } from './client.ts'
import { DenyCache } from './deny-cache.ts'
import { Leases } from './leases.ts'
import { RedisLedger } from './ledger.ts'
import { script } from './lua/script.ts'
import type { Shared } from './shared.ts'

export interface RedisStoreOptions extends SharedStoreOptions {
  /** A client of ioredis, iovalkey or redis (node-redis): single, Sentinel, Cluster or pool. It stays yours to close. */
  client: RedisClient
  /** Whose time counts: that of Redis (default), read once a call, or that of this process. */
  time?: 'redis' | 'client'
  /** With `time: 'client'`, which it implies: whole microseconds since the epoch. Default: the wall clock. */
  clock?: Clock
  /** Whether calls of one turn of the event loop travel together, and how many of them at most. Default `{ size: 32 }`: while Redis decides one call, this process makes up the next. */
  batch?: boolean | { size: number }
  /** Whether a refusal is repeated here as long as nothing can change it but time. Default true. */
  denyCache?: boolean
  /** Takes this many units of a key at once and spends them here: fewer calls, and some units may be stranded. */
  leases?: { units: number }
}

const known = [
  'client',
  'prefix',
  'timeout',
  'ttlMargin',
  'time',
  'clock',
  'batch',
  'denyCache',
  'leases',
] as const satisfies (keyof RedisStoreOptions)[]

/** Keys and policies of a call are counted in 16 bits; and a long call keeps everybody else waiting. */
const largestBatch = 1000

/**
 * States in Redis or Valkey, one limit for many processes: every decision is one atomic script call.
 * @throws HeadgateError `HEADGATE_OPTION` or `HEADGATE_CLOCK`
 */
export function redisStore(options: RedisStoreOptions): RedisStore {
  return new RedisStore(options)
}

export class RedisStore implements Store {
  readonly synchronous = false
  readonly timeout: number
  readonly #shared: Shared

  /** @param text the script: the tests change it */
  constructor(options: RedisStoreOptions, text: string = script) {
    if (typeof options !== 'object' || options === null) {
      throw wrong('the options', options, 'Write redisStore({ client: new Redis() }).')
    }
    knownOptions('redisStore', options, known)
    const { client, leases, denyCache = true } = options
    const connection = connectionOf(client)
    const clock = clockOf(options)
    if (typeof denyCache !== 'boolean') throw wrong('denyCache', denyCache, 'Give true or false.')
    const elapsed = clock ?? monotonicClock
    const { prefix, timeout, ttlMargin } = sharedOptions('redisStore', options)
    const units = leases && positiveInteger(leases.units, 'redisStore: leases.units', 'HEADGATE_OPTION')
    this.timeout = timeout
    this.#shared = {
      caller: new Batcher({
        connection,
        script: text,
        timeout,
        ttlMargin,
        batch: batchOf(options.batch),
      }),
      prefix,
      cluster: connection.cluster,
      clock,
      denials: denyCache ? new DenyCache(elapsed) : undefined,
      leases: units === undefined ? undefined : new Leases(units, elapsed),
    }
  }

  open(terms: LedgerTerms): Ledger {
    return new RedisLedger(terms, this.#shared)
  }
}

/** Undefined for the time of Redis. */
function clockOf({ time, clock }: RedisStoreOptions): Clock | undefined {
  if (time !== undefined && time !== 'redis' && time !== 'client')
    throw wrong('time', time, "Give 'redis' or 'client'.")
  if (clock !== undefined) return checkClock(clock)
  return time === 'client' ? wallClock : undefined
}

function batchOf(batch: RedisStoreOptions['batch'] = true): number {
  if (batch === true) return 32
  if (batch === false) return 1
  if (typeof batch !== 'object' || batch === null) throw wrong('batch', batch, 'Give true, false or { size: 32 }.')
  const { size } = batch
  if (positiveInteger(size, 'redisStore: batch.size', 'HEADGATE_OPTION') <= largestBatch) return size
  throw wrong('batch.size', size, `Give at most ${largestBatch}.`)
}

function wrong(option: string, value: unknown, fix: string): HeadgateError {
  return wrongOption('redisStore', option, value, fix)
}
