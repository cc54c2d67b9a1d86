import type { RunSpacing } from '../run-spacing.ts'
import type { Task } from '../timers/index.ts'
import type { Slot } from './booked-slot.ts'
import type { Queue } from './queue.ts'

/** Slots whose time has come, but whose calls would go too soon after calls that went late: see run-spacing.ts. */
export class LateSlots {
  readonly #queue: Queue
  readonly #spacing: RunSpacing
  readonly #go: (slot: Slot) => void
  /** The slots in the order of their times. */
  readonly #slots = new Set<Slot>()
  #retry: Task | undefined

  constructor(queue: Queue, spacing: RunSpacing, go: (slot: Slot) => void) {
    this.#queue = queue
    this.#spacing = spacing
    this.#go = go
  }

  /** Admits the first waiter of a slot that is due, or keeps the slot until a waiter may go. */
  readonly add = (slot: Slot): void => {
    this.#slots.add(slot)
    if (this.#slots.size === 1) this.resume()
  }

  /** Admits as many waiters as may go now. */
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

  /** @param milliseconds the wait that the refusal says, rounded up */
  #wait(milliseconds: number): void {
    const { context, now } = this.#queue
    this.#retry = context.scheduler.at(now + milliseconds * 1000, () => this.resume())
  }

  remove(slot: Slot): void {
    if (this.#slots.delete(slot) && this.#slots.size === 0) this.#queue.context.scheduler.remove(this.#retry)
  }
}
