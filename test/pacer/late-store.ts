import { type Ledger, memoryStore, type Store } from '../../src/index.ts'
import type { Timeline } from './timeline.ts'

/** A memory store that answers after a while, as one behind a network does, or fails, or never answers. */
export class LateStore implements Store {
  readonly synchronous = false
  readonly #timeline: Timeline
  readonly #store: Store
  latency: number
  failing = false
  silent = false
  calls = 0

  constructor(timeline: Timeline, latency: number) {
    this.#timeline = timeline
    this.#store = memoryStore({ clock: timeline.clock.now })
    this.latency = latency
  }

  /** Without `retune`: others may reach the states. */
  open(terms: Parameters<Store['open']>[0]): Ledger {
    const ledger = this.#store.open(terms)
    return {
      decide: (...question) => this.#later(() => ledger.decide(...question)),
      reserve: (...question) => this.#later(() => ledger.reserve(...question)),
      reset: (...question) => this.#later(() => ledger.reset(...question)),
    }
  }

  /** Decided half-way, as by a server. */
  async #later<T>(decide: () => T): Promise<Awaited<T>> {
    this.calls++
    await this.#sleep(Math.floor(this.latency / 2))
    if (this.failing) throw new Error('store')
    const answer = await decide()
    await this.#sleep(this.silent ? 1e9 : Math.ceil(this.latency / 2))
    return answer
  }

  #sleep(milliseconds: number): Promise<void> {
    return new Promise((resolve) => this.#timeline.sleeper(milliseconds, resolve))
  }
}
