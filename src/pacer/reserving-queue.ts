/*
 * The queue where the store can promise a future time: every call books its turn when it comes.
 *
 * So the wait is known at once, over a fleet too, and nothing is asked again. Turns belong to nobody. Of those who wait
 * with the same cost the first (by priority, then by coming) takes the turn that is due. When one gives up, those behind
 * move up, and the last turn is what is given back: nothing is lost to those who stay.
 *
 *     turns of cost 1    |200    |400    |600    |800           B leaves: C moves up to 400, D to 600,
 *     who waits           A       B       C       D             and the turn at 800 goes back
 *
 * Turns of different costs are not exchanged: nothing would be as promised any more. There the priority decides only
 * among equals, and when one gives up, all that was booked behind its turn is given back and booked anew, which is never
 * later. Where others may book as well (a fleet, reservations) nothing that is promised can be moved: who waits for the
 * same cost moves up, and of the last turn goes back what nobody behind it was promised.
 */

import type { MaybePromise } from '../maybe-promise.ts'
import type { Booking } from '../stores/store.ts'
import type { Place } from './place.ts'
import { PriorityQueue } from './priority-queue.ts'
import type { Queue } from './queue.ts'
import { QueuesByCost } from './queues-by-cost.ts'
import { type Lot, Slot, Slots } from './slot.ts'
import type { Waiter } from './waiter.ts'

export class ReservingQueue implements Queue {
  readonly #lane: Place
  readonly #turns = new Slots()
  readonly #lines = new QueuesByCost()
  /** Whether those behind somebody who left are yet to move up. */
  #closing = false
  /** That of the turns booked last. */
  #lot: Lot | undefined
  /** Who has none yet. */
  readonly #line = new PriorityQueue()

  constructor(lane: Place) {
    this.#lane = lane
  }

  /** Whether all turns are past and nobody waits. */
  get empty(): boolean {
    this.#turns.prune(this.#lane.now)
    return this.#turns.first === undefined && this.#line.first === undefined
  }

  seek(waiter: Waiter): void {
    if (this.#lane.stopped) this.#wait(waiter)
    else this.#book(waiter)
  }

  #wait(waiter: Waiter): void {
    if (!this.#lane.mayWait(waiter)) return
    waiter.stage = 'line'
    this.#line.add(waiter)
  }

  #book(waiter: Waiter): void {
    const lane = this.#lane
    waiter.stage = 'asking'
    const { generation } = lane.shop.bank
    const answer = lane.shop.bank.reserve(lane.keys, waiter.cost, lane.patience(waiter))
    if (answer instanceof Promise) this.#await(waiter, answer, generation)
    else this.#booked(waiter, answer, generation)
  }

  #await(waiter: Waiter, answer: Promise<Booking>, generation: number): void {
    const lane = this.#lane
    lane.asking++
    answer.then(
      (booking) => {
        lane.asking--
        this.#booked(waiter, booking, generation)
        lane.settled()
      },
      (error) => {
        lane.asking--
        if (waiter.stage === 'asking') lane.refuse(waiter, error)
        lane.settled()
      },
    )
  }

  #booked(waiter: Waiter, { decision, wait, tickets }: Booking, generation: number): void {
    const lane = this.#lane
    const here = waiter.stage === 'asking'
    if (!decision.allowed) {
      if (here) lane.refuseFor(waiter, decision)
    } else if (wait === 0 && here && !lane.stopped && this.#turns.first === undefined) {
      lane.admit(waiter)
    } else {
      const turn = new Slot(this.#lotOf(waiter.cost, generation), tickets, lane.now + wait * 1000)
      this.#turns.add(turn)
      this.#keep(waiter, turn, here)
      if (wait === 0 && waiter.stage === 'booked') lane.shop.agenda.run()
    }
  }

  #lotOf(cost: number, generation: number): Lot {
    const lot = this.#lot
    if (lot !== undefined && lot.cost === cost && lot.generation === generation) return lot
    this.#lot = { cost, generation, reserved: false, come: this.#come }
    return this.#lot
  }

  /** Has the waiter wait for a turn like the one booked for it, or gives that back. */
  #keep(waiter: Waiter, turn: Slot, here: boolean): void {
    const lane = this.#lane
    if (!here || lane.stopped || lane.full(waiter)) {
      this.giveBack(turn, waiter.cost)
      if (here) this.#wait(waiter)
      return
    }
    waiter.stage = 'booked'
    this.#lines.add(waiter)
    lane.shop.agenda.add(turn, turn.at)
    lane.queue(waiter)
  }

  readonly #come = (turn: Slot): void => {
    this.#turns.remove(turn)
    const waiter = this.#lines.take(turn.lot.cost)
    if (waiter !== undefined) this.#lane.admit(waiter)
  }

  leave(waiter: Waiter): void {
    if (waiter.stage === 'line') this.#line.remove(waiter)
    if (waiter.stage !== 'booked') return
    if (this.#closing) return
    if (this.#lines.mixed && this.#movable) {
      this.#closing = true
      queueMicrotask(() => this.#closeUp())
      return
    }
    this.#lines.remove(waiter)
    const turn = this.#turns.lastOf(waiter.cost)
    if (turn === undefined) return
    this.#lane.shop.agenda.remove(turn)
    this.giveBack(turn, turn.lot.cost)
  }

  /** Whether all turns can be given back and booked anew with nobody the worse for it. */
  get #movable(): boolean {
    const { bank } = this.#lane.shop
    return bank.exclusive && this.#turns.reserved === 0 && this.#turns.first?.lot.generation === bank.generation
  }

  /**
   * Where turns differ in cost those who left are still in their lines: once for all of them, what was booked behind their
   * turns is given back and booked anew.
   */
  #closeUp(): void {
    this.#closing = false
    const { shop } = this.#lane
    const vacant = this.#lines.vacant(this.#turns)
    const behind: Slot[] = []
    const movable = this.#movable
    for (let turn = this.#turns.last; turn !== undefined && vacant.size > 0; ) {
      const { before } = turn
      const stays = !vacant.delete(turn)
      if (stays && movable) behind.push(turn)
      if (!stays || movable) {
        shop.agenda.remove(turn)
        this.giveBack(turn, turn.lot.cost)
      }
      turn = before
    }
    for (const turn of behind.reverse()) this.#rebook(turn)
    shop.agenda.run()
    this.#lane.settled()
  }

  /** No later than it was promised. */
  #rebook(turn: Slot): void {
    const { shop, keys, now } = this.#lane
    const { decision, wait, tickets } = shop.bank.reserve(keys, turn.lot.cost, Infinity) as Booking
    const next = new Slot(turn.lot, tickets, decision.allowed ? Math.min(turn.at, now + wait * 1000) : turn.at)
    this.#turns.add(next)
    shop.agenda.add(next, next.at)
  }

  /** Books for oneself: the wait is the caller's. */
  reserved(turn: Slot): void {
    this.#turns.prune(this.#lane.now)
    if (turn.at > this.#lane.now) this.#turns.add(turn)
  }

  retuned(): void {
    this.#turns.prune(this.#lane.now)
    let until = 0
    for (let turn = this.#turns.first; turn !== undefined; turn = turn.after) until = Math.max(until, turn.at)
    if (until > 0) this.#lane.shop.bank.cover(this.#lane.keys, until)
  }

  /**
   * The last turn that is still to come can be given back whole, if nobody else books. Of any other only what was not
   * promised to those who came later: the rule of golang.org/x/time/rate.
   */
  giveBack(turn: Slot, units: number): MaybePromise<unknown> {
    const { bank } = this.#lane.shop
    const whole = bank.exclusive && this.#turns.last === turn && turn.at > this.#lane.now
    if (units === turn.lot.cost) this.#turns.remove(turn)
    if (!whole && turn.tickets === undefined) return undefined
    return bank.refund(this.#lane.keys, units, whole ? undefined : turn.tickets, turn.lot.generation)
  }

  /** Gives every turn back, the last one first, so that each is the last: a turn that passes unused is not made up for. */
  stop(): void {
    for (let turn = this.#turns.last; turn !== undefined; ) {
      const { before } = turn
      if (!turn.lot.reserved) {
        this.#lane.shop.agenda.remove(turn)
        this.giveBack(turn, turn.lot.cost)
      }
      turn = before
    }
    for (const waiter of this.#lines.clear()) {
      waiter.stage = 'line'
      this.#line.add(waiter)
    }
  }

  go(): void {
    for (let waiter = this.#line.shift(); waiter !== undefined; waiter = this.#line.shift()) this.#book(waiter)
  }
}
