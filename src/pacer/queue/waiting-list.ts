import { Fifo } from '../../common/index.ts'
import type { Waiter } from './waiter.ts'

/** How many waiters that are done may stay in a list of any size. */
const spare = 32

/** All waiters of a key, in the order they began to wait. Waiters that are done are removed later, many at a time. */
export class WaitingList {
  readonly #waiters = new Fifo<Waiter>()
  /** How many waiters of the list still wait. */
  size = 0

  /** The waiter that has waited the longest. */
  get first(): Waiter | undefined {
    return this.#waiters.first
  }

  add(waiter: Waiter): void {
    this.#waiters.push(waiter)
    this.size++
  }

  /** Call this for every waiter that becomes `done`. */
  removeDone(): void {
    this.size--
    while (this.first?.stage === 'done') this.#waiters.shift()
    if (this.#waiters.length > this.size * 2 + spare) this.#waiters.filter(({ stage }) => stage !== 'done')
  }
}
