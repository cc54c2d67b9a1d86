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
 * among equals.
 */
import type { Booking, MaybePromise } from '../stores/store.ts'
import { Line } from './line.ts'
import type { Place } from './place.ts'
import type { Queue } from './queue.ts'
import { Turn, Turns } from './turn.ts'
import type { Waiter } from './waiter.ts'

export class Booked implements Queue {
  readonly #lane: Place
  readonly #turns = new Turns()
  /** Who has a turn, by cost. */
  readonly #lines = new Map<number, Line>()
  /** Who has none yet. */
  readonly #line = new Line()

  constructor(lane: Place) {
    this.#lane = lane
  }

  /** Whether all turns are past and nobody waits. */
  get empty(): boolean {
    this.#turns.prune(this.#lane.now)
    return this.#turns.first === undefined && this.#line.first === undefined
  }

  get owed(): number {
    let units = 0
    for (let turn = this.#turns.first; turn !== undefined; turn = turn.after) units += turn.cost
    return units
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
      const turn = new Turn(waiter.cost, tickets, generation, false, this.#come)
      turn.at = lane.now + wait * 1000
      this.#turns.add(turn)
      this.#keep(waiter, turn, here)
    }
  }

  /** Has the waiter wait for a turn like the one booked for it, or gives that back. */
  #keep(waiter: Waiter, turn: Turn, here: boolean): void {
    const lane = this.#lane
    if (!here || lane.stopped || lane.full(waiter)) {
      this.giveBack(turn, turn.cost)
      if (here) this.#wait(waiter)
      return
    }
    waiter.stage = 'booked'
    this.#lineOf(waiter.cost).add(waiter)
    lane.shop.agenda.add(turn, turn.at)
    lane.queue(waiter)
    if (turn.at <= lane.now) lane.shop.agenda.run()
  }

  readonly #come = (turn: Turn): void => {
    this.#turns.remove(turn)
    const waiter = this.#take(turn.cost)
    if (waiter !== undefined) this.#lane.admit(waiter)
  }

  #lineOf(cost: number): Line {
    let line = this.#lines.get(cost)
    if (line === undefined) {
      line = new Line()
      this.#lines.set(cost, line)
    }
    return line
  }

  #take(cost: number): Waiter | undefined {
    const line = this.#lines.get(cost)
    const waiter = line?.shift()
    if (line?.first === undefined) this.#lines.delete(cost)
    return waiter
  }

  leave(waiter: Waiter): void {
    if (waiter.stage === 'line') this.#line.remove(waiter)
    if (waiter.stage !== 'booked') return
    const line = this.#lineOf(waiter.cost)
    line.remove(waiter)
    if (line.first === undefined) this.#lines.delete(waiter.cost)
    const turn = this.#turns.lastOf(waiter.cost)
    if (turn === undefined) return
    this.#lane.shop.agenda.remove(turn)
    this.giveBack(turn, turn.cost)
  }

  /** Books for oneself: the wait is the caller's. */
  reserved(turn: Turn): void {
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
  giveBack(turn: Turn, units: number): MaybePromise<unknown> {
    const { bank } = this.#lane.shop
    const whole = bank.exclusive && this.#turns.last === turn && turn.at > this.#lane.now
    if (units === turn.cost) this.#turns.remove(turn)
    if (!whole && turn.tickets === undefined) return undefined
    return bank.refund(this.#lane.keys, units, whole ? undefined : turn.tickets, turn.generation)
  }

  /** Gives every turn back, the last one first, so that each is the last: a turn that passes unused is not made up for. */
  stop(): void {
    const waiters: Waiter[] = []
    for (const line of this.#lines.values()) {
      for (let waiter = line.shift(); waiter !== undefined; waiter = line.shift()) waiters.push(waiter)
    }
    this.#lines.clear()
    for (let turn = this.#turns.last; turn !== undefined; ) {
      const { before } = turn
      if (!turn.reserved) {
        this.#lane.shop.agenda.remove(turn)
        this.giveBack(turn, turn.cost)
      }
      turn = before
    }
    for (const waiter of waiters.sort((a, b) => a.number - b.number)) {
      waiter.stage = 'line'
      this.#line.add(waiter)
    }
  }

  go(): void {
    for (let waiter = this.#line.shift(); waiter !== undefined; waiter = this.#line.shift()) this.#book(waiter)
  }
}
