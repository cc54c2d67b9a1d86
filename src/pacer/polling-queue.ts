/*
 * The queue where no future time can be promised: whoever is first asks, and asks again when the refusal says.
 *
 * Nobody overtakes the first, however small: what it waits for would go to others for ever. The store is asked one
 * question at a time, and not before the time that the last answer named.
 */

import type { MaybePromise } from '../maybe-promise.ts'
import type { Booking } from '../stores/store.ts'
import { Entry } from './entries.ts'
import type { Place } from './place.ts'
import { PriorityQueue } from './priority-queue.ts'
import type { Queue } from './queue.ts'
import type { Slot } from './slot.ts'
import type { Waiter } from './waiter.ts'

export class PollingQueue implements Queue {
  readonly #lane: Place
  readonly #line = new PriorityQueue()
  /** Who came while the store was thinking, and may yet be let through at once. */
  #fresh: Waiter[] = []
  #again: Again | undefined
  #asking = false

  constructor(lane: Place) {
    this.#lane = lane
  }

  get empty(): boolean {
    return this.#line.first === undefined
  }

  seek(waiter: Waiter): void {
    waiter.stage = 'line'
    this.#line.add(waiter)
    if (this.#asking) this.#fresh.push(waiter)
    else if (this.#line.first === waiter && !this.#lane.stopped) this.#ask()
    else this.#stay(waiter)
  }

  /** Has it wait, or refuses it where it would not or may not. */
  #stay(waiter: Waiter): void {
    if (waiter.stage === 'line' && !this.#lane.mayWait(waiter)) this.#line.remove(waiter)
  }

  leave(waiter: Waiter): void {
    if (waiter.stage !== 'line') return
    const first = this.#line.first === waiter
    this.#line.remove(waiter)
    if (first) this.#ask()
  }

  /** What is had at once is behind everyone: nothing to keep in mind. */
  reserved(): void {}

  giveBack(turn: Slot, units: number): MaybePromise<unknown> {
    return this.#lane.shop.bank.refund(this.#lane.keys, units, turn.tickets, turn.lot.generation)
  }

  /** Who is first asks again: at a higher rate its turn may have come. */
  retuned(): void {
    if (!this.#lane.stopped) this.#ask()
  }

  stop(): void {
    if (this.#again !== undefined) this.#lane.shop.agenda.remove(this.#again)
    this.#again = undefined
  }

  go(): void {
    this.#ask()
  }

  /** Asks for the first until one is refused, or the store takes its time. */
  #ask(): void {
    const lane = this.#lane
    this.stop()
    while (!this.#asking && !lane.stopped) {
      const waiter = this.#line.first
      if (waiter === undefined) return
      this.#asking = true
      const { generation } = lane.shop.bank
      const answer = lane.shop.bank.reserve(lane.keys, waiter.cost, 0)
      if (answer instanceof Promise) {
        this.#await(waiter, answer, generation)
        return
      }
      this.#asking = false
      if (!this.#answered(waiter, answer, generation)) return
    }
  }

  #await(waiter: Waiter, answer: Promise<Booking>, generation: number): void {
    const lane = this.#lane
    lane.asking++
    const done = (answered: () => boolean) => {
      lane.asking--
      this.#asking = false
      if (answered()) this.#ask()
      if (!this.#asking) for (const fresh of this.#fresh.splice(0)) this.#stay(fresh)
      lane.settled()
    }
    answer.then(
      (booking) => done(() => this.#answered(waiter, booking, generation)),
      (error) => done(() => this.#answer(waiter, () => lane.refuse(waiter, error))),
    )
  }

  /** Whether to ask on at once. */
  #answered(waiter: Waiter, { decision, tickets }: Booking, generation: number): boolean {
    const lane = this.#lane
    const here = waiter.stage === 'line' && !lane.stopped
    if (decision.allowed && here) return this.#answer(waiter, () => lane.admit(waiter))
    if (decision.allowed) void lane.shop.bank.refund(lane.keys, waiter.cost, tickets, generation)
    if (!here) {
      this.#stay(waiter)
      return true
    }
    if (decision.retryAfter === Infinity || decision.retryAfter * 1000 > lane.patience(waiter)) {
      return this.#answer(waiter, () => lane.refuseFor(waiter, decision))
    }
    this.#stay(waiter)
    if (this.#line.first !== waiter) return true
    this.stop()
    this.#again = new Again(() => this.#ask())
    lane.shop.agenda.add(this.#again, lane.now + decision.retryAfter * 1000)
    return false
  }

  /** Takes the waiter, if it still waits, out of the line and answers it. */
  #answer(waiter: Waiter, answer: () => void): true {
    if (waiter.stage === 'line') {
      this.#line.remove(waiter)
      answer()
    }
    return true
  }
}

class Again extends Entry {
  readonly due: () => void

  constructor(due: () => void) {
    super()
    this.due = due
  }
}
