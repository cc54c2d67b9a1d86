/*
 * A storage for @nestjs/throttler 6: the guard, the decorators and the options stay, and headgate counts.
 *
 * What differs from its own storage, and why:
 *
 * - Hits are kept in a bounded memory store without timers, or in a store that processes share: one round trip for each
 *   throttler.
 * - `timeToExpire` is the time until the oldest hit leaves the window; without a hit, until the ban ends. During a
 *   ban, `totalHits` stays one more than the limit.
 * - If `ttl` is a function that returns another value for a key, all hits of the key count as if they had just come.
 * - A storage gets a hash, so it cannot tell a client that has left, which has no address: all such requests share a count.
 * - `timeToBanExpire` is 0 without a ban, and not a time before 1970.
 */
import { LRUCache } from 'lru-cache'
import type { PenaltyOptions } from '../../src/algorithms/bans/index.ts'
import { slidingLog } from '../../src/algorithms/logs/index.ts'
import { getOrInsert, longestWindow, wallClock } from '../../src/common/index.ts'
import { decide, RateLimiter } from '../../src/limiter/index.ts'
import type { OnStoreError, Store } from '../../src/stores/contract/index.ts'
import { memoryStore } from '../../src/stores/memory/index.ts'
import { largestLog, limiterName, numberFor } from './option-values.ts'

/** What the guard of @nestjs/throttler gets for a request. Times are whole seconds. */
export interface ThrottlerStorageRecord {
  totalHits: number
  timeToExpire: number
  isBlocked: boolean
  timeToBlockExpire: number
}

/** The options of the storage. */
export interface ThrottlerStorageOptions {
  /** Where hits are kept. Default: a memory store that follows `Date.now()`. Example: `redisStore({ client })`. */
  store?: Store
  /** What happens to requests that the store cannot decide. Default `'local'`: they are limited in this process. */
  onStoreError?: OnStoreError
}

const hits = 'hits'

/** What a throttler says about a request. */
interface Throttler {
  readonly name: string
  readonly ttl: number
  readonly limit: number
  readonly blockDuration: number
}

/**
 * Counts for @nestjs/throttler: at most `limit` hits in any window, then a ban.
 *
 *     ThrottlerModule.forRoot({ throttlers: [{ ttl: 60_000, limit: 10 }], storage: new HeadgateThrottlerStorage() })
 */
export class HeadgateThrottlerStorage {
  readonly #store: Store
  readonly #onStoreError: OnStoreError
  /** The limiter of each throttler. Requests with different limits, windows and bans share one count for each key. */
  readonly #limiters = new Map<string, RateLimiter>()
  /** The last plans by their text, and the last plan of each throttler: finding a plan takes longer than counting. */
  readonly #plans = new LRUCache<string, RateLimiter>({ max: 1000 })
  readonly #last = new Map<string, Throttler & { readonly plan: RateLimiter }>()

  constructor({ store, onStoreError = 'local' }: ThrottlerStorageOptions = {}) {
    this.#store = store ?? memoryStore({ clock: wallClock })
    this.#onStoreError = onStoreError
  }

  /** Counts a hit. Times are milliseconds; a `blockDuration` of 0 or less is no ban. */
  async increment(
    key: string,
    ttl: number,
    limit: number,
    blockDuration: number,
    throttlerName: string,
  ): Promise<ThrottlerStorageRecord> {
    const limiter = this.#planOf({ name: throttlerName, ttl, limit, blockDuration })
    const { allowed, policies, retryAfter } = await decide(limiter, key, 1, { details: { nextAfter: true } })
    const log = policies[0]
    const timeToExpire = Math.ceil((log?.nextAfter ?? 0) / 1000)
    if (allowed) return { totalHits: log?.used ?? 0, timeToExpire, isBlocked: false, timeToBlockExpire: 0 }
    const ban = policies[1]
    const timeToBlockExpire = seconds(ban === undefined ? retryAfter : ban.retryAfter, ttl)
    return { totalHits: limit + 1, timeToExpire: timeToExpire || timeToBlockExpire, isBlocked: true, timeToBlockExpire }
  }

  #planOf(throttler: Throttler): RateLimiter {
    const { name, ttl, limit, blockDuration } = throttler
    const last = this.#last.get(name)
    if (last !== undefined && last.limit === limit && last.ttl === ttl && last.blockDuration === blockDuration)
      return last.plan
    const text = `${ttl}:${limit}:${blockDuration}:${name}`
    const plan = getOrInsert(this.#plans, text, () => this.#makePlan(throttler))
    this.#last.set(name, { ...throttler, plan })
    return plan
  }

  #makePlan({ name, ttl, limit, blockDuration }: Throttler): RateLimiter {
    const window = numberFor('ThrottlerModule: ttl', ttl, 1, longestWindow)
    const most = numberFor('ThrottlerModule: limit', limit, 0, largestLog, Math.floor)
    const ban = numberFor('ThrottlerModule: blockDuration', blockDuration || 0, 0, longestWindow)
    const policies = slidingLog({ name: hits, limit: most, window: `${window}ms` })
    const penalty = ban > 0 && penaltyOf(window, ban)
    const first = this.#limiters.get(name)
    if (first !== undefined) return first.withPlan({ policies, penalty })
    const limiter = new RateLimiter({
      name: limiterName(name),
      policies,
      store: this.#store,
      onStoreError: this.#onStoreError,
      ...(penalty && { penalty }),
    })
    this.#limiters.set(name, limiter)
    return limiter
  }
}

/** The penalty of a throttler. After a ban the count starts at 0, even if the ban is shorter than the window. */
function penaltyOf(ttl: number, blockDuration: number): PenaltyOptions {
  return { after: 1, within: `${ttl}ms`, ban: `${blockDuration}ms`, restart: blockDuration < ttl }
}

/** A wait in whole seconds. For a limit of 0, which never admits a hit, it is the window. */
function seconds(wait: number, ttl: number): number {
  return Math.ceil((wait === Infinity ? ttl : wait) / 1000)
}
