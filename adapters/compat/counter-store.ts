import { type MaybePromise, shown, text } from '../../src/common/index.ts'
import type { RateLimiter } from '../../src/limiter/index.ts'
import { isLocal } from '../../src/stores/contract/index.ts'
import { countersIn, hit, isHeadgateStore, read, type WindowCount } from './counters.ts'
import { numberFor } from './option-values.ts'

/** The hits of a client in its window, and when the window ends. */
export interface ClientRateLimitInfo {
  totalHits: number
  resetTime: Date | undefined
}

/** The interface of the stores of express-rate-limit and hono-rate-limiter. @template Info the hits of a client */
export interface HitStore<Info> {
  // biome-ignore lint/suspicious/noExplicitAny: stores of others take the options of their package, which have another `store`
  init?: (options: any) => MaybePromise<void>
  get?: (key: string) => MaybePromise<Info | undefined>
  increment: (key: string) => MaybePromise<Info>
  decrement: (key: string) => MaybePromise<void>
  resetKey: (key: string) => MaybePromise<void>
  resetAll?: () => MaybePromise<void>
  shutdown?: () => MaybePromise<void>
  /** True if no other process has the keys. */
  localKeys?: boolean
  prefix?: string
}

/** What an application reads about a request that was counted. */
export interface HitInfo {
  limit: number
  used: number
  remaining: number
  resetTime: Date | undefined
}

/** Whole seconds until the window ends, rounded up. */
export function secondsLeft(resetTime: Date | undefined, windowMs: number): number {
  if (resetTime === undefined) return Math.ceil(windowMs / 1000)
  return Math.max(0, Math.ceil((resetTime.getTime() - Date.now()) / 1000))
}

/** @throws TypeError unless the limit is a number or a text of a number */
export function checkedLimit(limit: number): number {
  if (!Number.isNaN(Number(limit ?? NaN))) return limit
  throw new TypeError(`limit must be a number, or a function that returns one, got ${shown(limit)}.`)
}

/** The response fields of drafts 6 and 7. */
export function draftFields(
  draft: unknown,
  { limit, remaining, resetTime }: HitInfo,
  windowMs: number,
): Record<string, string> {
  const reset = secondsLeft(resetTime, windowMs)
  const policy = { 'RateLimit-Policy': `${limit};w=${Math.ceil(windowMs / 1000)}` }
  if (draft === 'draft-7') return { ...policy, RateLimit: `limit=${limit}, remaining=${remaining}, reset=${reset}` }
  const numbers = {
    'RateLimit-Limit': `${limit}`,
    'RateLimit-Remaining': `${remaining}`,
    'RateLimit-Reset': `${reset}`,
  }
  return { ...policy, ...numbers }
}

/** Returns a function that takes a hit back, once, and not from a later window. */
export function undoOf(
  store: { decrement(key: string): unknown },
  key: string,
  resetTime: Date | undefined,
): () => Promise<void> {
  let counts = true
  return async () => {
    if (!counts || (resetTime !== undefined && Date.now() >= resetTime.getTime())) return
    counts = false
    await store.decrement(key)
  }
}

/**
 * The store for the option `store`: without a value, a memory store; for a store of headgate, one that counts there.
 * Undefined for any other value.
 * @throws TypeError unless the window is a number or a text of a number; HeadgateError for an invalid name, or if a store of
 *   headgate has a limiter of that name
 */
export function counterStoreOf(given: unknown, windowMs: unknown, name: string | undefined): CounterStore | undefined {
  const window = numberFor('windowMs', windowMs, 0, Infinity)
  if (given === undefined) return new MemoryStore()
  if (!isHeadgateStore(given)) return undefined
  if (name !== undefined) text(undefined, 'HEADGATE_NAME')(name, 'name')
  return new CounterStore(countersIn(window, given, name))
}

function infoOf({ used, resetAfter }: WindowCount): ClientRateLimitInfo {
  return { totalHits: used, resetTime: new Date(Date.now() + resetAfter) }
}

/** Counts hits in a store of headgate. */
export class CounterStore {
  readonly localKeys: boolean
  counters: RateLimiter

  constructor(counters: RateLimiter) {
    this.counters = counters
    this.localKeys = isLocal(counters.store)
  }

  async get(key: string): Promise<ClientRateLimitInfo | undefined> {
    const count = await read(this.counters, String(key))
    return count.used === 0 ? undefined : infoOf(count)
  }

  async increment(key: string): Promise<ClientRateLimitInfo> {
    return infoOf(await hit(this.counters, String(key)))
  }

  async decrement(key: string): Promise<void> {
    await this.counters.refund(String(key))
  }

  async resetKey(key: string): Promise<void> {
    await this.counters.reset(String(key))
  }

  async resetAll(): Promise<void> {
    await this.counters.clear()
  }
}

/** Counts hits in the memory of this process. */
export class MemoryStore extends CounterStore {
  /** The length of a window in milliseconds. */
  windowMs: number = 60_000
  /** When the windows of keys end whose hits were taken back, for `get`: of the last thousand or so. */
  readonly #ends = new Map<string, Date>()

  constructor() {
    super(countersIn(60_000))
  }

  init(options: { windowMs: number }): void {
    this.windowMs = options.windowMs
    this.counters = countersIn(options.windowMs)
  }

  /** The hits of a key. If all were taken back, it has 0 hits until its window would have ended. */
  override async get(key: string): Promise<ClientRateLimitInfo | undefined> {
    const resetTime = this.#ends.get(key)
    const none = resetTime !== undefined && resetTime.getTime() > Date.now() ? { totalHits: 0, resetTime } : undefined
    return (await super.get(key)) ?? none
  }

  override async decrement(key: string): Promise<void> {
    const counted = await this.get(key)
    await super.decrement(key)
    if (this.#ends.size >= 1000) this.#ends.clear()
    this.#ends.set(key, counted?.resetTime ?? new Date(Date.now() + this.windowMs))
  }

  override async resetKey(key: string): Promise<void> {
    await super.resetKey(key)
    this.#ends.delete(key)
  }

  override async resetAll(): Promise<void> {
    await super.resetAll()
    this.#ends.clear()
  }

  shutdown(): void {
    void this.resetAll()
  }
}
