import { boundMethods, isPromise, type MaybePromise } from '../common/index.ts'
import type { Reservation, Units } from '../limiter/index.ts'
import type { Decision } from '../policy/index.ts'
import type { Booking } from '../stores/contract/index.ts'
import type { CallCost } from './pacer-cost.ts'
import { closed } from './pacer-errors.ts'
import { delayOf } from './pacer-ledger.ts'
import { obeyHold, type Queue, type ReservedSlot } from './queue/index.ts'

/**
 * Units booked for a future time. The caller itself has to wait until that time. A reservation is settled once: the first `settle`
 * or `cancel` counts, and later calls do nothing. On a refused reservation, `settle` and `cancel` do nothing. If a reservation is never
 * settled, its units stay used. Only units in flight are freed, when their lease ends.
 */
export class PacerReservation {
  /** True if the units were booked. */
  readonly allowed: boolean
  /** How long to wait before you use the units, in whole milliseconds, such as 400. Infinity for a refusal. */
  readonly wait: number
  /**
   * When to use the units, in epoch milliseconds by the pacer's clock, such as 1767225600400. Infinity for a refusal.
   */
  readonly at: number
  /**
   * After a refusal, the milliseconds until a new attempt makes sense; Infinity if this time is not known, or if the
   * cost can never be admitted. 0 if the reservation was allowed.
   */
  readonly retryAfter: number
  readonly #units: Reservation
  readonly #ended: (cancelled: boolean) => void

  /**
   * @internal
   * @param now the time in microseconds
   * @param delay the wait for the booked time in microseconds; Infinity for a refusal
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
   * Corrects the reservation to its actual cost: gives unused units back, or charges the units beyond the reserved cost. Reservations can
   * be settled in any order. Units that have already become available with time are not given back again.
   *
   * Rejects with HeadgateError `HEADGATE_COST` unless `actual` is a whole number from 0, or a record with a whole number from 0 for
   * each policy; after this error `settle` can be called again. Rejects with `HEADGATE_STORE_UNAVAILABLE` if units have to be
   * charged, the store fails and `onStoreError` is `'closed'`. Example: `await reservation.settle({ tokens: 742 })`.
   */
  async settle(actual: Units): Promise<void> {
    await this.#units.settle(actual)
    this.#ended(actual === 0)
  }

  /** Gives all units back, as if the call had never been made. Never rejects: if the store fails, the units stay used. */
  async cancel(): Promise<void> {
    await this.#units.cancel()
    this.#ended(true)
  }

  /** Frees only the units in flight (of a policy `concurrency`). All other units of the reservation stay used. */
  async release(): Promise<void> {
    await this.#units.release()
    this.#ended(false)
  }

  /**
   * Restarts the leases (times until units are freed) of the units in flight, for work that takes longer than a lease. Resolves to true if
   * the leases run again. Resolves to false if a lease had ended and other calls have taken the units, or if the reservation is settled.
   * Rejects if the store fails and `onStoreError` is `'closed'`.
   */
  renew(): Promise<boolean> {
    return this.#units.renew()
  }

  static {
    boundMethods(PacerReservation.prototype, 'settle', 'cancel', 'release', 'renew')
  }
}

/**
 * Books a slot (a time for the call) for `Pace.reserve`. If a policy of the pacer cannot promise a future time, only units that are
 * available now are reserved. If other calls wait in the queue, no units are reserved.
 * @param maxWait in microseconds
 * @throws HeadgateError `HEADGATE_CLOSED` if the pacer is closed
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
  obeyHold(queue, booking.decision)
  const delay = allowed ? delayOf(booking) : Infinity
  const slot: ReservedSlot = { at: now + delay, before: undefined, after: undefined }
  if (allowed) reserved.prune(now).add(slot)
  return new PacerReservation(now, delay, context.units.reservation(keys, cost, booking), (cancelled) => {
    if (cancelled) reserved.remove(slot)
    if (allowed) queue.freed()
  })
}

/** A refusal that the pacer decides, without a policy: for example while the pacer is paused. */
function refusal(retryAfter: number): Booking {
  const decision: Decision = {
    ...{ allowed: false, limit: 0, remaining: 0, retryAfter, resetAfter: 0 },
    ...{ policy: '', policies: [], source: 'open' },
  }
  return { decision, wait: 0, tickets: undefined }
}
