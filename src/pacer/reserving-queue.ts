/*
 * The queue for policies that can promise a future time: every call books its slot when it comes.
 *
 * So the wait is known at once, also in a fleet, and each call takes one request to the store. A slot belongs to no
 * waiter: when it is due, the first waiter of that cost uses it (by priority, then by order). When a waiter gives up, the
 * waiters behind it move up and the last slot is given back, so no permit is lost.
 *
 *     slots of cost 1    |200    |400    |600    |800           B leaves: C moves up to 400, D to 600,
 *     waiters             A       B       C       D             and the slot at 800 is given back
 *
 * Slots of different costs cannot be exchanged without breaking a promise. There, priority decides among equal costs only.
 * When a waiter gives up, all slots behind its own are given back and booked again, which is never later. Where others may
 * book too (a fleet, reservations), no promised slot can move. Waiters of the same cost move up, and the last slot of that
 * cost is given back.
 */
import { isPromise } from '../maybe-promise.ts'
import type { Booking } from '../stores/command.ts'
import { BookingHorizon } from './booking-horizon.ts'
import { LateSlots } from './late-slots.ts'
import { delayOf } from './permits.ts'
import { PriorityQueue } from './priority-queue.ts'
import type { Queue, QueueOwner } from './queue.ts'
import { QueuesByCost } from './queues-by-cost.ts'
import { Slot, SlotList } from './slot.ts'
import type { Waiter } from './waiter.ts'

export class ReservingQueue implements Queue {
  readonly #owner: QueueOwner
  /** Waiters without a slot: the queue is stopped, or they are behind the horizon. */
  readonly #unbooked = new PriorityQueue()
  readonly #booked = new QueuesByCost()
  readonly #slots = new SlotList()
  readonly #horizon: BookingHorizon
  /** Only if calls are spaced by when they really went. */
  readonly #late: LateSlots | undefined
  /** The time of the last slot that was booked before the rate was set. */
  #keptUntil = 0
  /** True from when a waiter left until those behind it have moved up. */
  #closingUp = false

  constructor(owner: QueueOwner) {
    this.#owner = owner
    this.#horizon = new BookingHorizon(owner, this.#slots, () => this.#fill())
    const { spacing } = owner
    this.#late = spacing && new LateSlots(owner, spacing, (slot) => this.#go(slot))
  }

  get empty(): boolean {
    this.#slots.prune(this.#owner.now)
    return this.#slots.first === undefined && this.#unbooked.first === undefined
  }

  add(waiter: Waiter): void {
    if (!this.#owner.stopped && this.#horizon.admits(waiter, this.#unbooked.first !== undefined)) {
      this.#book(waiter)
      return
    }
    this.#wait(waiter)
    if (!this.#owner.stopped) this.#horizon.schedule()
  }

  #wait(waiter: Waiter): void {
    if (!this.#owner.wait(waiter)) return
    waiter.stage = 'queued'
    this.#unbooked.add(waiter)
  }

  #book(waiter: Waiter): void {
    const owner = this.#owner
    waiter.stage = 'requesting'
    const booking = owner.context.permits.reserve(owner.keys, waiter.cost, owner.maxWaitOf(waiter))
    if (isPromise(booking)) this.#await(waiter, booking)
    else this.#decided(waiter, booking)
  }

  #await(waiter: Waiter, booking: Promise<Booking>): void {
    const owner = this.#owner
    owner.pendingRequests++
    this.#horizon.started(waiter)
    const answered = (act: () => void) => {
      owner.pendingRequests--
      this.#horizon.ended(waiter)
      act()
      this.#fill()
      owner.settled()
    }
    booking.then(
      (booked) => answered(() => this.#decided(waiter, booked)),
      (error) => answered(() => waiter.stage === 'requesting' && owner.refuse(waiter, error)),
    )
  }

  /** Books slots for those that wait behind the horizon, as many as fit before it. */
  #fill(): void {
    if (this.#owner.stopped) return
    while (this.#unbooked.first !== undefined && this.#horizon.hasRoom) this.#book(this.#unbooked.shift() as Waiter)
    if (this.#unbooked.first !== undefined) this.#horizon.schedule()
  }

  #decided(waiter: Waiter, booking: Booking): void {
    const owner = this.#owner
    const { decision, wait, tickets } = booking
    const here = waiter.stage === 'requesting'
    this.#horizon.answered(booking)
    if (!decision.allowed) {
      if (here) owner.refuseBy(decision, waiter)
    } else if (wait === 0 && here && this.#mayGo(waiter)) {
      owner.admit(waiter)
    } else {
      const slot = new Slot(this.#slots.kindOf(waiter.cost, this.#onDue), tickets, owner.now + delayOf(booking))
      this.#slots.add(slot)
      this.#keep(slot, waiter, here)
      if (wait === 0 && waiter.stage === 'booked') owner.context.scheduler.run()
    }
  }

  /** True if a waiter whose slot is now needs no slot. */
  #mayGo({ cost }: Waiter): boolean {
    const { stopped, spacing } = this.#owner
    return !stopped && this.#slots.first === undefined && spacing?.refusal(cost) === undefined
  }

  /** Makes the waiter wait for a slot of its cost, or gives the slot back. */
  #keep(slot: Slot, waiter: Waiter, here: boolean): void {
    const owner = this.#owner
    if (!here || owner.stopped || owner.full(waiter)) {
      this.#giveBack(slot)
      if (here) this.#wait(waiter)
      return
    }
    waiter.stage = 'booked'
    this.#booked.add(waiter)
    owner.context.scheduler.add(slot, slot.at)
    owner.countWaiting(waiter)
  }

  readonly #onDue = (slot: Slot): void => {
    if (this.#late === undefined) this.#go(slot)
    else this.#late.add(slot)
  }

  #go(slot: Slot): void {
    this.#slots.remove(slot)
    const waiter = this.#booked.shift(slot.kind.cost)
    if (waiter !== undefined) this.#owner.admit(waiter)
  }

  resume(): void {
    this.#late?.resume()
  }

  leave(waiter: Waiter): void {
    if (waiter.stage === 'queued') this.#unbooked.remove(waiter)
    if (this.#unbooked.first === undefined) this.#horizon.cancel()
    if (waiter.stage !== 'booked' || this.#closingUp) return
    if (this.#booked.mixed && this.#movable) {
      this.#closingUp = true
      queueMicrotask(() => this.#closeUp())
      return
    }
    this.#booked.remove(waiter)
    const slot = this.#slots.lastOf(waiter.cost)
    if (slot !== undefined) this.#drop(slot)
  }

  /** True if all slots can be given back and booked again, and no waiter loses by it. */
  get #movable(): boolean {
    const { first, reserved } = this.#slots
    return this.#owner.context.permits.exclusive && reserved === 0 && (first?.at ?? 0) > this.#keptUntil
  }

  /**
   * Fills the slots of all waiters that left, if costs differ. These waiters are still in their queues. All slots behind
   * a vacant one are given back and booked again.
   */
  #closeUp(): void {
    this.#closingUp = false
    const vacant = this.#booked.vacant(this.#slots)
    const behind: Slot[] = []
    const movable = this.#movable
    for (let slot = this.#slots.last; slot !== undefined && vacant.size > 0; ) {
      const { before } = slot
      const kept = !vacant.delete(slot)
      if (kept && movable) behind.push(slot)
      if (!kept || movable) this.#drop(slot)
      slot = before
    }
    for (const slot of behind.reverse()) this.#rebook(slot)
    this.#owner.context.scheduler.run()
    this.#owner.settled()
  }

  /** Books a slot again, never later than before. */
  #rebook(slot: Slot): void {
    const { context, keys, now } = this.#owner
    const booking = context.permits.reserve(keys, slot.kind.cost, Infinity) as Booking
    const at = booking.decision.allowed ? Math.min(slot.at, now + delayOf(booking)) : slot.at
    const next = new Slot(slot.kind, booking.tickets, at)
    this.#slots.add(next)
    context.scheduler.add(next, next.at)
  }

  #drop(slot: Slot): void {
    this.#owner.context.scheduler.remove(slot)
    this.#late?.remove(slot)
    this.#giveBack(slot)
  }

  #giveBack(slot: Slot): void {
    const { context, keys } = this.#owner
    this.#slots.remove(slot)
    void context.permits.giveBack(keys, slot.tickets)
  }

  /** Gives the last slot back first: Guava's limiters take only that one back in full. */
  stop(): void {
    this.#horizon.cancel()
    for (let slot = this.#slots.last; slot !== undefined; ) {
      const { before } = slot
      if (!slot.kind.reserved) this.#drop(slot)
      slot = before
    }
    for (const waiter of this.#booked.clear()) {
      waiter.stage = 'queued'
      this.#unbooked.add(waiter)
    }
  }

  restart(): void {
    this.#fill()
  }

  addReserved(slot: Slot): void {
    this.#slots.prune(this.#owner.now)
    if (slot.at > this.#owner.now) this.#slots.add(slot)
  }

  removeReserved(slot: Slot): void {
    this.#slots.remove(slot)
  }

  /** Units in flight are never booked ahead. */
  freed(): void {}

  rateChanged(): void {
    this.#late?.resume()
    this.#keptUntil = this.#slots.last?.at ?? 0
  }
}
