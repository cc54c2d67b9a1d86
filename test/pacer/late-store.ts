import { type Ledger, memoryStore, type Store } from '../../src/index.ts'
import type { Timeline } from './timeline.ts'

/** A memory store that answers after a while, as one behind a network does, or fails, or never answers. */
export class LateStore implements Store {
  readonly synchronous = false
  readonly #timeline: Timeline
  readonly #store: Store
  readonly #shared: Map<string, Ledger>
  latency: number
  failing = false
  silent = false
  /** How much later than usual an answer comes, once it is decided. */
  silentFor = 0
  calls = 0

  /** @param shared the ledgers of all processes, by name: those of a server */
  constructor(timeline: Timeline, latency: number, shared = new Map<string, Ledger>()) {
    this.#timeline = timeline
    this.#store = memoryStore({ clock: timeline.clock.now })
    this.#shared = shared
    this.latency = latency
  }

  /** Without `retune`: others may reach the states. */
  open(terms: Parameters<Store['open']>[0]): Ledger {
    const first = this.#shared.get(terms.name) ?? this.#store.open(terms)
    this.#shared.set(terms.name, first)
    const ledger = first.vary?.(terms) ?? first
    return {
      decide: (...question) => this.#later(() => ledger.decide(...question)),
      reserve: (...question) => this.#later(() => ledger.reserve(...question)),
      reset: (...question) => this.#later(() => ledger.reset(...question)),
    }
  }

  /** Decided half-way, as by a server. */
  async #later<T>(decide: () => T): Promise<Awaited<T>> {
    this.calls++
    const late = this.silentFor
    await this.#sleep(Math.floor(this.latency / 2))
    if (this.failing) throw new Error('store')
    const answer = await decide()
    await this.#sleep(this.silent ? 1e9 : late + Math.ceil(this.latency / 2))
    return answer
  }

  #sleep(milliseconds: number): Promise<void> {
    return new Promise((resolve) => this.#timeline.sleeper(milliseconds, resolve))
  }
}
