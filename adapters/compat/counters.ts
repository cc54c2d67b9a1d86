import type { Policy } from '../../src/algorithms/index.ts'
import { counter } from '../../src/algorithms/windows/index.ts'
import { getOrInsert, longestWindow, type MaybePromise, wallClock } from '../../src/common/index.ts'
import { RateLimiter } from '../../src/limiter/index.ts'
import type { Decision } from '../../src/policy/index.ts'
import { isLocal, type Store } from '../../src/stores/contract/index.ts'
import { memoryStore } from '../../src/stores/memory/index.ts'
import { limiterName } from './option-values.ts'

export interface WindowCount {
  readonly used: number
  /** Milliseconds until the client's window ends. */
  readonly resetAfter: number
}

/** Rounds the length of a window up to whole milliseconds, at least 1 ms and at most 366 days. @param window the length in milliseconds */
function lengthOf(window: number): number {
  return Math.min(longestWindow, Math.max(1, Math.ceil(window)))
}

const hits = 'hits'

/** A policy that only counts hits and refuses no hit. The window of a key begins with the key's first hit. */
function hitsIn(window: number): Policy {
  return counter({ name: hits, window: `${lengthOf(window)}ms` })
}

/**
 * A limiter that counts the hits of each key in windows, and refuses no hit.
 * @param window the length of a window in milliseconds, at most 366 days
 * @param store where hits are counted. Default: a memory store whose clock is `Date.now()`, so that fake timers of tests change the store's
 *   time
 * @param name the name of the limiter in `store`
 */
export function countersIn(
  window: number,
  store: Store = memoryStore({ clock: wallClock }),
  name?: string,
): RateLimiter {
  // If the store fails, a call of this limiter rejects, and the calling middleware decides whether the request is admitted.
  return new RateLimiter({
    policies: hitsIn(window),
    store,
    onStoreError: 'throw',
    ...(name !== undefined && { name }),
  })
}

const byStore = new WeakMap<Store, Map<string, RateLimiter>>()

/**
 * A limiter that counts hits in a store, in windows of the length `window`. Limiters with the same id share their counts. If the length
 * of a key's window changes, the key's hits still count, and a new window starts.
 * @param window in milliseconds
 */
export function countersOn(store: Store, id: string, window: number): RateLimiter {
  const name = limiterName(id)
  const byName = getOrInsert(byStore, store, () => new Map<string, RateLimiter>())
  const known = getOrInsert(byName, name, () => countersIn(window, store, name))
  return known.policies[0]?.window === lengthOf(window) ? known : known.withPlan(hitsIn(window))
}

export function hit(counters: RateLimiter, key: string): MaybePromise<WindowCount> {
  const counted = (decision: Decision) => countOf(decision, !decision.allowed)
  return isLocal(counters.store) ? counted(counters.consumeSync(key)) : counters.consume(key).then(counted)
}

export async function read(counters: RateLimiter, key: string): Promise<WindowCount> {
  const decision = await counters.peek(key)
  return countOf(decision, decision.ban !== undefined)
}

/** The hits of a key that is banned, or that an override limits: more than any limit, although no hit was counted. */
export const uncounted: number = Number.MAX_SAFE_INTEGER

function countOf({ policies, resetAfter, retryAfter }: Decision, refused: boolean): WindowCount {
  if (refused) return { used: uncounted, resetAfter: Math.min(retryAfter, longestWindow) }
  const [counted] = policies
  // The policies of an override replace the limit of the middleware, so a call that they admit counts as the first one.
  return { used: counted?.name === hits ? counted.used : 1, resetAfter }
}

export function isHeadgateStore(store: unknown): store is Store {
  return typeof store === 'object' && store !== null && typeof (store as Partial<Store>).open === 'function'
}
