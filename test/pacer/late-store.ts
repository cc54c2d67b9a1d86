import { memoryStore, type Store } from '../../src/index.ts'
import type { Ledger } from '../../src/store.ts'
import type { Timeline } from './timeline.ts'

/** A memory store that responds late, as one behind a network does. It can also fail or never respond. */
export class LateStore implements Store {
  readonly synchronous = false
  readonly #timeline: Timeline
  readonly #store: Store
  readonly #shared: Map<string, Ledger>
  latency: number
  failing = false
  silent = false
  /** How much later than usual the response comes after the decision, in milliseconds. */
  delay = 0
  calls = 0

  /** @param shared ledgers by name, which several stores share as the clients of one server do */
  constructor(timeline: Timeline, latency: number, shared = new Map<string, Ledger>()) {
    this.#timeline = timeline
    this.#store = memoryStore({ clock: timeline.clock.now })
    this.#shared = shared
    this.latency = latency
  }

  /** The ledger has no `retune`, because others may reach the states. */
  open(terms: Parameters<Store['open']>[0]): Ledger {
    const first = this.#shared.get(terms.name) ?? this.#store.open(terms)
    this.#shared.set(terms.name, first)
    const ledger = first.vary?.(terms) ?? first
    return {
      decide: (...request) => this.#later(() => ledger.decide(...request)),
      reserve: (...request) => this.#later(() => ledger.reserve(...request)),
      reset: (...request) => this.#later(() => ledger.reset(...request)),
    }
  }

  /** Decides half-way, as a server does. */
  async #later<T>(decide: () => T): Promise<Awaited<T>> {
    this.calls++
    const { delay } = this
    await this.#sleep(Math.floor(this.latency / 2))
    if (this.failing) throw new Error('store')
    const answer = await decide()
    await this.#sleep(this.silent ? 1e9 : delay + Math.ceil(this.latency / 2))
    return answer
  }

  #sleep(milliseconds: number): Promise<void> {
    return new Promise((resolve) => this.#timeline.sleeper(milliseconds, resolve))
  }
}
