import type { Tickets } from './algorithms/evaluation.ts'
import type { Decision } from './decision.ts'
import type { MaybePromise } from './maybe-promise.ts'
import { Settlement } from './settlement.ts'
import type { Booking, CallOptions, Ledger } from './stores/store.ts'

/** Units taken from a limiter before the call's true cost is known. */
export class Reservation extends Settlement {
  /**
   * How long to wait before acting, in whole milliseconds. 0 if the units are available now. With `maxWait: '2s'` and a
   * unit that comes in 200 ms, it is 200. Also 0 if refused: then `decision.retryAfter` says when to try again.
   */
  readonly wait: number
  /** The decision on the estimate. If it is refused, no units were taken. */
  readonly decision: Decision
  readonly #ledger: Ledger
  readonly #keys: readonly string[]
  readonly #tickets: Tickets | undefined
  readonly #extras: CallOptions | undefined

  constructor(
    ledger: Ledger,
    keys: readonly string[],
    cost: number,
    { decision, wait, tickets }: Booking,
    extras?: CallOptions,
  ) {
    super(decision.allowed, cost)
    this.wait = wait
    this.decision = decision
    this.#ledger = ledger
    this.#keys = keys
    this.#tickets = tickets
    this.#extras = extras?.onFailure && { onFailure: extras.onFailure }
  }

  protected giveBack(units: number): MaybePromise<unknown> {
    return this.#ledger.decide('refund', this.#keys, units, { tickets: this.#tickets, ...this.#extras })
  }

  protected charge(units: number): MaybePromise<unknown> {
    return this.#ledger.decide('charge', this.#keys, units, this.#extras)
  }
}
