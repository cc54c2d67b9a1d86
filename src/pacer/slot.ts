import type { Ticket } from '../algorithms/algorithm.ts'
import type { Tickets } from '../algorithms/evaluation.ts'
import { Entry } from './entries.ts'

/** What turns have in common that were booked for one cost at one rate. */
export interface Lot {
  readonly cost: number
  readonly generation: number
  /** Whether somebody holds it for himself: a reservation. */
  readonly reserved: boolean
  readonly come: (turn: Slot) => void
}

/** A time that the store has promised, and for what. It belongs to nobody: who is first when it comes takes it. */
export class Slot extends Entry {
  readonly lot: Lot
  /** Of one policy, as mostly, without the list around it. */
  readonly #tickets: Ticket | Tickets | undefined
  before: Slot | undefined
  after: Slot | undefined

  constructor(lot: Lot, tickets: Tickets | undefined, at: number) {
    super()
    this.lot = lot
    this.#tickets = tickets?.length === 1 ? (tickets[0] ?? tickets) : tickets
    this.at = at
  }

  get tickets(): Tickets | undefined {
    const tickets = this.#tickets
    return typeof tickets?.[0] === 'number' ? [tickets as Ticket] : (tickets as Tickets | undefined)
  }

  due(): void {
    this.lot.come(this)
  }
}

/** The turns of a lane that are still to come, in the order they were booked. */
export class Slots {
  first: Slot | undefined
  last: Slot | undefined
  /** How many of them are reservations. */
  reserved = 0

  add(turn: Slot): void {
    turn.before = this.last
    if (this.last === undefined) this.first = turn
    else this.last.after = turn
    this.last = turn
    if (turn.lot.reserved) this.reserved++
  }

  remove(turn: Slot): void {
    const { before, after } = turn
    if (before === undefined && this.first !== turn) return // it is gone already
    if (before === undefined) this.first = after
    else before.after = after
    if (after === undefined) this.last = before
    else after.before = before
    turn.before = undefined
    turn.after = undefined
    if (turn.lot.reserved) this.reserved--
  }

  /** Reservations are not on the agenda: those whose time has come go from the list when someone looks. */
  prune(now: number): void {
    while (this.first?.lot.reserved && this.first.at <= now) this.remove(this.first)
  }

  /** The last to be booked for that cost, reservations aside. */
  lastOf(cost: number): Slot | undefined {
    let turn = this.last
    while (turn !== undefined && (turn.lot.reserved || turn.lot.cost !== cost)) turn = turn.before
    return turn
  }
}
