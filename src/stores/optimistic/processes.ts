import { concurrency } from '../../algorithms/concurrency.ts'
import type { Tickets } from '../../algorithms/evaluation.ts'
import type { Ledger, Store } from '../store.ts'

/** No limiter of a user is named so. */
const name = '~processes'

/** Counts the processes that use a store: each holds a unit in flight, which a process that dies frees by itself. */
export class Processes {
  readonly #ledger: Ledger
  #tickets: Tickets | undefined
  #asking = false
  /** How many there are, as far as this one knows. */
  count = 1

  /** @param lease in milliseconds: how long a process counts that does not renew it */
  constructor(store: Store, lease: number) {
    const policies = [concurrency({ limit: 1_000_000, lease })]
    this.#ledger = store.open({ name, policies, scopes: ['default'] })
  }

  /** Renews its own unit, and reads how many there are. */
  async renew(): Promise<void> {
    if (this.#asking) return
    this.#asking = true
    try {
      const renews = this.#tickets
      const booking = await this.#ledger.reserve(['all'], 1, 0, renews && { renews })
      this.#tickets = booking.tickets
      this.count = Math.max(1, booking.decision.policies[0]?.used ?? 1)
    } finally {
      this.#asking = false
    }
  }
}
