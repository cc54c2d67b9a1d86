import { counter, RateLimiter, type Store, wallClock } from '../../src/index.ts'
import type { MaybePromise } from '../../src/maybe-promise.ts'
import { memoryStore } from '../../src/stores/memory/memory-store.ts'

/** The hits of one key. */
export interface Count {
  readonly used: number
  /** Milliseconds until the window ends. */
  readonly resetAfter: number
}

/** The longest window of a policy: 366 days. */
const longest = 366 * 24 * 60 * 60 * 1000

/** Counts hits of keys in windows that open with the first hit, on a store of headgate. */
export class Counters {
  readonly limiter: RateLimiter

  /**
   * @param window in milliseconds, at most 366 days
   * @param store default: a memory store that follows `Date.now()`, as the fake timers of tests set it
   * @param name of the limiter in that store
   */
  constructor(window: number, store: Store = memoryStore({ clock: wallClock }), name?: string) {
    const policies = counter({ window: `${Math.min(longest, Math.max(1, Math.ceil(window)))}ms` })
    // A store that fails is the caller's to judge.
    this.limiter = new RateLimiter({ policies, store, onStoreError: 'throw', ...(name === undefined ? {} : { name }) })
  }

  /** Adds a hit. */
  hit(key: string): MaybePromise<Count> {
    const { limiter } = this
    if (limiter.store.synchronous) return countOf(limiter.consumeSync(key))
    return limiter.consume(key).then(countOf)
  }

  async unhit(key: string): Promise<void> {
    await this.limiter.refund(key)
  }

  async read(key: string): Promise<Count> {
    return countOf(await this.limiter.peek(key))
  }
}

function countOf({ policies, resetAfter }: { policies: readonly { used: number }[]; resetAfter: number }): Count {
  return { used: policies[0]?.used ?? 0, resetAfter }
}

/** True for a store of headgate. */
export function isHeadgateStore(store: unknown): store is Store {
  return typeof store === 'object' && store !== null && typeof (store as Partial<Store>).open === 'function'
}
