import { Fifo } from '../../common/index.ts'
import type { Waiter } from './waiter.ts'

/** A list may always contain this many waiters that are admitted or refused already, even if few calls still wait. */
const spare = 32

/**
 * All waiters of a key, in the order they began to wait. Admitted and refused waiters are removed later, many together.
 */
export class WaitingList {
  readonly #waiters = new Fifo<Waiter>()
  /** Calls that have run, and wait to run again. */
  readonly repeats: Waiter[] = []
  /** How many calls wait for their first run: these calls count for `maxQueue`. */
  counted = 0
  /** How many calls were neither admitted nor refused: the calls that wait, and those for which nobody knows yet whether they must wait. */
  pending = 0

  /** How many calls of the list still wait. */
  get size(): number {
    return this.counted + this.repeats.length
  }

  /** The call that has waited the longest for its first run. */
  get first(): Waiter | undefined {
    return this.#waiters.first
  }

  /** Counts a call that has come. */
  enter(waiter: Waiter): Waiter {
    this.pending++
    return waiter
  }

  repeat(waiter: Waiter): void {
    this.pending++
    this.repeats.push(waiter)
  }

  add(waiter: Waiter): void {
    this.#waiters.push(waiter)
    this.counted++
  }

  /** Call this for every waiter that becomes `done`, which means admitted or refused. */
  removeDone(waiter: Waiter): void {
    this.pending--
    if (!waiter.waits) return
    const repeat = this.repeats.indexOf(waiter)
    if (repeat >= 0) this.repeats.splice(repeat, 1)
    else this.#removeCounted()
  }

  #removeCounted(): void {
    this.counted--
    while (this.first?.stage === 'done') this.#waiters.shift()
    if (this.#waiters.length > this.counted * 2 + spare) this.#waiters.filter(({ stage }) => stage !== 'done')
  }
}
