import type { Tickets } from '../../../algorithms/evaluation/index.ts'
import { concurrency } from '../../../algorithms/logs/index.ts'
import { type Clock, isBrokenRecord, type Sleeper, warnOnce } from '../../../common/index.ts'
import type { Ledger, Store } from '../../contract/index.ts'

/** The name of the limiter that counts processes. No limiter of a user can have it. */
const name = '~processes'
const uncounted =
  `The store has a record under the limiter ${name}, which counts the processes, that is none of this version. As long as it is ` +
  "there, the store decides every call of the mode 'shares'. Delete it, or choose another prefix."
/** How long a process that does not renew its unit still counts, in milliseconds. */
const lease = 60_000
/** The longest time between two renewals of this process's unit, in milliseconds. */
const slowest = 10_000

/**
 * Counts the processes that use a store. Each process holds a unit in flight, which the store frees if the process dies. At
 * first a process renews its unit often, because a fleet starts together. It stops when no call has come for a minute.
 *
 * Also counts the processes that report as often as this one. During a deploy, others may report at other intervals: their
 * demand cannot be compared.
 */
export class Processes {
  readonly #ledger: Ledger
  readonly #clock: Clock
  readonly #sleeper: Sleeper
  readonly #fastest: number
  #tickets: Tickets | undefined
  #usedAt = 0
  #running = false
  /** How many processes use the store, as far as this process knows. */
  count = 1
  /** How many of the processes report as often as this one. */
  peers = 1
  #countedAt = 0
  /** True once the store has answered with a count. */
  counted = false
  /** True if the last count failed. */
  failed = false
  /** True if the store's record of the processes is not readable: another build may have written it. */
  unreadable = false

  /** @param fastest the shortest time between two renewals of this process's unit, in milliseconds: that between two reports */
  constructor(store: Store, fastest: number, clock: Clock, sleeper: Sleeper) {
    const scopes = ['all', `every-${fastest}ms`]
    const policies = scopes.map((scope) => concurrency({ name: scope, scope, limit: 1_000_000, lease }))
    this.#ledger = store.open({ name, policies, scopes })
    this.#clock = clock
    this.#sleeper = sleeper
    this.#fastest = fastest
  }

  /** How many processes use the store. Before the first count, at least `instances`. */
  atLeast(instances: number): number {
    return this.counted ? this.count : Math.max(this.count, instances)
  }

  /** Begins to count, unless it counts already. */
  wake(now: number): void {
    this.#usedAt = now
    if (this.#running) return
    this.#running = true
    this.#renewEvery(Math.min(this.#fastest, slowest))
  }

  /** Renews this process's unit no more. */
  end(): void {
    this.#usedAt = -Infinity
  }

  #renewEvery(interval: number): void {
    this.#renew().then(
      () => this.#setUnreadable(false),
      (error) => {
        this.failed = true
        this.#setUnreadable(isBrokenRecord(error)) // if the store fails, the reports show it
      },
    )
    this.#sleeper(interval, () => {
      this.#running = this.#clock() - this.#usedAt < lease * 1000
      if (this.#running) this.#renewEvery(Math.min(2 * interval, slowest))
    })
  }

  #setUnreadable(unreadable: boolean): void {
    this.unreadable = unreadable
    if (unreadable) warnOnce('HEADGATE_PROCESSES', uncounted)
  }

  async #renew(): Promise<void> {
    const renewed = this.#tickets
    const verb = renewed === undefined ? 'reserve' : 'renew'
    const { decision, tickets } = await this.#ledger.run({ verb, keys: ['processes', 'processes'], tickets: renewed })
    this.#tickets = tickets
    this.counted = true
    this.failed = false
    const [counted = 1, peers = 1] = decision.policies.map(({ used }) => Math.max(1, used))
    // A store that came back empty counts few processes until all have renewed. The old count stays for one lease.
    const now = this.#clock()
    if (counted < this.count && now - this.#countedAt < lease * 1000) return
    this.count = counted
    this.peers = Math.min(peers, counted)
    this.#countedAt = now
  }
}
