import { LinkedList } from '../../common/index.ts'
import type { Waiter } from './waiter.ts'

class PriorityList extends LinkedList<Waiter> {
  readonly priority: number

  constructor(priority: number) {
    super()
    this.priority = priority
  }
}

/**
 * Waiters by priority, then in the order in which they came. Each operation takes constant time, except adding a waiter that has lost its
 * booked slot.
 */
export class PriorityQueue {
  /** One list for each priority, the highest priority first. There are few lists: programs use few priorities. */
  readonly #lists: PriorityList[] = []

  get first(): Waiter | undefined {
    return this.#lists[0]?.first
  }

  /** The last waiter of the lowest priority. */
  get last(): Waiter | undefined {
    return this.#lists.at(-1)?.last
  }

  add(waiter: Waiter): void {
    const list = this.#listOf(waiter.priority)
    // A waiter that has lost its booked slot (start time) gets its position by the order of arrival, mostly the first one. All other waiters
    // are added at the end.
    let before = list.first !== undefined && list.first.number > waiter.number ? undefined : list.last
    while (before !== undefined && before.number > waiter.number) before = before.before
    list.insertAfter(waiter, before)
  }

  /** Removes a waiter. Returns false if the waiter is in no queue. */
  remove(waiter: Waiter): boolean {
    const list = this.#listOf(waiter.priority)
    const removed = list.remove(waiter)
    if (list.first === undefined) this.#lists.splice(this.#lists.indexOf(list), 1)
    return removed
  }

  shift(): Waiter | undefined {
    const waiter = this.first
    if (waiter !== undefined) this.remove(waiter)
    return waiter
  }

  /** Goes through all waiters in order. The caller may remove the waiter that it just got. */
  *[Symbol.iterator](): Generator<Waiter, undefined> {
    for (const list of [...this.#lists]) yield* list
  }

  #listOf(priority: number): PriorityList {
    let n = 0
    while (n < this.#lists.length && (this.#lists[n] as PriorityList).priority > priority) n++
    const found = this.#lists[n]
    if (found?.priority === priority) return found
    const list = new PriorityList(priority)
    this.#lists.splice(n, 0, list)
    return list
  }
}
