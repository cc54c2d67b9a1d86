import type { LedgerTerms, Store } from '../../src/index.ts'

/** A store whose every answer comes later, as over a network. */
export function asyncStore(store: Store): Store {
  return {
    synchronous: false,
    open(terms: LedgerTerms) {
      const ledger = store.open(terms)
      return {
        decide: async (...call) => later(() => ledger.decide(...call)),
        reserve: async (...call) => later(() => ledger.reserve(...call)),
        reset: async (...call) => later(() => ledger.reset(...call)),
      }
    },
  }
}

async function later<T>(answer: () => T): Promise<Awaited<T>> {
  await Promise.resolve()
  return await answer()
}
