import type { Tickets } from '../../../algorithms/evaluation/index.ts'
import { concurrency } from '../../../algorithms/logs/index.ts'
import { type Clock, isBrokenRecord, type Sleeper, warnOnce } from '../../../common/index.ts'

import type { Ledger, Store } from '../../contract/index.ts'

/** No limiter of a user is named so. */
const name = '~processes'
const uncounted =
  `The store has a record under the limiter ${name}, which counts the processes, that is none of this version. As long as it is ` +
  "there, the store decides every call of the mode 'shares'. Delete it, or choose another prefix."
/** How long a process counts that does not renew its unit, in milliseconds. */
const lease = 60_000
/** The longest time between two renewals, in milliseconds. */
const slowest = 10_000

/**
 * Counts the processes that use a store: each holds a unit in flight, and one that dies frees it by itself. At first it
 * renews its unit often, because a fleet starts together. It stops when nobody has asked for a minute.
 *
 * It also counts those that report as often as this one: during a deploy, others may report at other intervals, and their
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
  /** How many there are, as far as this one knows. */
  count = 1
  /** How many of them report as often as this one. */
  peers = 1
  #countedAt = 0
  /** True once the store has counted them. */
  counted = false
  /** True if the last count failed. */
  failed = false
  /** True if the store has no record of them that it can read, such as one of another build. */
  unreadable = false

  /** @param fastest the shortest time between two renewals, in milliseconds: that between two reports */
  constructor(store: Store, fastest: number, clock: Clock, sleeper: Sleeper) {
    const scopes = ['all', `every-${fastest}ms`]
    const policies = scopes.map((scope) => concurrency({ name: scope, scope, limit: 1_000_000, lease }))
    this.#ledger = store.open({ name, policies, scopes })
    this.#clock = clock
    this.#sleeper = sleeper
    this.#fastest = fastest
  }

  /** How many there are. Until they are counted, `instances` at least. */
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

  #renewEvery(interval: number): void {
    this.#renew().then(
      () => this.#setUnreadable(false),
      (error) => {
        this.failed = true
        this.#setUnreadable(isBrokenRecord(error)) // of a store that fails, the reports tell
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
    // A store that came back empty counts few until all have renewed. They count for as long as they would in the store.
    const now = this.#clock()
    if (counted < this.count && now - this.#countedAt < lease * 1000) return
    this.count = counted
    this.peers = Math.min(peers, counted)
    this.#countedAt = now
  }
}
