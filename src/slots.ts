/*
 * Booked times (slots) of one key and cost, and those that wait for them.
 *
 * A slot belongs to no waiter. When it comes, the first waiter uses it. When a waiter leaves, the waiters behind it move up,
 * and the slot that was booked last is given back:
 *
 *     slots      |100     |200     |300     |400         B leaves: C moves up to 200, D to 300, and the slot at 400 is
 *     waiters     A        B        C        D           given back, which is exact because no slot is booked behind it
 *
 * If the slot of B were given back, C and D would keep their times. Then those that leave would take the places of those
 * that stay. Only slots of one cost can be exchanged, so each key has a queue for each cost.
 */
import { LinkedList, type ListNode } from './linked-list.ts'

/** Those that wait, in the order in which they go. */
interface Order<Waiter> {
  readonly first: Waiter | undefined
  add(waiter: Waiter): void
  /** Returns false if the waiter is not in it. */
  remove(waiter: Waiter): boolean
}

export class Slots<Slot extends ListNode<Slot>, Waiter, Waiters extends Order<Waiter> = Order<Waiter>> {
  /** In the order they were booked. */
  readonly slots: LinkedList<Slot> = new LinkedList()
  readonly waiters: Waiters
  /** How many slots are left over, because their waiters have left. */
  #spare = 0

  constructor(waiters: Waiters) {
    this.waiters = waiters
  }

  get empty(): boolean {
    return this.slots.first === undefined && this.waiters.first === undefined
  }

  add(slot: Slot, waiter: Waiter): void {
    this.slots.add(slot)
    this.waiters.add(waiter)
  }

  /** Removes a slot that is due. Returns the waiter that uses it, or undefined if the slot is left over. */
  take(slot: Slot): Waiter | undefined {
    const { first } = this.waiters
    this.slots.remove(slot)
    if (first === undefined) this.#spare--
    else this.waiters.remove(first)
    return first
  }

  /** Removes a waiter that gives up: a slot is left over. */
  leave(waiter: Waiter): void {
    if (this.waiters.remove(waiter)) this.#spare++
  }

  /** Removes and returns a slot that is left over, the last one first. */
  takeSpare(): Slot | undefined {
    const { last } = this.slots
    if (last === undefined || this.#spare === 0) return undefined
    this.dropSpare(last)
    return last
  }

  /** Removes a slot that is left over. */
  dropSpare(slot: Slot): void {
    this.#spare--
    this.slots.remove(slot)
  }
}
