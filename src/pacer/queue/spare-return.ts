/*
 * Gives slots (booked start times) back that no waiter needs any more, because their waiters were aborted, have timed out, or found the
 * queue full. The last slot goes first.
 *
 * Buckets and Guava's limiters can give back only the last units in full: a slot before the booked slot of anybody would stay unused for
 * good. The units of other policies come back wherever the slot is, but nobody gets a time before a booked one. So slots are kept for a
 * moment under buckets and Guava's limiters, and under all policies while calls wait without a slot. The next calls of the same cost use
 * them, and need no request to the store. At the time of a slot that is still spare, the first calls start that fit into it together.
 */
import type { Size } from '../../common/index.ts'
import type { Booking } from '../../stores/contract/index.ts'
import { mostOf } from '../pacer-cost.ts'
import type { Task } from '../timers/index.ts'
import type { PacerSlots, Slot } from './booked-slot.ts'
import type { BookingHorizon } from './booking-horizon.ts'
import type { PriorityQueue } from './priority-queue.ts'
import type { Queue } from './queue.ts'
import type { Waiter } from './waiter.ts'

/** How long slots are kept after the last call that waits, and one round trip, in microseconds, if no other process books slots. */
const alone = 50_000
/** The same, if other processes have probably booked later slots. */
const besideOthers = 1_000_000
/** How long other processes probably book slots (start times) after they have booked one, in microseconds. */
const othersFor = 10_000_000

export class SpareReturn {
  readonly #queue: Queue
  readonly #booked: PacerSlots
  readonly #unbooked: PriorityQueue
  readonly #horizon: BookingHorizon
  readonly #giveBack: (slot: Slot) => void
  /** Until when slots are kept. */
  #keptUntil = 0
  /** Until when other processes probably book too. */
  #othersUntil = 0
  /** The round trip of the last booking, in microseconds. */
  #trip = 0
  /** True for buckets and Guava's limiters. The units of other policies come back in full, wherever the slot is. */
  #evens = false
  #next: Task | undefined

  constructor(
    queue: Queue,
    booked: PacerSlots,
    unbooked: PriorityQueue,
    horizon: BookingHorizon,
    giveBack: (slot: Slot) => void,
  ) {
    this.#unbooked = unbooked
    this.#queue = queue
    this.#booked = booked
    this.#horizon = horizon
    this.#giveBack = giveBack
  }

  /**
   * Called before the slot of a booking (a start time) is added. A slot far behind the last one means that other processes book too.
   * @param sent when the booking was sent, in microseconds. Undefined if no other process can book
   */
  booked({ wait }: Booking, { cost }: Waiter, sent: number | undefined): void {
    if (sent === undefined) return
    const { context, now } = this.#queue
    const policy = context.units.policies.find(({ shadow }) => !shadow)
    if (policy === undefined) return
    const { kind, paysLater } = policy.algorithm
    this.#evens = kind === 'bucket' || paysLater === true
    if (!this.#evens) return
    const apart = now + wait * 1000 - this.#horizon.lastAt
    if (apart * policy.limit > 2 * mostOf(cost) * policy.window * 1000) this.#othersUntil = now + othersFor
    this.#trip = now - sent
    this.keep()
  }

  /** Keeps the slots for a moment longer, because a call uses one of them, or waits for another one. */
  keep(): void {
    const { now } = this.#queue
    this.#keptUntil = now + this.#trip + (now < this.#othersUntil ? besideOthers : alone)
  }

  /** Gives the slots (start times) back that no waiter needs: now, or later if the next call may use them. */
  readonly plan = (): void => {
    if (!this.#booked.hasSpares) return
    const { context, now } = this.#queue
    context.scheduler.remove(this.#next)
    const { first } = this.#unbooked
    if (this.#keptUntil <= now && first !== undefined) {
      this.giveBackFor(first)
      if (!this.#evens) return
      this.keep()
    }
    if (this.#keptUntil > now) this.#next = context.scheduler.at(this.#keptUntil, this.plan)
    else {
      this.giveBack()
      this.#queue.settled()
    }
  }

  /** Gives the slots (start times) back that no waiter needs now, and those of the next calls that leave, until a call waits again. */
  flush(): void {
    this.#keptUntil = 0
    this.giveBack()
    this.#queue.settled()
  }

  /** Gives the last slots (start times) back that no waiter needs, so that a new waiter gets an earlier one. */
  giveBackFor({ size }: Waiter): void {
    const { context, now } = this.#queue
    const isAlone = this.#evens && now >= this.#othersUntil
    this.giveBack(size, isAlone ? now : now + 2 * context.horizon)
  }

  /** Gives the slots (start times) back that no waiter needs. @param size only the last ones that a waiter of this size cannot use */
  giveBack(size?: Size, after?: number): void {
    const spares = this.#booked.hasSpares ? this.#booked.takeSpares(size, after) : []
    if (spares.length === 0) return
    for (const slot of spares) this.#giveBack(slot)
    this.#horizon.cancel()
    if (!this.#queue.stopped) this.#queue.restart()
  }

  /** Called when the queue gives all its slots (start times) back. */
  stop(): void {
    this.#queue.context.scheduler.remove(this.#next)
    this.#booked.takeSpares()
  }
}
