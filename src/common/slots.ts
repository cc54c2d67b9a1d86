/*
 * Slots (booked times) of a key, and the waiters that will use them.
 *
 * A slot belongs to no waiter. When its time comes, the first waiter uses it. When a waiter leaves, the waiters behind it
 * move up, and the slot that was booked last is given back:
 *
 *     slots      |100     |200     |300     |400         B leaves: C moves up to 200, D to 300, and the slot at 400 is
 *     waiters     A        B        C        D           given back, which is exact because no slot is booked behind it
 *
 * If the slot of B were given back instead, C and D would keep their times: later callers would get the time of B, before C.
 * Only slots of the same cost can be exchanged, so there is a queue of waiters for each cost.
 */
import { LinkedList, type ListNode } from './linked-list.ts'

/** The cost class of a slot or waiter. Equal sizes can use each other's slots. */
export type Size = number | string

interface Sized {
  readonly size: Size
}

/** The waiters of one size, in the order in which they go. */
export interface Order<Waiter> {
  readonly first: Waiter | undefined
  add(waiter: Waiter): void
  /** Returns false if the waiter is not in the queue. */
  remove(waiter: Waiter): boolean
}

export class Slots<Slot extends ListNode<Slot> & Sized, Waiter extends Sized, Waiters extends Order<Waiter>> {
  /** The slots, in the order in which they were booked. */
  readonly list: LinkedList<Slot> = new LinkedList()
  /** The waiters by the size of their costs. No queue is empty. */
  readonly waiters: Map<Size, Waiters> = new Map()
  readonly #newQueue: () => Waiters

  constructor(newQueue: () => Waiters) {
    this.#newQueue = newQueue
  }

  add(slot: Slot, waiter: Waiter): void {
    const queue = this.waiters.get(slot.size) ?? this.#newQueue()
    this.waiters.set(slot.size, queue)
    queue.add(waiter)
    this.list.add(slot)
  }

  /** Removes and returns the first waiter of a size, which uses a slot that is due. */
  shift(size: Size): Waiter | undefined {
    const first = this.waiters.get(size)?.first
    if (first !== undefined) this.remove(first)
    return first
  }

  /** Removes a waiter, which leaves one slot of its size unused. Returns false if the waiter is not here. */
  remove(waiter: Waiter): boolean {
    const queue = this.waiters.get(waiter.size)
    if (!queue?.remove(waiter)) return false
    if (queue.first === undefined) this.waiters.delete(waiter.size)
    return true
  }

  /** The slot of a size that was booked last. */
  last(size: Size): Slot | undefined {
    let slot = this.list.last
    while (slot !== undefined && slot.size !== size) slot = slot.before
    return slot
  }
}
