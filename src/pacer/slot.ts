import type { Tickets } from '../algorithms/evaluation.ts'
import { LinkedList, type ListNode } from '../linked-list.ts'
import { Slots } from '../slots.ts'
import { type Cost, sizeOf } from './cost.ts'
import { PriorityQueue } from './priority-queue.ts'
import { Task } from './task-queue.ts'
import type { Waiter } from './waiter.ts'

/** A time that the store has promised, for a cost. It belongs to no waiter: the first waiter at that time uses it. */
export class Slot extends Task implements ListNode<Slot> {
  readonly slots: SlotsOfCost
  readonly tickets: Tickets | undefined
  before: Slot | undefined
  after: Slot | undefined

  constructor(slots: SlotsOfCost, tickets: Tickets | undefined, at: number) {
    super()
    this.slots = slots
    this.tickets = tickets
    this.at = at
  }

  get cost(): Cost {
    return this.slots.cost
  }

  run(): void {
    this.slots.onDue(this)
  }
}

/** The slots of one cost that are still to come, and the waiters that use them. */
class SlotsOfCost extends Slots<Slot, Waiter, PriorityQueue> {
  readonly cost: Cost
  readonly onDue: (slot: Slot) => void

  constructor(cost: Cost, onDue: (slot: Slot) => void) {
    super(new PriorityQueue())
    this.cost = cost
    this.onDue = onDue
  }
}

/** The slots of a key that are still to come, and the waiters that use them. */
export class SlotsByCost {
  readonly #byCost = new Map<number | string, SlotsOfCost>()
  readonly #onDue: (slot: Slot) => void
  /** The time of the slot that was booked last, in microseconds. It may be in the past. */
  lastAt = 0

  constructor(onDue: (slot: Slot) => void) {
    this.#onDue = onDue
  }

  get empty(): boolean {
    return this.#byCost.size === 0
  }

  /** True if waiters differ in cost. */
  get mixed(): boolean {
    return this.#byCost.size > 1
  }

  /** In the order they were booked. */
  get all(): Slot[] {
    return [...this.#byCost.values()].flatMap(({ slots }) => [...slots]).sort((a, b) => a.order - b.order)
  }

  /** Adds a waiter and the slot that was booked for it. */
  add(waiter: Waiter, tickets: Tickets | undefined, at: number): Slot {
    const size = sizeOf(waiter.cost)
    const slots = this.#byCost.get(size) ?? new SlotsOfCost(waiter.cost, this.#onDue)
    this.#byCost.set(size, slots)
    const slot = new Slot(slots, tickets, at)
    slots.add(slot, waiter)
    this.lastAt = at
    return slot
  }

  /** Adds a slot in place of one that was dropped, for the same waiter. */
  rebook({ slots }: Slot, tickets: Tickets | undefined, at: number): Slot {
    const slot = new Slot(slots, tickets, at)
    slots.slots.add(slot)
    this.lastAt = at
    return slot
  }

  /** Removes a slot that is due. Returns the first waiter of its cost, or undefined if all have left. */
  take(slot: Slot): Waiter | undefined {
    const { slots } = slot
    for (let { first } = slots.waiters; first?.stage === 'done'; { first } = slots.waiters) slots.leave(first)
    const waiter = slots.take(slot)
    this.#removed(slot)
    return waiter
  }

  /** Removes a waiter. Returns the slot that is left over: the last one of its cost. */
  leave(waiter: Waiter): Slot | undefined {
    const slots = this.#byCost.get(sizeOf(waiter.cost))
    slots?.leave(waiter)
    const slot = slots?.takeSpare()
    if (slot !== undefined) this.#removed(slot)
    return slot
  }

  /** Removes the waiters that have left while this did not know it. Returns their slots. */
  leaveDone(): Set<Slot> {
    const spare = new Set<Slot>()
    for (const slots of this.#byCost.values()) {
      const waiters = [...slots.waiters]
      for (const [n, slot] of [...slots.slots].entries()) {
        const waiter = waiters[n]
        if (waiter === undefined || waiter.stage === 'done') spare.add(slot)
        if (waiter?.stage === 'done') slots.leave(waiter)
      }
    }
    return spare
  }

  /** Removes a slot: one that is left over, or one that is booked again. */
  drop(slot: Slot, spare: boolean): void {
    if (spare) slot.slots.dropSpare(slot)
    else slot.slots.slots.remove(slot)
    this.#removed(slot)
  }

  /** Removes all slots and waiters. Returns the waiters that have not left. */
  clear(): Waiter[] {
    const waiters = [...this.#byCost.values()].flatMap((slots) => [...slots.waiters])
    for (const waiter of waiters) this.#byCost.get(sizeOf(waiter.cost))?.waiters.remove(waiter)
    this.#byCost.clear()
    this.lastAt = 0
    return waiters.filter(({ stage }) => stage !== 'done')
  }

  #removed({ slots, at }: Slot): void {
    if (slots.empty) this.#byCost.delete(sizeOf(slots.cost))
    if (at !== this.lastAt) return
    this.lastAt = 0
    for (const { slots } of this.#byCost.values()) this.lastAt = Math.max(this.lastAt, slots.last?.at ?? 0)
  }
}

/** The time of a reservation, in microseconds. */
export interface ReservedSlot extends ListNode<ReservedSlot> {
  readonly at: number
}

/** Slots that the user has reserved and waits for without the queue, in the order they were booked. */
export class ReservedSlots extends LinkedList<ReservedSlot> {
  /** Removes those whose time has come. */
  prune(now: number): this {
    for (let { first } = this; first !== undefined && first.at <= now; first = this.first) this.remove(first)
    return this
  }
}
