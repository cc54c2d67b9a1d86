/* Stores of this process, each at full speed. */
import { memoryStore } from '../../src/index.ts'
import { compareAndSetStore } from '../../src/store.ts'
import { lruStore } from '../../src/stores/lru-store.ts'
import type { CreateStore } from './plan-laws.ts'

export const localStores: Readonly<Record<string, CreateStore>> = {
  memory: (clock) => memoryStore({ clock }),
  lru: (clock) => lruStore({ clock, maxKeys: 1000 }),
  'compare-and-set'(clock) {
    const texts = new Map<string, string>()
    return compareAndSetStore<string>({
      clock,
      async read(key) {
        const text = texts.get(key)
        return text === undefined ? undefined : { text, version: text }
      },
      async swap(key, text, version) {
        if (texts.get(key) !== version) return false
        texts.set(key, text)
        return true
      },
    })
  },
}
