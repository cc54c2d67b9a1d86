/*
 * A storage for @nestjs/throttler 6: the guard, the decorators and the options stay, and headgate counts.
 *
 * What differs from its own storage, and why:
 *
 * - Hits are kept in a bounded memory store without timers, or in a store that processes share: one round trip for each
 *   throttler.
 * - `timeToExpire` is when the oldest hit leaves the window; without a hit, when the block ends. During a block, `totalHits` stays one more than the limit.
 * - `timeToBlockExpire` is 0 without a block, and not a time before 1970.
 */
import {
  memoryStore,
  type OnStoreError,
  type PenaltyOptions,
  RateLimiter,
  type Store,
  slidingLog,
  wallClock,
} from '../../src/index.ts'
import { decide } from '../../src/limiter.ts'

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

/**
 * Counts for @nestjs/throttler: at most `limit` hits in any window, then a block.
 *
 *     ThrottlerModule.forRoot({ throttlers: [{ ttl: 60_000, limit: 10 }], storage: new HeadgateThrottlerStorage() })
 */
export class HeadgateThrottlerStorage {
  readonly #store: Store
  readonly #onStoreError: OnStoreError
  /** By throttler, window and block. Their limits are plans of one limiter. */
  readonly #throttlers = new Map<string, { limit: number; plan: RateLimiter }>()

  constructor({ store, onStoreError = 'local' }: ThrottlerStorageOptions = {}) {
    this.#store = store ?? memoryStore({ clock: wallClock })
    this.#onStoreError = onStoreError
  }

  /** Counts a hit. Times are milliseconds; a `blockDuration` of 0 or less is no block. */
  async increment(
    key: string,
    ttl: number,
    limit: number,
    blockDuration: number,
    throttlerName: string,
  ): Promise<ThrottlerStorageRecord> {
    const limiter = this.#limiterOf(ttl, limit, blockDuration, throttlerName)
    const { allowed, policies, retryAfter } = await decide(limiter, key, 1, { nextAfter: true })
    const log = policies[0]
    const timeToExpire = Math.ceil((log?.nextAfter ?? 0) / 1000)
    if (allowed) return { totalHits: log?.used ?? 0, timeToExpire, isBlocked: false, timeToBlockExpire: 0 }
    const block = policies[1]
    const timeToBlockExpire = seconds(block === undefined ? retryAfter : block.retryAfter, ttl)
    return { totalHits: limit + 1, timeToExpire: timeToExpire || timeToBlockExpire, isBlocked: true, timeToBlockExpire }
  }

  /** The limit of a throttler seldom changes, so its last plan is kept: to find one takes longer than to count. */
  #limiterOf(ttl: number, limit: number, blockDuration: number, throttlerName: string): RateLimiter {
    const id = `${throttlerName}:${ttl}:${blockDuration}`
    const known = this.#throttlers.get(id)
    if (known !== undefined && known.limit === limit) return known.plan
    const policies = slidingLog({ name: hits, limit, window: `${ttl}ms` })
    if (known !== undefined) {
      known.limit = limit
      known.plan = known.plan.under(policies)
      return known.plan
    }
    const plan = new RateLimiter({
      name: encodeURI(id).slice(-128),
      policies,
      store: this.#store,
      onStoreError: this.#onStoreError,
      ...(blockDuration > 0 ? { penalty: penaltyOf(ttl, blockDuration) } : {}),
    })
    this.#throttlers.set(id, { limit, plan })
    return plan
  }
}

/** The count starts anew after a block, also after one that is shorter than the window. */
function penaltyOf(ttl: number, blockDuration: number): PenaltyOptions {
  return { after: 1, within: `${ttl}ms`, block: `${blockDuration}ms`, restart: blockDuration < ttl }
}

/** A limit of 0 has no end: the window is as good as any other time. */
function seconds(wait: number, ttl: number): number {
  return Math.ceil((wait === Infinity ? ttl : wait) / 1000)
}
