/*
 * A storage for @nestjs/throttler 6: the guard, the decorators and the options stay, and headgate counts.
 *
 * What differs from its own storage, and why:
 *
 * - Hits are kept in a bounded memory store without timers, or in a store that processes share: one round trip for each
 *   throttler, and one more when a block begins that is shorter than the window.
 * - `timeToExpire` is when the oldest hit leaves the window. During a block, `totalHits` stays one more than the limit.
 * - `timeToBlockExpire` is 0 without a block, and not a time before 1970.
 */
import { memoryStore, type OnStoreError, RateLimiter, type Store, slidingLog, wallClock } from '../../src/index.ts'
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
    // The count starts anew after a block, also after one that is shorter than the window.
    if (blockDuration > 0 && blockDuration < ttl && log?.allowed === false && limit > 0) {
      await limiter.refund(key, { cost: { [hits]: limit } })
    }
    const wait = block === undefined ? retryAfter : block.retryAfter
    return { totalHits: limit + 1, timeToExpire, isBlocked: true, timeToBlockExpire: seconds(wait, ttl) }
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
      ...(blockDuration > 0 ? { penalty: { after: 1, within: `${ttl}ms`, block: `${blockDuration}ms` } } : {}),
    })
    this.#throttlers.set(id, { limit, plan })
    return plan
  }
}

/** A limit of 0 has no end: the window is as good as any other time. */
function seconds(wait: number, ttl: number): number {
  return Math.ceil((wait === Infinity ? ttl : wait) / 1000)
}
