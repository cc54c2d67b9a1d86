import { Fifo } from '../../common/index.ts'
import type { Waiter } from './waiter.ts'

/** A list may always contain this many waiters that are admitted or refused already, even if few calls still wait. */
const spare = 32

/**
 * All waiters of a key, in the order they began to wait. Admitted and refused waiters are removed later, many together.
 */
export class WaitingList {
  readonly #waiters = new Fifo<Waiter>()
  /** How many calls of the list still wait. */
  size = 0

  /** The call that has waited the longest. */
  get first(): Waiter | undefined {
    return this.#waiters.first
  }

  add(waiter: Waiter): void {
    this.#waiters.push(waiter)
    this.size++
  }

  /** Call this for every waiter that becomes `done`, which means admitted or refused. */
  removeDone(): void {
    this.size--
    while (this.first?.stage === 'done') this.#waiters.shift()
    if (this.#waiters.length > this.size * 2 + spare) this.#waiters.filter(({ stage }) => stage !== 'done')
  }
}
