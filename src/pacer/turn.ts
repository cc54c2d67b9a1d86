import type { Tickets } from '../algorithms/step.ts'
import { Entry } from './agenda.ts'

/** A time that the store has promised, and for what. It belongs to nobody: who is first when it comes takes it. */
export class Turn extends Entry {
  readonly cost: number
  readonly tickets: Tickets | undefined
  readonly generation: number
  /** Whether somebody holds it for himself: a reservation. */
  readonly reserved: boolean
  before: Turn | undefined
  after: Turn | undefined
  listed = false
  readonly #come: (turn: Turn) => void

  constructor(
    cost: number,
    tickets: Tickets | undefined,
    generation: number,
    reserved: boolean,
    come: (turn: Turn) => void,
  ) {
    super()
    this.cost = cost
    this.tickets = tickets
    this.generation = generation
    this.reserved = reserved
    this.#come = come
  }

  due(): void {
    this.#come(this)
  }
}

/** The turns of a lane that are still to come, in the order they were booked. */
export class Turns {
  first: Turn | undefined
  last: Turn | undefined
  /** How many of them are reservations. */
  reserved = 0

  add(turn: Turn): void {
    turn.before = this.last
    if (this.last === undefined) this.first = turn
    else this.last.after = turn
    this.last = turn
    turn.listed = true
    if (turn.reserved) this.reserved++
  }

  remove(turn: Turn): void {
    if (!turn.listed) return
    const { before, after } = turn
    if (before === undefined) this.first = after
    else before.after = after
    if (after === undefined) this.last = before
    else after.before = before
    turn.before = undefined
    turn.after = undefined
    turn.listed = false
    if (turn.reserved) this.reserved--
  }

  /** Reservations are not on the agenda: those whose time has come go from the list when someone looks. */
  prune(now: number): void {
    while (this.first?.reserved && this.first.at <= now) this.remove(this.first)
  }

  /** The last to be booked for that cost, reservations aside. */
  lastOf(cost: number): Turn | undefined {
    let turn = this.last
    while (turn !== undefined && (turn.reserved || turn.cost !== cost)) turn = turn.before
    return turn
  }
}
