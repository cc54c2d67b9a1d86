/*
 * The queue for policies that can promise a future time. A slot (start time) is booked for every call when the call comes.
 *
 * So the wait of a call is known from the beginning, also with several processes. Each call needs one request to the store. A slot is not
 * assigned to a waiter: see src/common/slots.ts. When the time of a slot has come, the first waiter with the cost of the slot uses the
 * slot. Waiters are ordered by priority, and then by the time at which they came.
 *
 * Slots of different costs cannot be exchanged without breaking a promise. So priority decides only among calls of equal cost. When a
 * waiter gives up, all slots after the slot of this waiter are given back and booked again, never at a later time. If other processes or
 * reservations may book too, no promised slot can move. The next waiters of the same cost then use the earlier slots, and the last slot of
 * that cost is given back.
 */
import type { Tickets } from '../../algorithms/evaluation/index.ts'
import { isPromise } from '../../common/index.ts'
import type { Source } from '../../policy/index.ts'
import type { Booking } from '../../stores/contract/index.ts'
import type { PacerContext } from '../pacer-context.ts'
import { delayOf } from '../pacer-ledger.ts'
import { PacerSlots, Slot } from './booked-slot.ts'
import { BookingHorizon } from './booking-horizon.ts'
import { HoldCheck } from './hold-check.ts'
import { LateSlots } from './late-slots.ts'
import { PriorityQueue } from './priority-queue.ts'
import { Queue } from './queue.ts'
import { obeyHold } from './shared-hold.ts'
import type { Waiter } from './waiter.ts'

export class ReservingQueue extends Queue {
  /**
   * Waiters without a slot (start time), because the queue is stopped, or because their slots would be later than the horizon (the latest
   * time for which slots are booked).
   */
  readonly #unbooked = new PriorityQueue()
  /** Waiters for which the store has not answered yet. */
  readonly #requested = new PriorityQueue()
  /** The booked slots, and the waiters for these slots. */
  readonly #booked = new PacerSlots()
  readonly #horizon: BookingHorizon
  /**
   * Slots (booked start times) whose time has come but whose waiters must not start yet, because earlier calls started late. Undefined
   * if `spacing` is `'booked'` and the store cannot fail.
   */
  readonly #late: LateSlots | undefined
  /** Asks whether another process holds the key, before calls start at their slots. Undefined if no other process can hold the key. */
  readonly #check: HoldCheck | undefined
  readonly #onDue: (slot: Slot) => void
  /** When the last slot starts that was booked before the latest change of the rate. Until then, no slot moves to an earlier time. */
  #keptUntil = 0
  /** True between the moment when a waiter leaves and the moment when the waiters behind it get earlier slots (start times). */
  #closingUp = false

  constructor(context: PacerContext, key: string) {
    super(context, key)
    this.#late = this.spacing && new LateSlots(this, this.spacing, this.#go, () => this.#check)
    const start = this.#late ? this.#start : this.#go
    this.#check = context.units.exclusive ? undefined : new HoldCheck(this, this.#booked.list, start, this.#answered)
    this.#onDue = this.#check?.add ?? start
    const catchesUp = () => this.#check?.answers === true && this.#behind && !this.spacing?.keepsBooked
    this.#horizon = new BookingHorizon(this, this.#booked.list, () => this.restart(), catchesUp)
  }

  protected get empty(): boolean {
    return this.#booked.list.first === undefined && this.#unbooked.first === undefined
  }

  protected get unanswered(): Iterable<Waiter> {
    return [...this.#requested, ...this.#horizon.undecided]
  }

  protected add(waiter: Waiter): void {
    const { stopped } = this
    const books = !stopped && this.#horizon.admits(waiter, this.#unbooked.first !== undefined)
    if (books) this.#book(waiter)
    else this.#wait(waiter)
    if (this.stopped || waiter.stage !== 'queued') return
    if (!books && !stopped) this.#horizon.schedule()
    else this.restart() // a hold has ended meanwhile
  }

  #wait(waiter: Waiter): void {
    if (!(!this.stopped && this.#horizon.defers(waiter)) && !this.wait(waiter)) return
    waiter.stage = 'queued'
    this.#unbooked.add(waiter)
  }

  #book(waiter: Waiter): void {
    waiter.stage = 'requesting'
    const sent = this.#check && this.now
    const maxWait = this.#booked.maxWaitFor(waiter, this.maxWaitOf(waiter), this.now)
    const booking = this.context.units.reserve(this.keys, waiter.cost, maxWait)
    if (!isPromise(booking)) {
      this.#decided(waiter, booking, maxWait)
      return
    }
    this.#horizon.started(waiter)
    this.#requested.add(waiter)
    const answered = (act: () => void) => {
      this.#horizon.ended(waiter)
      this.#requested.remove(waiter)
      act()
      this.restart()
    }
    this.request(
      booking,
      (booked) =>
        answered(() => {
          if (sent !== undefined && booked.decision.ban === undefined) this.#check?.answered(sent, booked.decision)
          this.#decided(waiter, booked, maxWait)
        }),
      (error) => answered(() => waiter.stage === 'requesting' && this.refuse(waiter, error)),
    )
  }

  /** Counts a call that was undecided as waiting, or refuses it. */
  readonly #count = (waiter: Waiter): void => {
    const refusal = this.waitRefusal(waiter)
    if (refusal === undefined) this.countWaiting(waiter)
    else this.leave(waiter, refusal)
  }

  /** Books slots (start times) for waiters that have no slot, as many as fit before the horizon (the latest time for slots). */
  restart(): void {
    // The answer to each booking may be that another process has stopped the key.
    while (!this.stopped && this.#unbooked.first && this.#horizon.hasRoom) this.#book(this.#unbooked.shift() as Waiter)
    if (this.stopped) return
    this.#horizon.decide(this.#count)
    if (this.#unbooked.first !== undefined) this.#horizon.schedule()
  }

  /** Notes whether the store fails. While the store fails, this process keeps its part of the policies: see run-spacing.ts. */
  readonly #answered = (source: Source | undefined): void => {
    if (this.spacing !== undefined && source !== 'open') this.spacing.storeFails = source !== 'store' || this.#behind
  }

  /** True after a failure of the store, while calls are late or have slots (start times) that this process has booked by itself. */
  get #behind(): boolean {
    if (!this.spacing?.storeFails) return false
    if (this.#late?.empty === false) return true
    for (const { local } of this.#booked.list) if (local) return true
    return false
  }

  #decided(waiter: Waiter, booking: Booking, maxWait: number): void {
    const { decision, wait, tickets } = booking
    const here = waiter.stage === 'requesting'
    this.#horizon.answered(booking)
    if (!decision.allowed) {
      // A place in a full queue may have become free while the store was asked.
      const hasPlace = maxWait === 0 && decision.retryAfter < Infinity && this.maxWaitOf(waiter) > 0
      const waits = obeyHold(this, decision) || hasPlace
      if (here && waits) this.#wait(waiter)
      else if (here) this.refuseBy(decision, waiter)
    } else if (!here || this.stopped) {
      this.#giveBack(tickets)
      if (here) this.#wait(waiter)
    } else if (
      wait === 0 &&
      this.#booked.list.first === undefined &&
      this.spacing?.refusal(waiter.cost) === undefined
    ) {
      this.spacing?.startLocally(waiter.cost)
      this.admit(waiter)
    } else if (this.full(waiter)) {
      this.#giveBack(tickets)
      this.#wait(waiter)
    } else {
      waiter.stage = 'booked'
      const slot = new Slot(waiter.cost, tickets, this.#onDue)
      this.#booked.add(slot, waiter)
      const at = this.now + delayOf(booking)
      slot.local = decision.source === 'fallback'
      this.context.scheduler.add(slot, at)
      this.#check?.schedule()
      this.countWaiting(waiter)
      if (wait === 0 && waiter.stage === 'booked') this.context.scheduler.run()
    }
  }

  /** Called at the time of a slot (booked units). Lets the call start, unless it would come too soon after other calls. */
  readonly #start = (slot: Slot): void => {
    if (!slot.local && this.spacing?.storeFails && this.spacing.keepsBooked) this.#go(slot)
    else this.#late?.add(slot)
  }

  /** Called at the time of a slot (booked units): the first waiter that still waits uses the slot. */
  readonly #go = (slot: Slot): void => {
    this.#booked.list.remove(slot)
    let waiter = this.#booked.shift(slot.size)
    while (waiter?.stage === 'done') waiter = this.#booked.shift(slot.size)
    if (waiter !== undefined) this.admit(waiter)
    if (!this.spacing?.storeFails || !this.#check?.answers || this.#behind) return
    this.spacing.storeFails = false
    this.restart()
  }

  protected resume(): void {
    this.#late?.resume()
  }

  protected remove(waiter: Waiter): void {
    if (waiter.stage === 'queued') this.#unbooked.remove(waiter)
    if (this.#unbooked.first === undefined) this.#horizon.cancel()
    if (waiter.stage !== 'booked' || this.#closingUp) return
    if (this.#booked.waiters.size > 1 && this.#movable) {
      this.#closingUp = true
      queueMicrotask(() => this.#closeUp())
      return
    }
    this.#booked.remove(waiter)
    const slot = this.#booked.last(waiter.size)
    if (slot !== undefined) this.#cancel(slot)
  }

  /**
   * True if all slots (booked start times) can be given back and booked again without a later time for any waiter. This needs that no other
   * process and no reservation books too, and that the rate has not changed since the first slot was booked.
   */
  get #movable(): boolean {
    if (!this.context.units.exclusive || this.reserved.prune(this.now).first !== undefined) return false
    return (this.#booked.list.first?.at ?? 0) > this.#keptUntil
  }

  /**
   * Fills the slots (booked start times) of waiters that left, if the waiters have different costs. If the slots are movable, the first
   * vacant slot and all later slots are given back, and the slots that are still needed are booked again, at the same time or at an earlier
   * time. Otherwise, only the vacant slots are given back. The waiters that left are still in their queues.
   */
  #closeUp(): void {
    this.#closingUp = false
    const vacant = this.#booked.vacate()
    const slots = [...this.#booked.list]
    const first = slots.findIndex((slot) => vacant.has(slot))
    const given = this.#movable && first >= 0 ? slots.slice(first) : [...vacant]
    for (const slot of given.toReversed()) this.#cancel(slot)
    for (const slot of given) if (!vacant.has(slot)) this.#rebook(slot)
    this.context.scheduler.run()
    this.settled()
  }

  /** Books a slot (start time) again, at the same time or at an earlier time. */
  #rebook(slot: Slot): void {
    const booking = this.context.units.reserve(this.keys, slot.cost, Infinity) as Booking
    const at = booking.decision.allowed ? Math.min(slot.at, this.now + delayOf(booking)) : slot.at
    const next = new Slot(slot.cost, booking.tickets, this.#onDue)
    this.#booked.list.add(next)
    this.context.scheduler.add(next, at)
  }

  #cancel(slot: Slot): void {
    this.#booked.list.remove(slot)
    this.context.scheduler.remove(slot)
    this.#check?.remove(slot)
    this.#late?.remove(slot)
    this.#giveBack(slot.tickets)
  }

  #giveBack(tickets: Tickets | undefined): void {
    void this.context.units.giveBack(this.keys, tickets)
  }

  /** Gives all slots (booked units) back, the last one first: limiters like Guava's give units back in full only for the last booking. */
  stop(): void {
    this.#horizon.decide(this.#count, true)
    this.#horizon.cancel()
    this.#check?.cancel()
    for (const slot of [...this.#booked.list].reverse()) this.#cancel(slot)
    for (const waiter of [...this.#booked.waiters.values()].flatMap((queue) => [...queue])) {
      this.#booked.remove(waiter)
      if (waiter.stage === 'done') continue
      waiter.stage = 'queued'
      this.#unbooked.add(waiter)
    }
  }

  rateChanged(): void {
    this.#late?.resume()
    this.#keptUntil = this.#booked.list.last?.at ?? 0
  }
}
