import type { Waiter } from './waiter.ts'

/** Those of one priority, linked so that anyone can leave at once. */
class Rank {
  readonly priority: number
  first: Waiter | undefined
  last: Waiter | undefined

  constructor(priority: number) {
    this.priority = priority
  }
}

/** A queue by priority, among equals by the order they came in. Everything is constant in its length. */
export class PriorityQueue {
  /** Highest priority first; there are few. */
  readonly #ranks: Rank[] = []

  get first(): Waiter | undefined {
    return this.#ranks[0]?.first
  }

  add(waiter: Waiter): void {
    const rank = this.#rank(waiter.priority)
    let before = rank.last
    // Only one that was sent back to the line came before the last.
    while (before !== undefined && before.number > waiter.number) before = before.before
    const after = before === undefined ? rank.first : before.after
    waiter.before = before
    waiter.after = after
    if (before === undefined) rank.first = waiter
    else before.after = waiter
    if (after === undefined) rank.last = waiter
    else after.before = waiter
  }

  remove(waiter: Waiter): void {
    const { before, after, priority } = waiter
    const rank = this.#rank(priority)
    if (before === undefined) rank.first = after
    else before.after = after
    if (after === undefined) rank.last = before
    else after.before = before
    waiter.before = undefined
    waiter.after = undefined
    if (rank.first === undefined) this.#ranks.splice(this.#ranks.indexOf(rank), 1)
  }

  /** In order. Whoever is being looked at may be taken out. */
  *[Symbol.iterator](): Generator<Waiter, undefined> {
    for (const { first } of [...this.#ranks]) {
      for (let waiter = first; waiter !== undefined; ) {
        const { after } = waiter
        yield waiter
        waiter = after
      }
    }
  }

  /** Takes out who is first. */
  shift(): Waiter | undefined {
    const waiter = this.first
    if (waiter !== undefined) this.remove(waiter)
    return waiter
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
