/*
 * Gives slots (booked start times) back that no waiter needs any more, because their waiters were aborted, have timed out, or found the
 * queue full. The last slot goes first. Most algorithms can give back only the last units in full: a slot before a booked slot of anybody
 * would stay unused for good. So the slots are kept for a moment. The next calls of the process use them, and need no request to the store.
 */
import type { Booking } from '../../stores/contract/index.ts'
import { mostOf } from '../pacer-cost.ts'
import type { Task } from '../timers/index.ts'
import type { PacerSlots, Slot } from './booked-slot.ts'
import type { BookingHorizon } from './booking-horizon.ts'
import type { Queue } from './queue.ts'
import type { Waiter } from './waiter.ts'

/** How long after a call slots are kept, in microseconds, if no other process books slots. */
const alone = 50_000
/** How long after a call slots are kept, in microseconds, if other processes have probably booked later ones. */
const besideOthers = 1_000_000
/** How long other processes probably book slots (start times) after they have booked one, in microseconds. */
const othersFor = 10_000_000

export class SpareReturn {
  readonly #queue: Queue
  readonly #booked: PacerSlots
  readonly #horizon: BookingHorizon
  readonly #giveBack: (slot: Slot) => void
  /** When the last call asked the store, or used a slot (start time) that no other waiter needed. In microseconds. */
  #lastCall = -Infinity
  /** Until when other processes probably book too, under an algorithm that can give back only the last slots in full. */
  #othersUntil = 0
  #next: Task | undefined

  constructor(queue: Queue, booked: PacerSlots, horizon: BookingHorizon, giveBack: (slot: Slot) => void) {
    this.#queue = queue
    this.#booked = booked
    this.#horizon = horizon
    this.#giveBack = giveBack
  }

  /** Called when a call asks the store, or uses a slot (start time) that no other waiter needed. */
  called(now: number): void {
    this.#lastCall = now
  }

  /** Called before the slot of a booking (a start time) is added. A slot far behind the last one means that other processes book too. */
  booked({ wait }: Booking, { cost }: Waiter): void {
    const { context, now } = this.#queue
    const policy = context.units.policies.find(({ shadow }) => !shadow)
    const apart = now + wait * 1000 - this.#horizon.lastAt
    if (policy === undefined || apart * policy.limit <= 2 * mostOf(cost) * policy.window * 1000) return
    const { kind, paysLater } = policy.algorithm
    if (kind === 'bucket' || paysLater) this.#othersUntil = now + othersFor
  }

  /** Gives the slots (start times) back that no waiter needs: now, or later if the next call may use them. */
  readonly plan = (): void => {
    this.cancel()
    if (!this.#booked.hasSpares || this.#horizon.asks) return
    const { context, now } = this.#queue
    const until = this.#lastCall + (now < this.#othersUntil ? besideOthers : alone)
    if (until > now) this.#next = context.scheduler.at(until, this.plan)
    else {
      for (const slot of this.#booked.takeSpares()) this.#giveBack(slot)
      this.#queue.settled()
    }
  }

  cancel(): void {
    this.#queue.context.scheduler.remove(this.#next)
  }
}
