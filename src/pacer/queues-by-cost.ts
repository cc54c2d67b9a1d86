import { type Cost, sizeOf } from './cost.ts'
import { PriorityQueue } from './priority-queue.ts'
import type { Slot, SlotList } from './slot.ts'
import type { Waiter } from './waiter.ts'

/** Waiters that hold a slot, queued by cost. Each queue has as many waiters as there are slots of its cost. */
export class QueuesByCost {
  readonly #queues = new Map<number | string, PriorityQueue>()

  /** True if waiters differ in cost. */
  get mixed(): boolean {
    return this.#queues.size > 1
  }

  add(waiter: Waiter): void {
    let queue = this.#queues.get(sizeOf(waiter.cost))
    if (queue === undefined) {
      queue = new PriorityQueue()
      this.#queues.set(sizeOf(waiter.cost), queue)
    }
    queue.add(waiter)
  }

  remove(waiter: Waiter): void {
    const size = sizeOf(waiter.cost)
    const queue = this.#queues.get(size)
    queue?.remove(waiter)
    if (queue?.first === undefined) this.#queues.delete(size)
  }

  /** Removes and returns the first waiter of a cost that has not left. */
  shift(cost: Cost): Waiter | undefined {
    const size = sizeOf(cost)
    for (let waiter = this.#queues.get(size)?.first; waiter !== undefined; waiter = this.#queues.get(size)?.first) {
      this.remove(waiter)
      if (waiter.stage !== 'done') return waiter
    }
    return undefined
  }

  /** Removes and returns all waiters that have not left, in the order they came. */
  clear(): Waiter[] {
    const waiters = [...this.#queues.values()].flatMap((queue) => [...queue]).filter(({ stage }) => stage !== 'done')
    for (const queue of this.#queues.values()) while (queue.shift() !== undefined);
    this.#queues.clear()
    return waiters.sort((a, b) => a.number - b.number)
  }

  /** The slots of waiters that have left. Removes these waiters. */
  vacant(slots: SlotList): Set<Slot> {
    const vacant = new Set<Slot>()
    const waiters = new Map([...this.#queues].map(([cost, queue]) => [cost, queue[Symbol.iterator]()]))
    for (let slot = slots.first; slot !== undefined; slot = slot.after) {
      if (slot.kind.reserved) continue
      const waiter = waiters.get(sizeOf(slot.kind.cost))?.next().value
      if (waiter === undefined || waiter.stage === 'done') vacant.add(slot)
      if (waiter?.stage === 'done') this.remove(waiter)
    }
    return vacant
  }
}
