/*
 * Moves slots (booked start times) of different costs to earlier times when waiters leave, on a store that no other process can reach.
 *
 * The first vacant slot and all later slots are given back, and the slots that are still needed are booked again, at the same time or at
 * an earlier time.
 */
import type { Booking } from '../../stores/contract/index.ts'
import { delayOf } from '../pacer-ledger.ts'
import { type PacerSlots, Slot } from './booked-slot.ts'
import type { Queue } from './queue.ts'

export class SlotCompaction {
  readonly #queue: Queue
  readonly #booked: PacerSlots
  readonly #cancel: (slot: Slot) => void
  readonly #onDue: (slot: Slot) => void
  /** When the last slot starts that was booked before the latest change of the rate. Until then, no slot moves to an earlier time. */
  #keptUntil = 0
  /** True between the moment when a waiter leaves and the moment when the waiters behind it get earlier slots (start times). */
  #planned = false

  /** @param cancel gives a slot back @param onDue is called at the time of a slot that was booked again */
  constructor(queue: Queue, booked: PacerSlots, cancel: (slot: Slot) => void, onDue: (slot: Slot) => void) {
    this.#queue = queue
    this.#booked = booked
    this.#cancel = cancel
    this.#onDue = onDue
  }

  /**
   * Called before a booked waiter leaves. Returns true if its slot will be filled soon, together with those of other waiters that leave
   * now. The waiters that left stay in their queues until then.
   */
  plan(): boolean {
    if (this.#planned) return true
    if (this.#booked.waiters.size <= 1 || !this.#movable) return false
    this.#planned = true
    queueMicrotask(() => this.#run())
    return true
  }

  rateChanged(): void {
    this.#keptUntil = this.#booked.list.last?.at ?? 0
  }

  /**
   * True if all slots (booked start times) can be given back and booked again without a later time for any waiter. This needs that no other
   * process and no reservation books too, and that the rate has not changed since the first slot was booked.
   */
  get #movable(): boolean {
    const { context, reserved, now } = this.#queue
    if (!context.units.exclusive || reserved.prune(now).first !== undefined) return false
    return (this.#booked.list.first?.at ?? 0) > this.#keptUntil
  }

  #run(): void {
    this.#planned = false
    const vacant = this.#booked.vacate()
    const slots = [...this.#booked.list]
    const first = slots.findIndex((slot) => vacant.has(slot))
    const given = this.#movable && first >= 0 ? slots.slice(first) : [...vacant]
    for (const slot of given.toReversed()) this.#cancel(slot)
    for (const slot of given) if (!vacant.has(slot)) this.#rebook(slot)
    this.#queue.context.scheduler.run()
    this.#queue.settled()
  }

  /** Books a slot (start time) again, at the same time or at an earlier time. */
  #rebook(slot: Slot): void {
    const { context, keys, now } = this.#queue
    const booking = context.units.reserve(keys, slot.cost, Infinity) as Booking
    const at = booking.decision.allowed ? Math.min(slot.at, now + delayOf(booking)) : slot.at
    const next = new Slot(slot.cost, booking.tickets, this.#onDue)
    this.#booked.list.add(next)
    context.scheduler.add(next, at)
  }
}
