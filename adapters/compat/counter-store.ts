import { type MaybePromise, ownText, shown, text } from '../../src/common/index.ts'
import type { RateLimiter } from '../../src/limiter/index.ts'
import { isLocal } from '../../src/stores/contract/index.ts'
import { countersIn, hit, isHeadgateStore, read, uncounted, type WindowCount } from './counters.ts'
import { numberFor } from './option-values.ts'

/** The number of hits of one client in its current window, and the time at which the window ends. */
export interface ClientRateLimitInfo {
  totalHits: number
  resetTime: Date | undefined
}

/** The interface of the stores of express-rate-limit and hono-rate-limiter. @template Info the hits of one client, as a type */
export interface HitStore<Info> {
  // biome-ignore lint/suspicious/noExplicitAny: a store of another package gets options whose `store` has another type
  init?: (options: any) => MaybePromise<void>
  get?: (key: string) => MaybePromise<Info | undefined>
  increment: (key: string) => MaybePromise<Info>
  decrement: (key: string) => MaybePromise<void>
  resetKey: (key: string) => MaybePromise<void>
  resetAll?: () => MaybePromise<void>
  shutdown?: () => MaybePromise<void>
  /** True if no other process counts hits in this store, for example because the store is in memory. */
  localKeys?: boolean
  prefix?: string
}

/** A client's limit and hits in the current window. An application can read these numbers from a request that the limiter has counted. */
export interface HitInfo {
  limit: number
  used: number
  remaining: number
  resetTime: Date | undefined
}

/** Returns the seconds until the window ends, rounded up. If `resetTime` is undefined, returns the length of the window in seconds. */
export function secondsLeft(resetTime: Date | undefined, windowMs: number): number {
  if (resetTime === undefined) return Math.ceil(windowMs / 1000)
  return Math.max(0, Math.ceil((resetTime.getTime() - Date.now()) / 1000))
}

/** Returns the limit unchanged. @throws TypeError unless the limit is a number or a numeric text such as '5' */
export function checkedLimit(limit: number): number {
  if (!Number.isNaN(Number(limit ?? NaN))) return limit
  throw new TypeError(`limit must be a number, or a function that returns one, got ${shown(limit)}.`)
}

/**
 * The header fields of a response that tell a client its rate limit, as draft 6 or draft 7 of "RateLimit header fields for
 * HTTP" (IETF) defines them.
 */
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

/**
 * Returns a function that removes one hit of the key. A second call of this function, a call after `resetTime`, and a call for a hit that was
 * not counted, do nothing.
 */
export function undoOf(
  store: { decrement(key: string): unknown },
  key: string,
  { used, resetTime }: { used: number; resetTime?: Date | undefined },
): () => Promise<void> {
  let counts = used !== uncounted
  return async () => {
    if (!counts || (resetTime !== undefined && Date.now() >= resetTime.getTime())) return
    counts = false
    await store.decrement(key)
  }
}

/**
 * Returns an object that counts the hits of clients. If `given` (the option `store`) is undefined, the object counts in memory. If
 * `given` is a store of headgate, the object counts in that store. For any other `given`, returns undefined.
 * @throws TypeError unless `windowMs` is a number or a numeric text such as '5'
 * @throws HeadgateError if `name` is invalid, or if another limiter named `name` uses the store of headgate already
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

/** Counts the hits of clients in a store of headgate. A key that is no text, such as a number, is converted to text. */
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

/** Counts the hits of clients in the memory of this process. */
export class MemoryStore extends CounterStore {
  /** The length of a window in milliseconds. */
  windowMs: number = 60_000
  /**
   * The end of the window of each key of which a hit was removed. Until that time, `get` returns 0 hits if the key has no hits left. The
   * map is emptied when it has 1000 keys, to bound its memory.
   */
  readonly #ends = new Map<string, Date>()

  constructor() {
    super(countersIn(60_000))
  }

  init(options: { windowMs: number }): void {
    this.windowMs = options.windowMs
    this.counters = countersIn(options.windowMs)
  }

  /** Returns the hits of a key: undefined if no hit was counted, and 0 if all hits were removed and the window has not ended. */
  override async get(key: string): Promise<ClientRateLimitInfo | undefined> {
    const resetTime = this.#ends.get(String(key))
    const none = resetTime !== undefined && resetTime.getTime() > Date.now() ? { totalHits: 0, resetTime } : undefined
    return (await super.get(key)) ?? none
  }

  override async decrement(key: string): Promise<void> {
    const counted = await this.get(key)
    await super.decrement(key)
    if (this.#ends.size >= 1000) this.#ends.clear()
    this.#ends.set(ownText(String(key)), counted?.resetTime ?? new Date(Date.now() + this.windowMs))
  }

  override async resetKey(key: string): Promise<void> {
    await super.resetKey(key)
    this.#ends.delete(String(key))
  }

  override async resetAll(): Promise<void> {
    await super.resetAll()
    this.#ends.clear()
  }

  shutdown(): void {
    void this.resetAll()
  }
}
