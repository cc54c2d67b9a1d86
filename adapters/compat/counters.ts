import { counter, type Policy, RateLimiter, type Store, wallClock } from '../../src/index.ts'
import type { MaybePromise } from '../../src/maybe-promise.ts'
import { memoryStore } from '../../src/stores/memory/memory-store.ts'
import { limiterName, longestWindow } from './option-values.ts'

/** The hits of one key. */
export interface Count {
  readonly used: number
  /** Milliseconds until the window ends. */
  readonly resetAfter: number
}

/** A counter without a limit. @param window in milliseconds, at most 366 days */
function hitsIn(window: number): Policy {
  return counter({ name: 'hits', window: `${Math.min(longestWindow, Math.max(1, Math.ceil(window)))}ms` })
}

/**
 * Counters in windows of this length.
 * @param window in milliseconds, at most 366 days
 * @param store default: a memory store that follows `Date.now()`, as the fake timers of tests set it
 * @param name of the limiter in that store
 */
export function countersIn(window: number, store: Store = memoryStore({ clock: wallClock }), name?: string): Counters {
  // A store that fails is the caller's to judge.
  const options = { policies: hitsIn(window), store, onStoreError: 'throw' } as const
  return new Counters(new RateLimiter(name === undefined ? options : { ...options, name }), window)
}

const byStore = new WeakMap<Store, Map<string, Counters>>()

/** The counters of an id on a store, in windows of this length. The same id has the same counts. */
export function countersOn(store: Store, id: string, window: number): Counters {
  const name = limiterName(id)
  const all = byStore.get(store) ?? new Map<string, Counters>()
  byStore.set(store, all)
  const known = all.get(name)
  if (known !== undefined) return known.under(window)
  const counters = countersIn(window, store, name)
  all.set(name, counters)
  return counters
}

/** Counts hits of keys on a store of headgate, in windows that open with the first hit. */
export class Counters {
  readonly limiter: RateLimiter
  readonly #window: number

  constructor(limiter: RateLimiter, window: number) {
    this.limiter = limiter
    this.#window = window
  }

  /** The same counters in windows of another length. A key whose window changes keeps its hits, and the window starts anew. */
  under(window: number): Counters {
    return window === this.#window ? this : new Counters(this.limiter.under(hitsIn(window)), window)
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
