import type { HeadgateError, MaybePromise } from '../common/index.ts'
import { type Command, DeadlineItem, type Ledger, type OutcomeOf, type Verb } from '../stores/contract/index.ts'
import type { Breaker } from './breaker.ts'

/** One command to the store. The caller gets what `succeeded` or `failed` returns. */
export class StoreRequest<V extends Verb> extends DeadlineItem {
  /** False only for a request of `sendAfter` that is not sent yet. A timeout of such a request does not count as a failure of the store. */
  override sent = true
  /** The value of `Breaker.counted` (how many failures all breakers together have counted) when this request was sent. */
  failuresBefore = 0
  /** The error of this request, if it failed. */
  failure: unknown
  /** The `StoreLink` that ends the request at its deadline. */
  declare link: { settle(request: StoreRequest<V>, error: unknown): void }
  declare resolve: (result: OutcomeOf<V>) => void
  declare reject: (error: unknown) => void
  readonly #ledger: Ledger
  protected readonly command: Command<V>
  /** The breakers of the shards that decide on the command's keys. */
  readonly breakers: readonly Breaker[]

  constructor(ledger: Ledger, command: Command<V>, breakers: readonly Breaker[]) {
    super()
    this.#ledger = ledger
    this.command = command
    this.breakers = breakers
  }

  send(): MaybePromise<OutcomeOf<V>> {
    return this.#ledger.run(this.command)
  }

  succeeded(outcome: OutcomeOf<V>): OutcomeOf<V> {
    return outcome
  }

  failed(error: unknown): OutcomeOf<V> {
    throw error
  }

  /** Called with the store's outcome if the outcome arrives after the deadline of the request. */
  late(_outcome: OutcomeOf<V>): void {}

  /** Called when the deadline of the request has passed. */
  expire(error: HeadgateError): void {
    this.link.settle(this, error)
  }
}
