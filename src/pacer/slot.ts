import type { Tickets } from '../algorithms/evaluation.ts'
import { LinkedList, type ListNode } from '../linked-list.ts'
import { type Cost, sizeOf } from './cost.ts'
import { Task } from './task-queue.ts'

/** The properties that all slots of one cost share. */
export interface SlotKind {
  readonly cost: Cost
  /** True for a reservation: its owner waits for it, and the scheduler does not know it. */
  readonly reserved: boolean
  /** Called when a slot's time comes. */
  readonly onDue: (slot: Slot) => void
}

/** A time that the store has promised, for a cost. It belongs to no waiter: the first waiter at that time uses it. */
export class Slot extends Task implements ListNode<Slot> {
  readonly kind: SlotKind
  readonly tickets: Tickets | undefined
  before: Slot | undefined
  after: Slot | undefined

  constructor(kind: SlotKind, tickets: Tickets | undefined, at: number) {
    super()
    this.kind = kind
    this.tickets = tickets
    this.at = at
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

  kindOf(cost: Cost, onDue: (slot: Slot) => void): SlotKind {
    if (this.#kind === undefined || sizeOf(this.#kind.cost) !== sizeOf(cost)) {
      this.#kind = { cost, reserved: false, onDue }
    }
    return this.#kind
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
  lastOf(cost: Cost): Slot | undefined {
    const size = sizeOf(cost)
    let slot = this.last
    while (slot !== undefined && (slot.kind.reserved || sizeOf(slot.kind.cost) !== size)) slot = slot.before
    return slot
  }
}
