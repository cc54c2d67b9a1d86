import type { RunSpacing } from '../run-spacing.ts'
import type { Task } from '../timers/index.ts'
import type { Queue } from './queue.ts'
import type { Slot } from './slot.ts'

/** The slots whose time has come, and whose calls would come too soon after those that really went: see run-spacing.ts. */
export class LateSlots {
  readonly #queue: Queue
  readonly #spacing: RunSpacing
  readonly #go: (slot: Slot) => void
  /** In the order of their times. */
  readonly #slots = new Set<Slot>()
  /** Tries the first late slot again. */
  #retry: Task | undefined

  constructor(queue: Queue, spacing: RunSpacing, go: (slot: Slot) => void) {
    this.#queue = queue
    this.#spacing = spacing
    this.#go = go
  }

  /** Lets the first waiter of a slot that is due go, or keeps the slot until one may go. */
  readonly add = (slot: Slot): void => {
    this.#slots.add(slot)
    if (this.#slots.size === 1) this.resume()
  }

  /** Lets as many go as may go now. */
  resume(): void {
    this.#queue.context.scheduler.remove(this.#retry)
    for (const slot of this.#slots) {
      const refusal = this.#spacing.refusal(slot.cost)
      if (refusal !== undefined) {
        if (!this.#spacing.starting) this.#wait(refusal.retryAfter)
        return
      }
      this.#slots.delete(slot)
      this.#go(slot)
    }
  }

  /** @param milliseconds as the refusal says it, rounded up */
  #wait(milliseconds: number): void {
    const { context, now } = this.#queue
    this.#retry = context.scheduler.at(now + milliseconds * 1000, () => this.resume())
  }

  remove(slot: Slot): void {
    if (this.#slots.delete(slot) && this.#slots.size === 0) this.#queue.context.scheduler.remove(this.#retry)
  }
}
