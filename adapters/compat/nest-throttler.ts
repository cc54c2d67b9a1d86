/*
 * A storage for @nestjs/throttler 6: the guard, the decorators and the options do not change, and headgate counts the hits.
 *
 * What differs from the storage in @nestjs/throttler, and why:
 *
 * - Hits are counted in a bounded memory store without timers, or in a store that several processes share. A request needs one round
 *   trip to that store for each throttler.
 * - `timeToExpire` is the time until the oldest hit leaves the window. If the key has no hits, `timeToExpire` is the time until the ban
 *   ends. During a ban, `totalHits` is always the limit plus 1.
 * - If `ttl` is a function, and returns another window for a key than before, the earlier hits of the key are treated as if they had
 *   all been counted at the time of this request.
 * - A disconnected client has no address. A storage gets only a hash of the address, so the storage cannot recognise disconnected
 *   clients, and their requests share one count.
 * - Without a ban, `timeToBlockExpire` is 0. In @nestjs/throttler, `timeToBlockExpire` is then a negative number.
 */
import { LRUCache } from 'lru-cache'
import type { PenaltyOptions } from '../../src/algorithms/bans/index.ts'
import { slidingLog } from '../../src/algorithms/logs/index.ts'
import { getOrInsert, longestWindow, wallClock } from '../../src/common/index.ts'
import { decide, RateLimiter } from '../../src/limiter/index.ts'
import type { OnStoreError, Store } from '../../src/stores/contract/index.ts'
import { memoryStore } from '../../src/stores/memory/index.ts'
import { largestLog, limiterName, numberFor } from './option-values.ts'

/** The result of a storage for one request, which the guard of @nestjs/throttler reads. Times are whole seconds. */
export interface ThrottlerStorageRecord {
  totalHits: number
  timeToExpire: number
  isBlocked: boolean
  timeToBlockExpire: number
}

/** The options of the storage. */
export interface ThrottlerStorageOptions {
  /** Where hits are counted. Default: a memory store whose clock is `Date.now()`. Example: `redisStore({ client })`. */
  store?: Store
  /** How a request is decided if the store fails. Default `'local'`: this process counts the hits until the store responds again. */
  onStoreError?: OnStoreError
}

/** The names of the policies of a throttler. */
const [hits, penalty] = ['hits', 'penalty']

/** The name of a throttler, and its numbers for one request. Times are in milliseconds. */
interface Throttler {
  readonly name: string
  readonly ttl: number
  readonly limit: number
  readonly blockDuration: number
}

/**
 * A storage for @nestjs/throttler. The storage admits at most `limit` hits of a key in any window. The next hit starts a ban of
 * the key.
 *
 *     ThrottlerModule.forRoot({ throttlers: [{ ttl: 60_000, limit: 10 }], storage: new HeadgateThrottlerStorage() })
 */
export class HeadgateThrottlerStorage {
  readonly #store: Store
  readonly #onStoreError: OnStoreError
  /** The limiter of each throttler, by name. Requests with different limits, windows and bans share one count for each key. */
  readonly #limiters = new Map<string, RateLimiter>()
  /**
   * A cache of limiters, one for each combination of name, window, limit and ban of a throttler. The key is a text of these values.
   * `#last` avoids making the text, because to make the text takes longer than to count a hit.
   */
  readonly #plans = new LRUCache<string, RateLimiter>({ max: 1000 })
  readonly #last = new Map<string, Throttler & { readonly plan: RateLimiter }>()

  constructor({ store, onStoreError = 'local' }: ThrottlerStorageOptions = {}) {
    this.#store = store ?? memoryStore({ clock: wallClock })
    this.#onStoreError = onStoreError
  }

  /** Counts a hit of the key. `ttl` and `blockDuration` are milliseconds; without a positive `blockDuration`, there is no ban. */
  async increment(
    key: string,
    ttl: number,
    limit: number,
    blockDuration: number,
    throttlerName: string,
  ): Promise<ThrottlerStorageRecord> {
    const limiter = this.#planOf({ name: throttlerName, ttl, limit, blockDuration })
    const { allowed, policies, retryAfter, ban } = await decide(limiter, key, 1, { details: { nextAfter: true } })
    const log = policies[0]
    const timeToExpire = Math.ceil((log?.nextAfter ?? 0) / 1000)
    if (allowed) return { totalHits: log?.used ?? 0, timeToExpire, isBlocked: false, timeToBlockExpire: 0 }
    // The ban of `blockDuration` may end before the window does, and the count then starts at 0. Another ban is an operator's.
    const block = ban === undefined ? policies.find(({ name }) => name === penalty) : undefined
    const timeToBlockExpire = seconds(block?.retryAfter ?? retryAfter, ttl)
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
    const block = ban > 0 && penaltyOf(window, ban)
    const first = this.#limiters.get(name)
    if (first !== undefined) return first.withPlan({ policies, penalty: block })
    const limiter = new RateLimiter({
      name: limiterName(name),
      policies,
      store: this.#store,
      onStoreError: this.#onStoreError,
      ...(block && { penalty: block }),
    })
    this.#limiters.set(name, limiter)
    return limiter
  }
}

/** The penalty: a ban of `blockDuration` after a refusal. After the ban, the count starts at 0, even if the ban was shorter than `ttl`. */
function penaltyOf(ttl: number, blockDuration: number): PenaltyOptions {
  return { name: penalty, after: 1, within: `${ttl}ms`, ban: `${blockDuration}ms`, restart: blockDuration < ttl }
}

/**
 * Converts a wait from milliseconds to whole seconds, rounded up. With a limit of 0 the wait is infinite, and the result is the
 * window `ttl`.
 */
function seconds(wait: number, ttl: number): number {
  return Math.ceil((wait === Infinity ? ttl : wait) / 1000)
}
