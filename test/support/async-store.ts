import type { Store } from '../../src/index.ts'
import { type Ledger, type OpenLedger, type StoreTraits, withFailover } from '../../src/store.ts'

/** A store that can fail and opens these ledgers. */
export function remoteStore(open: OpenLedger, traits: StoreTraits = {}): Store {
  return {
    synchronous: false,
    traits,
    open(terms, joins) {
      return withFailover(this, terms, joins, open)
    },
  }
}

/** A store every command of which does this. */
export function brokenStore(run: () => never | Promise<never>): Store {
  return remoteStore(() => ({ run }))
}

/** A store whose results always come later, as over a network. Opening a name again opens the same states. @param way takes as long as it likes */
export function asyncStore(store: Store, way = () => Promise.resolve()): Store {
  const opened = new Map<string, Ledger>()
  return remoteStore((terms) => {
    const ledger = store.open(terms, opened.get(terms.name))
    opened.set(terms.name, ledger)
    return { run: (command) => way().then(() => ledger.run(command)) as never }
  })
}
