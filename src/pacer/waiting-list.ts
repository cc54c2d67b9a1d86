import type { Waiter } from './waiter.ts'

/** All who queue for a lane, in the order they began to. */
export class WaitingList {
  /** Who waits the longest. */
  first: Waiter | undefined
  #last: Waiter | undefined
  size = 0

  add(waiter: Waiter): void {
    waiter.older = this.#last
    if (this.#last === undefined) this.first = waiter
    else this.#last.younger = waiter
    this.#last = waiter
    this.size++
  }

  remove(waiter: Waiter): void {
    const { older, younger } = waiter
    if (older === undefined) this.first = younger
    else older.younger = younger
    if (younger === undefined) this.#last = older
    else younger.older = older
    waiter.older = undefined
    waiter.younger = undefined
    this.size--
  }
}
