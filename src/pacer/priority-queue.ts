import { LinkedList } from '../linked-list.ts'
import type { Waiter } from './waiter.ts'

/** The waiters of one priority. */
class Rank extends LinkedList<Waiter> {
  readonly priority: number

  constructor(priority: number) {
    super()
    this.priority = priority
  }
}

/** Waiters by priority, and in the order they came among equals. Every call takes the same time at any length. */
export class PriorityQueue {
  /** The highest priority first. There are few. */
  readonly #ranks: Rank[] = []

  get first(): Waiter | undefined {
    return this.#ranks[0]?.first
  }

  add(waiter: Waiter): void {
    const rank = this.#rank(waiter.priority)
    let before = rank.last
    // Only a waiter that lost its slot came earlier than the last one.
    while (before !== undefined && before.number > waiter.number) before = before.before
    rank.insertAfter(waiter, before)
  }

  remove(waiter: Waiter): void {
    const rank = this.#rank(waiter.priority)
    rank.remove(waiter)
    if (rank.first === undefined) this.#ranks.splice(this.#ranks.indexOf(rank), 1)
  }

  /** Removes the first waiter. */
  shift(): Waiter | undefined {
    const waiter = this.first
    if (waiter !== undefined) this.remove(waiter)
    return waiter
  }

  /** Goes through all waiters in order. The current one may be removed meanwhile. */
  *[Symbol.iterator](): Generator<Waiter, undefined> {
    for (const { first } of [...this.#ranks]) {
      for (let waiter = first; waiter !== undefined; ) {
        const { after } = waiter
        yield waiter
        waiter = after
      }
    }
  }

  #rank(priority: number): Rank {
    let n = 0
    while (n < this.#ranks.length && (this.#ranks[n] as Rank).priority > priority) n++
    const found = this.#ranks[n]
    if (found?.priority === priority) return found
    const rank = new Rank(priority)
    this.#ranks.splice(n, 0, rank)
    return rank
  }
}
