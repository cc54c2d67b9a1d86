import { counterStoreOf } from '../counter-store.ts'
import type { LegacyStore, Options, Store } from './types.ts'

/** The store of the option: one of either package, or one of the interface before version 6. */
export function storeOf(given: Options['store'] | undefined, windowMs: number, name: string | undefined): Store {
  const own = counterStoreOf(given, windowMs, name)
  if (own !== undefined) return own
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
