import type { AnyCost, Key, Reservation, Units } from '../../limiter/index.ts'
import type { KeyedDecision, Settles } from './request-decision.ts'

/** Corrects the units of a request, or gives them back. */
interface Corrections<Request, Response> {
  correct(held: HeldRequest<Request, Response>, actual: Units): Promise<void>
  giveBack(held: HeldRequest<Request, Response>): Promise<void>
}

/** A request whose units are reserved until its response has ended. */
export class HeldRequest<Request, Response> implements Settles {
  /** The reservation of the request's units. After a wait with `delay`, this is the reservation of the booked time that was used. */
  reservation: Reservation
  readonly key: Key
  readonly cost: AnyCost
  readonly request: Request
  readonly response: Response
  readonly #units: Corrections<Request, Response>
  /** The decision for the application. Undefined until `HeldReservations.decision` was called. */
  decision: KeyedDecision | undefined
  /** Frees the units in flight. Undefined if the request holds no units in flight. */
  release: (() => Promise<void>) | undefined
  /** True after another decision about the request has replaced this decision. */
  replaced = false
  /** True if a refusal is the response. Another limit of the request, if the application asks one, then decides again. */
  refused: boolean

  constructor(
    units: Corrections<Request, Response>,
    reservation: Reservation,
    key: Key,
    cost: AnyCost,
    request: Request,
    response: Response,
  ) {
    this.#units = units
    this.reservation = reservation
    this.refused = !reservation.allowed
    this.key = key
    this.cost = cost
    this.request = request
    this.response = response
  }

  settle(actual: Units): Promise<void> {
    return this.#units.correct(this, actual)
  }

  /** Notes the end of a refusal. Returns the argument. @param admits true if `refuse` admits the request after all */
  endRefusal(admits: boolean): boolean {
    this.refused = !admits
    return admits
  }

  /** Gives all units of the request back, because another decision about the request replaces this decision. */
  undo(): Promise<void> {
    this.replaced = true
    const cancelled = this.#units.giveBack(this)
    void this.release?.() // the units are already cancelled, so `release` only stops the renewal of the lease
    return cancelled
  }
}
