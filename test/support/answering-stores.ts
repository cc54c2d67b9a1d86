import type { Decision, Store } from '../../src/index.ts'

/** A store that decides at once and answers in an order of its own: late, soon, or without a promise. */
export function shuffledStore(store: Store): Store {
  let calls = 0
  const late = async <T>(decision: T, ticks: number): Promise<T> => {
    for (let n = 0; n < ticks; n++) await Promise.resolve()
    return decision
  }
  return {
    synchronous: false,
    open(terms) {
      const ledger = store.open(terms)
      return {
        decide(...call) {
          const decision = ledger.decide(...call) as Decision
          const ticks = [20, 1, 0][calls++ % 3] as number
          return ticks === 0 ? decision : late(decision, ticks)
        },
        reserve: (...call) => ledger.reserve(...call),
        reset: (...call) => ledger.reset(...call),
      }
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
    open(terms) {
      const ledger = store.open(terms)
      return {
        decide: async (...call) => answer(() => ledger.decide(...call)).then((decision) => decision),
        reserve: async (...call) => answer(() => ledger.reserve(...call)).then((booking) => booking),
        reset: async (...call) => ledger.reset(...call),
      }
    },
  }
}
