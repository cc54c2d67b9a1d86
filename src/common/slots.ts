/*
 * Slots (booked times) of a key, and the waiters that will use them.
 *
 * A slot belongs to no waiter. When the time of the slot comes, the first waiter uses the slot. When a waiter leaves, the waiters
 * behind it move up by one slot, and the slot that was booked last is refunded:
 *
 *     slots      |100     |200     |300     |400         B leaves: C moves up to 200, D to 300, and the slot at 400 is
 *     waiters     A        B        C        D           given back, which is exact because no slot is booked behind it
 *
 * If the slot of B were refunded in place of the last slot, C and D would keep their times, and a later caller would get the
 * time of B, before C. Only slots of the same cost can be exchanged, so each cost has a queue of waiters.
 */
import { LinkedList, type ListNode } from './linked-list.ts'

/** Identifies a cost: two slots or waiters with the same cost have the same size. A waiter can use any slot of its size. */
export type Size = number | string

interface Sized {
  readonly size: Size
}

/** A queue of waiters (waiting calls) with the same size, in the order in which they use slots. */
export interface Order<Waiter> {
  readonly first: Waiter | undefined
  add(waiter: Waiter): void
  /** Returns false if the waiter is not in the queue. */
  remove(waiter: Waiter): boolean
}

export class Slots<Slot extends ListNode<Slot> & Sized, Waiter extends Sized, Waiters extends Order<Waiter>> {
  /** The slots (booked times) of all sizes, in the order in which they were booked. */
  readonly list: LinkedList<Slot> = new LinkedList()
  /** The waiters (calls that wait for a slot), in one queue for each size. An empty queue is removed. */
  readonly waiters: Map<Size, Waiters> = new Map()
  readonly #newQueue: () => Waiters

  constructor(newQueue: () => Waiters) {
    this.#newQueue = newQueue
  }

  add(slot: Slot, waiter: Waiter): void {
    this.list.add(slot)
    this.addWaiter(waiter)
  }

  addWaiter(waiter: Waiter): void {
    const queue = this.waiters.get(waiter.size) ?? this.#newQueue()
    this.waiters.set(waiter.size, queue)
    queue.add(waiter)
  }

  /** Removes the first waiter of a size, and returns it: the waiter uses a slot whose time has come. */
  shift(size: Size): Waiter | undefined {
    const first = this.waiters.get(size)?.first
    if (first !== undefined) this.remove(first)
    return first
  }

  /**
   * Removes a waiter. One slot (booked time) for the waiter's cost is then spare. Returns false if the waiter is not in a queue.
   */
  remove(waiter: Waiter): boolean {
    const queue = this.waiters.get(waiter.size)
    if (!queue?.remove(waiter)) return false
    if (queue.first === undefined) this.waiters.delete(waiter.size)
    return true
  }
}
