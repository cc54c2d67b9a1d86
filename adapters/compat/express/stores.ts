import { text } from '../../../src/options.ts'
import { type Counters, countersIn, isHeadgateStore } from '../counters.ts'
import { type ClientRateLimitInfo, type LegacyStore, MINUTE, type Options, type Store } from './types.ts'

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
export class MemoryStore extends CounterStore implements Store {
  /** The length of a window in milliseconds. */
  windowMs: number = MINUTE
  /** When the windows of keys end whose hits were taken back, for `get`: of the last thousand or so. */
  readonly #ends = new Map<string, Date>()

  constructor() {
    super(countersIn(MINUTE))
  }

  init(options: Pick<Options, 'windowMs'>): void {
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

/** The store of the option: one of either package, or one of the interface before version 6. */
export function storeOf(given: Options['store'] | undefined, windowMs: number, name: string | undefined): Store {
  if (given === undefined) return new MemoryStore()
  if (isHeadgateStore(given)) {
    if (name !== undefined) text(name, 'name', 'HEADGATE_NAME')
    return new CounterStore(countersIn(windowMs, given, name))
  }
  const legacy = given as LegacyStore & Partial<Store>
  if (typeof legacy.incr !== 'function' || typeof legacy.increment === 'function') return checked(given as Store)
  return checked({
    increment: (key) =>
      new Promise((resolve, reject) => {
        legacy.incr(key, (error, totalHits, resetTime) => (error ? reject(error) : resolve({ totalHits, resetTime })))
      }),
    decrement: async (key) => legacy.decrement(key),
    resetKey: async (key) => legacy.resetKey(key),
    resetAll: async () => legacy.resetAll?.(),
  })
}

function checked(store: Store): Store {
  const has = (name: keyof Store, optional: boolean) =>
    typeof store[name] === 'function' || (optional && store[name] === undefined)
  const required = (['increment', 'decrement', 'resetKey'] as const).every((name) => has(name, false))
  if (required && has('resetAll', true) && has('init', true)) return store
  throw new TypeError(
    'The store is invalid: it must have increment, decrement and resetKey, as the interface Store says.',
  )
}
