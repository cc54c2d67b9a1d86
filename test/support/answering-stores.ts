import type { Store } from '../../src/index.ts'

/** A store that decides at once and answers in an order of its own: every second call after the next one. */
export function shuffledStore(store: Store): Store {
  let calls = 0
  return answering(store, async (decide) => {
    const ticks = calls++ % 2 === 0 ? 20 : 1
    const decision = decide()
    for (let n = 0; n < ticks; n++) await Promise.resolve()
    return decision
  })
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
