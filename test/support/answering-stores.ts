import type { Store } from '../../src/index.ts'
import { withFailover } from '../../src/store.ts'

/** A store that decides at once and answers in an order of its own: late, soon, or without a promise. */
export function shuffledStore(store: Store): Store {
  let calls = 0
  const late = async <T>(decision: T, ticks: number): Promise<Awaited<T>> => {
    for (let n = 0; n < ticks; n++) await Promise.resolve()
    return await decision
  }
  return {
    synchronous: false,
    open(terms, joins) {
      return withFailover(this, terms, joins, (bare) => {
        const ledger = store.open(bare)
        return {
          run(command) {
            const decision = ledger.run(command)
            const ticks = command.verb === 'reserve' ? 0 : ([20, 1, 0][calls++ % 3] as number)
            return ticks === 0 ? decision : late(decision, ticks)
          },
        }
      })
    },
  }
}

/** A store that answers when it is released. */
export function heldStore(store: Store): { store: Store; calls(): number; release(): void } {
  let calls = 0
  let release = () => {}
  const released = new Promise<void>((resolve) => {
    release = resolve
  })
  const held = answering(store, async (decide) => {
    calls++
    await released
    return decide()
  })
  return { store: held, calls: () => calls, release }
}

function answering(store: Store, answer: <T>(decide: () => T) => Promise<T>): Store {
  return {
    synchronous: false,
    open(terms, joins) {
      return withFailover(this, terms, joins, (bare) => {
        const ledger = store.open(bare)
        return {
          run: async (command) => {
            if (command.verb === 'reset') return ledger.run(command)
            return await answer(() => ledger.run(command))
          },
        }
      })
    },
  }
}
