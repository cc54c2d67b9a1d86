import type { Store } from '../../src/index.ts'
import type { Ledger, LedgerTerms } from '../../src/store.ts'

/** A store whose results always come later, as over a network. Opening a name again opens the same states. */
export function asyncStore(store: Store): Store {
  const opened = new Map<string, Ledger>()
  return {
    synchronous: false,
    open(terms: LedgerTerms) {
      const ledger = opened.get(terms.name)?.vary?.(terms) ?? store.open(terms)
      opened.set(terms.name, ledger)
      return {
        decide: async (...call) => later(() => ledger.decide(...call)),
        reserve: async (...call) => later(() => ledger.reserve(...call)),
        reset: async (...call) => later(() => ledger.reset(...call)),
        block: async (...call) => later(() => ledger.block?.(...call)),
        unblock: async (...call) => later(() => ledger.unblock?.(...call)),
      }
    },
  }
}

async function later<T>(call: () => T): Promise<Awaited<T>> {
  await Promise.resolve()
  return await call()
}
