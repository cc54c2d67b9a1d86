import { isPromise, type MaybePromise } from '../common/index.ts'
import type { Reservation, Units } from '../limiter/index.ts'
import type { Decision } from '../policy/index.ts'
import type { Booking } from '../stores/contract/index.ts'
import type { CallCost } from './pacer-cost.ts'
import { closed } from './pacer-errors.ts'
import { delayOf } from './pacer-ledger.ts'
import type { Queue, ReservedSlot } from './queue/index.ts'

/**
 * Units booked for a time that you wait for by yourself. A reservation is settled once: the first `settle` or
 * `cancel` counts, and later calls do nothing. On a refused reservation, `settle` and `cancel` do nothing. The units
 * of a reservation that is never settled stay spent; only its units in flight are freed when their lease ends.
 */
export class PacerReservation {
  /** True if the units were taken. */
  readonly allowed: boolean
  /** How long to wait before you act, in whole milliseconds, such as 400. Infinity if refused. */
  readonly wait: number
  /** When to act, in milliseconds since the epoch by the pacer's clock, such as 1767225600400. Infinity if refused. */
  readonly at: number
  /**
   * On a refusal, the milliseconds until a new attempt makes sense. Infinity if that is not known, and for a cost that
   * can never be admitted. 0 if allowed.
   */
  readonly retryAfter: number
  readonly #units: Reservation
  readonly #ended: (cancelled: boolean) => void

  /**
   * @internal
   * @param now microseconds
   * @param delay microseconds, or Infinity
   */
  constructor(now: number, delay: number, units: Reservation, ended: (cancelled: boolean) => void) {
    this.allowed = units.allowed
    this.wait = Math.ceil(delay / 1000)
    this.at = Math.ceil((now + delay) / 1000)
    this.retryAfter = units.decision.retryAfter
    this.#units = units
    this.#ended = ended
  }

  /**
   * Corrects the reservation to the true cost: gives the rest back, or charges the units beyond the estimate.
   * Reservations can be settled in any order. Units that time has given back already are not given back twice.
   *
   * Rejects with HeadgateError `HEADGATE_COST` unless `actual` is a whole number from 0, or a record with such numbers
   * by the names of policies; then `settle` can be called again. Rejects with `HEADGATE_STORE_UNAVAILABLE` if units
   * have to be charged, the store fails and `onStoreError` is `'closed'`. Example: `await reservation.settle({ tokens:
   * 742 })`.
   */
  async settle(actual: Units): Promise<void> {
    await this.#units.settle(actual)
    this.#ended(actual === 0)
  }

  /** Gives everything back, as if the call had never been made. Never rejects: if the store fails, the units stay spent. */
  async cancel(): Promise<void> {
    await this.#units.cancel()
    this.#ended(true)
  }

  /** Frees the units in flight (`concurrency`), and leaves the cost under the other policies as it is. `settle` and `cancel` do, too. */
  async release(): Promise<void> {
    await this.#units.release()
    this.#ended(false)
  }

  /**
   * Starts the leases of the units in flight anew, for work that takes longer than a lease. Resolves to false if a
   * lease had ended and other calls have taken its units, and once the reservation is settled. Rejects if the store
   * fails and `onStoreError` is `'closed'`.
   */
  renew(): Promise<boolean> {
    return this.#units.renew()
  }
}

/**
 * Books a slot for `Pace.reserve`. If a policy cannot promise a future time, it grants a slot now, unless calls wait.
 * @param maxWait microseconds
 * @throws HeadgateError `HEADGATE_CLOSED`
 */
export function reserve(queue: Queue, cost: CallCost, maxWait: number): MaybePromise<PacerReservation> {
  const { context, keys } = queue
  const { units, reservable } = context
  if (context.closed) throw closed()
  if (queue.stopped) return decided(queue, cost, refusal(queue.stoppedFor))
  if (!reservable && queue.waiting > 0) return decided(queue, cost, refusal(Infinity))
  const booking = units.reserve(keys, cost, reservable ? maxWait : 0)
  if (!isPromise(booking)) return decided(queue, cost, booking)
  return new Promise((resolve, reject) => {
    queue.request(booking, (booked) => resolve(decided(queue, cost, booked)), reject)
  })
}

function decided(queue: Queue, cost: CallCost, booking: Booking): PacerReservation {
  const { context, keys, now, reserved } = queue
  const { allowed } = booking.decision
  const delay = allowed ? delayOf(booking) : Infinity
  const slot: ReservedSlot = { at: now + delay, before: undefined, after: undefined }
  if (allowed) reserved.prune(now).add(slot)
  return new PacerReservation(now, delay, context.units.reservation(keys, cost, booking), (cancelled) => {
    if (cancelled) reserved.remove(slot)
    if (allowed) queue.freed()
  })
}

/** A refusal that no policy decided. */
function refusal(retryAfter: number): Booking {
  const decision: Decision = {
    ...{ allowed: false, limit: 0, remaining: 0, retryAfter, resetAfter: 0 },
    ...{ policy: '', policies: [], source: 'open' },
  }
  return { decision, wait: 0, tickets: undefined }
}
