import { shown } from '../../src/errors.ts'
import { type Counters, countersIn } from './counters.ts'

/** The hits of a client in its window, and when that ends. */
export interface ClientRateLimitInfo {
  totalHits: number
  resetTime: Date | undefined
}

/** Whole seconds until the window ends, rounded up. */
export function secondsLeft(resetTime: Date | undefined, windowMs: number): number {
  if (resetTime === undefined) return Math.ceil(windowMs / 1000)
  return Math.max(0, Math.ceil((resetTime.getTime() - Date.now()) / 1000))
}

/** @throws TypeError unless the limit is a number, or the text of one */
export function checkedLimit(limit: number): number {
  if (!Number.isNaN(Number(limit ?? NaN))) return limit
  throw new TypeError(`limit must be a number, or a function that returns one, got ${shown(limit)}.`)
}

/** Hits on a store of headgate. */
export class CounterStore {
  readonly localKeys: boolean
  counters: Counters

  constructor(counters: Counters) {
    this.counters = counters
    this.localKeys = counters.limiter.store.synchronous
  }

  async get(key: string): Promise<ClientRateLimitInfo | undefined> {
    const { used, resetAfter } = await this.counters.read(String(key))
    return used === 0 ? undefined : { totalHits: used, resetTime: new Date(Date.now() + resetAfter) }
  }

  async increment(key: string): Promise<ClientRateLimitInfo> {
    const { used, resetAfter } = await this.counters.hit(String(key))
    return { totalHits: used, resetTime: new Date(Date.now() + resetAfter) }
  }

  async decrement(key: string): Promise<void> {
    await this.counters.unhit(String(key))
  }

  async resetKey(key: string): Promise<void> {
    await this.counters.limiter.reset(String(key))
  }

  async resetAll(): Promise<void> {
    await this.counters.limiter.clear()
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

  /** A key whose hits were all taken back has 0 hits until its window would have ended. */
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
