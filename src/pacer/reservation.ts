import { invalidOption } from '../errors.ts'
import { isPromise, type MaybePromise } from '../maybe-promise.ts'
import { Settlement } from '../settlement.ts'
import type { Booking } from '../stores/store.ts'
import { closed } from './errors.ts'
import type { KeyPacer } from './key-pacer.ts'
import { delayOf } from './permits.ts'
import { Slot } from './slot.ts'

/** How a reservation gives units back and takes more. */
interface Units {
  giveBack(units: number): MaybePromise<unknown>
  charge(units: number): MaybePromise<unknown>
}

/**
 * Permits booked for a time that you wait for by yourself. When it is settled for less, what later slots rely on stays
 * spent: the rule of golang.org/x/time/rate. A reservation that is never settled stays spent in full.
 */
export class PacerReservation extends Settlement<number> {
  /** How long to wait before you act, in whole milliseconds, such as 400. Infinity if refused. */
  readonly wait: number
  /** When to act, in milliseconds since the epoch by the pacer's clock, such as 1767225600400. Infinity if refused. */
  readonly at: number
  /**
   * On a refusal, the milliseconds until a new attempt makes sense. Infinity if that is not known, and for a cost that
   * can never be admitted. 0 if allowed.
   */
  readonly retryAfter: number
  readonly #cost: number
  readonly #units: Units | undefined

  /**
   * @internal
   * @param now microseconds
   * @param delay microseconds, or Infinity
   */
  constructor(now: number, cost: number, delay: number, retryAfter: number, units: Units | undefined) {
    super(units !== undefined)
    this.#cost = cost
    this.wait = Math.ceil(delay / 1000)
    this.at = Math.ceil((now + delay) / 1000)
    this.retryAfter = retryAfter
    this.#units = units
  }

  protected correction(actual: number): () => MaybePromise<unknown> {
    if (!Number.isSafeInteger(actual) || actual < 0) {
      const fix = 'Round it up: Math.ceil(cost).'
      throw invalidOption('The actual cost', 'a whole number from 0 to 2^53 - 1', actual, fix, 'HEADGATE_COST')
    }
    const beyond = actual - this.#cost
    if (beyond === 0) return () => undefined
    return () => (beyond > 0 ? this.#units?.charge(beyond) : this.#units?.giveBack(-beyond))
  }
}

/**
 * Books a slot that its owner waits for. Without future times, it grants a slot now or none, and none while others wait.
 * @param maxWait microseconds
 * @throws HeadgateError `HEADGATE_CLOSED`
 */
export function reserve(keyPacer: KeyPacer, cost: number, maxWait: number): MaybePromise<PacerReservation> {
  const { context, keys } = keyPacer
  const { permits, reservable } = context
  if (context.closed) throw closed()
  const refused = (retryAfter: number) => new PacerReservation(keyPacer.now, cost, Infinity, retryAfter, undefined)
  if (keyPacer.stopped) return refused(keyPacer.stoppedFor)
  if (!reservable && keyPacer.waiting > 0) return refused(Infinity)
  const { generation } = permits
  const decided = (booking: Booking): PacerReservation =>
    booking.decision.allowed ? granted(keyPacer, cost, booking, generation) : refused(booking.decision.retryAfter)
  const booking = permits.reserve(keys, cost, reservable ? maxWait : 0)
  if (!isPromise(booking)) return decided(booking)
  keyPacer.pendingRequests++
  return booking.then(decided).finally(() => {
    keyPacer.pendingRequests--
    keyPacer.settled()
  })
}

function granted(
  { context, keys, queue, now }: KeyPacer,
  cost: number,
  booking: Booking,
  generation: number,
): PacerReservation {
  const delay = delayOf(booking)
  const slot = new Slot({ cost, generation, reserved: true, onDue: () => undefined }, booking.tickets, now + delay)
  queue.addReserved(slot)
  return new PacerReservation(now, cost, delay, 0, {
    giveBack: (units) => queue.giveBack(slot, units),
    charge: (units) => context.permits.charge(keys, units),
  })
}
