import { sha256 } from '#platform'
import { shown } from '../../src/errors.ts'
import { counter, type Policy, RateLimiter, type Store, wallClock } from '../../src/index.ts'
import type { MaybePromise } from '../../src/maybe-promise.ts'
import { memoryStore } from '../../src/stores/memory/memory-store.ts'

/** The hits of one key. */
export interface Count {
  readonly used: number
  /** Milliseconds until the window ends. */
  readonly resetAfter: number
}

/** The longest window of a policy in milliseconds: 366 days. */
export const longestWindow: number = 366 * 24 * 60 * 60 * 1000

/** The largest limit of a sliding log. */
export const largestLog: number = 2 ** 50

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

/**
 * A number that an option of another package gives: a text is read as a number, a fraction is rounded, and a number beyond the range
 * is its end.
 * @throws TypeError for a value that is no number
 */
export function numberFor(
  option: string,
  value: unknown,
  least: number,
  most: number,
  round: (value: number) => number = Math.ceil,
): number {
  const number = typeof value === 'string' ? Number(value) : value
  if (typeof number === 'number' && !Number.isNaN(number)) return Math.min(most, Math.max(least, round(number)))
  throw new TypeError(`${option} must be a number, got ${shown(value)}.`)
}

/** Any text as the name of a limiter, which is at most 128 printable ASCII characters. */
export function limiterName(text: string): string {
  const name = encodeURI(text)
  if (name.length <= 128) return name || 'default'
  return hashOf(name) + name.slice(-96)
}

/** 32 letters and digits that stand for a text. */
export function hashOf(text: string): string {
  const bytes = [...sha256(new TextEncoder().encode(text))].slice(0, 16)
  return bytes.map((byte) => byte.toString(16).padStart(2, '0')).join('')
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
