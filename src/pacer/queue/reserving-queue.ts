/*
 * The queue for policies that can promise a future time. A slot (start time) is booked for every call when the call comes. So the wait of a
 * call is known from the beginning, also with several processes. Each call needs one request to the store.
 * A slot is not assigned to a waiter: see src/common/slots.ts. The first waiter with the cost of a slot uses the slot, by priority, and then
 * by the time at which the waiters came. Slots of different costs cannot be exchanged without breaking a promise.
 *
 * When a waiter gives up, the next waiters of its cost use the earlier slots, and the last slot of that cost is spare: see spare-return.ts.
 * If nobody else can book slots, all later slots move instead: see slot-compaction.ts.
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
import { SlotCompaction } from './slot-compaction.ts'
import { SpareReturn } from './spare-return.ts'
import type { Waiter } from './waiter.ts'

export class ReservingQueue extends Queue {
  /** Waiters without a slot (start time), because the queue is stopped, or because their slots would be later than the horizon. */
  readonly #unbooked = new PriorityQueue()
  /** Waiters for which the store has not answered yet. */
  readonly #requested = new PriorityQueue()
  readonly #booked: PacerSlots
  readonly #horizon: BookingHorizon
  /** Slots (start times) that have passed while earlier calls are late. Undefined with `spacing: 'booked'` and a store that cannot fail. */
  readonly #late: LateSlots | undefined
  /** Asks whether another process holds the key, before calls start at their slots. Undefined if no other process can hold the key. */
  readonly #check: HoldCheck | undefined
  readonly #onDue: (slot: Slot) => void
  readonly #compaction: SlotCompaction
  readonly #spares: SpareReturn

  constructor(context: PacerContext, key: string) {
    super(context, key)
    this.#booked = new PacerSlots(context.units.policies.some(({ algorithm }) => algorithm.paysLater))
    this.#late = this.spacing && new LateSlots(this, this.spacing, this.#go, () => this.#check)
    const start = this.#late ? this.#start : this.#go
    this.#check = context.units.exclusive ? undefined : new HoldCheck(this, this.#booked.list, start, this.#answered)
    this.#onDue = this.#check?.add ?? start
    this.#compaction = new SlotCompaction(this, this.#booked, this.#cancel, this.#onDue)
    const catchesUp = () => this.#check?.answers === true && this.#behind && !this.spacing?.keepsBooked
    this.#horizon = new BookingHorizon(this, this.#booked.list, () => this.restart(), catchesUp)
    this.#spares = new SpareReturn(this, this.#booked, this.#unbooked, this.#horizon, this.#cancel)
  }

  protected get empty(): boolean {
    return this.#booked.list.first === undefined && this.#unbooked.first === undefined
  }

  protected get unanswered(): Iterable<Waiter> {
    return [...this.#requested, ...this.#horizon.undecided]
  }

  protected add(waiter: Waiter): void {
    const { stopped } = this
    this.#spares.giveBackFor(waiter)
    if (waiter.stage === 'done') return // other calls began to wait, and this one was the oldest
    const ahead = this.#unbooked.first
    if (!stopped && (ahead?.priority ?? -Infinity) < waiter.priority && this.#useSpare(waiter)) return
    const books = !stopped && this.#horizon.admits(waiter, ahead !== undefined)
    if (books) this.#book(waiter)
    else if (stopped || !this.#overtake(waiter)) this.#wait(waiter)
    if (this.stopped || waiter.stage !== 'queued') return
    if (!books && !stopped) this.#horizon.schedule()
    else this.restart() // a hold has ended meanwhile
  }

  #wait(waiter: Waiter): void {
    const deferred = !this.stopped && this.#horizon.defers(waiter)
    waiter.stage = 'queued'
    this.#unbooked.add(waiter)
    if (!deferred) this.#count(waiter)
  }

  #book(waiter: Waiter): void {
    waiter.stage = 'requesting'
    waiter.asked = true
    const sent = this.#check && this.now
    const maxWait = this.#booked.maxWaitFor(waiter, this.maxWaitOf(waiter), this.now)
    const booking = this.context.units.reserve(this.keys, waiter.cost, maxWait)
    if (!isPromise(booking)) {
      this.#decided(waiter, booking, maxWait, sent)
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
          this.#decided(waiter, booked, maxWait, sent)
        }),
      (error) => answered(() => waiter.stage === 'requesting' && this.refuse(waiter, error)),
    )
  }

  /** Counts a call as waiting, or refuses it. If the oldest call has to leave then, the counted call may use its slot (start time). */
  readonly #count = (waiter: Waiter): void => {
    const refusal = this.waitRefusal(waiter)
    if (refusal === undefined) this.countWaiting(waiter)
    else this.leave(waiter, refusal)
  }

  restart(): void {
    this.#bookNext()
    if (this.stopped) return
    if (this.#horizon.decide(this.#count)) this.#bookNext()
    if (this.#unbooked.first !== undefined) this.#horizon.schedule()
  }

  /** Books slots (start times) for waiters without a slot, up to the horizon. Each answer may be that another process holds the key. */
  #bookNext(): void {
    for (let { first } = this.#unbooked; first !== undefined && !this.stopped; first = this.#unbooked.first) {
      if (this.#useSpare(first)) continue
      if (!this.#horizon.hasRoom && this.#overtake(first)) continue
      if ((first.asked && this.full(first)) || !this.#horizon.hasRoom) break
      this.#unbooked.remove(first)
      this.#book(first)
    }
  }

  /** Notes whether the store fails. While the store fails, this process keeps its part of the policies: see run-spacing.ts. */
  readonly #answered = (source: Source | undefined): void => {
    if (this.spacing !== undefined && source !== 'open') this.spacing.storeFails = source !== 'store' || this.#behind
  }

  /** True after a failure of the store, while calls are late or have slots (start times) that this process has booked by itself. */
  get #behind(): boolean {
    if (!this.spacing?.storeFails) return false
    return this.#late?.empty === false || [...this.#booked.list].some(({ local }) => local)
  }

  #decided(waiter: Waiter, booking: Booking, maxWait: number, sent: number | undefined): void {
    const { decision, wait, tickets } = booking
    const here = waiter.stage === 'requesting'
    const first = here && wait === 0 && this.#booked.waiters.size === 0 && !waiter.yieldsTo(this.#unbooked.first)
    this.#horizon.answered(booking)
    if (!decision.allowed) {
      // A place in a full queue may have become free while the store was asked.
      const hasPlace = maxWait === 0 && decision.retryAfter < Infinity && this.maxWaitOf(waiter) > 0
      const waits = obeyHold(this, decision) || hasPlace // a hold may refuse the oldest call
      if (waits && waiter.stage === 'requesting') this.#wait(waiter)
      else if (!waits && here) this.refuseBy(decision, waiter)
    } else if (this.stopped) {
      this.#giveBack(tickets)
      if (here) this.#wait(waiter)
    } else if (first && this.spacing?.refusal(waiter.cost) === undefined) {
      this.spacing?.startLocally(waiter.cost)
      this.admit(waiter)
    } else {
      this.#spares.booked(booking, waiter, sent)
      const slot = new Slot(waiter.cost, tickets, this.#onDue)
      this.#booked.addSpare(slot)
      slot.local = decision.source === 'fallback'
      this.context.scheduler.add(slot, this.now + delayOf(booking))
      this.#check?.schedule()
      // An overtaken call may have lost its slot while the store was asked.
      if (here && (this.full(waiter) || waiter.yieldsTo(this.#unbooked.first))) this.#wait(waiter)
      else if (here) this.#useSlot(waiter)
      if (wait === 0) this.context.scheduler.run()
      this.#spares.plan()
    }
  }

  /** Lets a waiter use a spare slot (start time) of its cost, if it may wait so long. Not while the store fails, which has its own rules. */
  #useSpare(waiter: Waiter): boolean {
    const slot = this.#booked.firstSpare(waiter.size)
    if (slot === undefined || this.#check?.answers === false || slot.at - this.now > waiter.timeLeft) return false
    if (this.waitRefusal(waiter)) return false
    this.#spares.keep()
    this.#useSlot(waiter)
    return true
  }

  /** Lets a waiter use the slot (start time) of a waiter of lower priority, which then waits without a slot. False if there is none. */
  #overtake(waiter: Waiter): boolean {
    const last = this.#booked.waiters.get(waiter.size)?.last
    const asks = (this.#requested.first?.priority ?? -Infinity) >= waiter.priority
    if (!last || last.priority >= waiter.priority || asks || this.waitRefusal(waiter)) return false
    this.#booked.leave(last)
    last.stage = 'queued'
    this.#unbooked.add(last)
    this.#useSlot(waiter)
    this.#horizon.schedule()
    return true
  }

  #useSlot(waiter: Waiter): void {
    if (waiter.stage === 'queued') this.#unbooked.remove(waiter)
    waiter.stage = 'booked'
    this.#booked.useSpare(waiter)
    this.countWaiting(waiter)
  }

  /** Called at the time of a slot (booked units). Lets the call start, unless it would come too soon after other calls. */
  readonly #start = (slot: Slot): void => {
    if (!slot.local && this.spacing?.storeFails && this.spacing.keepsBooked) this.#go(slot)
    else this.#late?.add(slot)
  }

  /** Called at the time of a slot (booked units): the first waiter of its cost uses the slot, or others that fit into it. */
  readonly #go = (slot: Slot): void => {
    const waiters = this.#booked.use(slot, this.#check?.answers ? this.#unbooked : undefined)
    for (const waiter of waiters) {
      if (waiter.stage === 'queued') this.#unbooked.remove(waiter)
      else this.#booked.leave(waiter)
      if (waiter.stage !== 'done') this.admit(waiter)
    }
    if (waiters[0]?.size !== slot.size) this.#giveBack(slot.tickets, waiters)
    this.settled()
    if (!this.spacing?.storeFails || !this.#check?.answers || this.#behind) return
    this.spacing.storeFails = false
    this.restart()
  }

  protected resume(): void {
    this.#late?.resume()
  }

  protected remove(waiter: Waiter): void {
    if (waiter.stage === 'queued') this.#unbooked.remove(waiter)
    const next = this.#unbooked.first
    if (next === undefined) this.#horizon.cancel()
    if (waiter.stage === 'booked' && !this.#compaction.plan()) {
      this.#booked.leave(waiter)
      if (next?.waits) this.#useSpare(next)
    }
    this.#spares.plan()
  }

  readonly #cancel = (slot: Slot): void => {
    this.#booked.list.remove(slot)
    this.context.scheduler.remove(slot)
    this.#check?.remove(slot)
    this.#late?.remove(slot)
    this.#giveBack(slot.tickets)
  }

  #giveBack(tickets: Tickets | undefined, users: readonly Waiter[] = []): void {
    void this.context.units.giveBack(this.keys, tickets, users)
  }

  /** Gives all slots (booked units) back, the last one first: limiters like Guava's give units back in full only for the last booking. */
  stop(): void {
    this.#horizon.decide(this.#count, true)
    this.#horizon.cancel()
    this.#check?.cancel()
    this.#spares.stop()
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
    this.#spares.flush()
    this.#compaction.rateChanged()
  }
}
