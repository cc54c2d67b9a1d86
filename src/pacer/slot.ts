import type { Ticket } from '../algorithms/algorithm.ts'
import type { Tickets } from '../algorithms/evaluation.ts'
import { LinkedList, type ListNode } from '../linked-list.ts'
import { Task } from './task-queue.ts'

/** The properties that all slots of one cost and one rate share. */
export interface SlotKind {
  readonly cost: number
  /** How often the rate had been set when the slot was booked. */
  readonly generation: number
  /** True for a reservation: its owner waits for it, and the scheduler does not know it. */
  readonly reserved: boolean
  /** Called when a slot's time comes. */
  readonly onDue: (slot: Slot) => void
}

/** A time that the store has promised, for a cost. It belongs to no waiter: the first waiter at that time uses it. */
export class Slot extends Task implements ListNode<Slot> {
  readonly kind: SlotKind
  /** One policy's ticket stands alone, without the list around it: most pacers have one policy. */
  readonly #tickets: Ticket | Tickets | undefined
  before: Slot | undefined
  after: Slot | undefined

  constructor(kind: SlotKind, tickets: Tickets | undefined, at: number) {
    super()
    this.kind = kind
    this.#tickets = tickets?.length === 1 ? (tickets[0] ?? tickets) : tickets
    this.at = at
  }

  get tickets(): Tickets | undefined {
    const tickets = this.#tickets
    return typeof tickets?.[0] === 'number' ? [tickets as Ticket] : (tickets as Tickets | undefined)
  }

  run(): void {
    this.kind.onDue(this)
  }
}

/** The slots of a key that are still to come, in the order they were booked. */
export class SlotList extends LinkedList<Slot> {
  /** How many of them are reservations. */
  reserved = 0
  /** The kind of the slot that was made last. */
  #kind: SlotKind | undefined

  kindOf(cost: number, generation: number, onDue: (slot: Slot) => void): SlotKind {
    if (this.#kind?.cost === cost && this.#kind.generation === generation) return this.#kind
    this.#kind = { cost, generation, reserved: false, onDue }
    return this.#kind
  }

  /** The time of the slot that comes last, or 0. */
  get latest(): number {
    let latest = 0
    for (let slot = this.first; slot !== undefined; slot = slot.after) latest = Math.max(latest, slot.at)
    return latest
  }

  override add(slot: Slot): void {
    super.add(slot)
    if (slot.kind.reserved) this.reserved++
  }

  override remove(slot: Slot): boolean {
    const removed = super.remove(slot)
    if (removed && slot.kind.reserved) this.reserved--
    return removed
  }

  /** Removes reservations at the front whose time has come. The scheduler removes no reservation. */
  prune(now: number): void {
    while (this.first?.kind.reserved && this.first.at <= now) this.remove(this.first)
  }

  /** The slot that was booked last for a cost, reservations aside. */
  lastOf(cost: number): Slot | undefined {
    let slot = this.last
    while (slot !== undefined && (slot.kind.reserved || slot.kind.cost !== cost)) slot = slot.before
    return slot
  }
}
