import { memoryStore, type Store } from '../../src/index.ts'
import { type Ledger, type LedgerTerms, withFailover } from '../../src/store.ts'
import type { Timeline } from './timeline.ts'

/** A memory store that responds late, as one behind a network does. It can also fail or never respond. */
export class LateStore implements Store {
  readonly synchronous = false
  /** The breaker goes by real time, and not by the clock of the test, so it may send a probe at once. */
  readonly traits = { breaker: { failures: 5, openFor: 0, probeEvery: 0 } }
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

  open(terms: LedgerTerms, joins?: Ledger): Ledger {
    return withFailover(this, terms, joins, (bare) => this.#open(bare))
  }

  /** Others may reach the states, so each is carried over to another rate by its next call. */
  #open(terms: LedgerTerms): Ledger {
    const first = this.#shared.get(terms.name)
    const ledger = this.#store.open(first === undefined ? { ...terms, onChange: 'keep' } : terms, first)
    if (first === undefined) this.#shared.set(terms.name, ledger)
    return { run: (command) => this.#later(() => ledger.run(command)) }
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
