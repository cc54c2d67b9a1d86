import type { RunSpacing } from '../run-spacing.ts'
import type { Task } from '../timers/index.ts'
import type { Slot } from './booked-slot.ts'
import type { HoldCheck } from './hold-check.ts'
import type { Queue } from './queue.ts'

/** Slots whose time has come, but whose call would start too soon after an earlier call that started late: see run-spacing.ts. */
export class LateSlots {
  readonly #queue: Queue
  readonly #spacing: RunSpacing
  readonly #go: (slot: Slot) => void
  readonly #check: () => HoldCheck | undefined
  /** The slots (booked start times), in the order of their times. */
  readonly #slots = new Set<Slot>()
  #retry: Task | undefined

  /** @param check asks whether another process holds the key; undefined if no other process can hold the key */
  constructor(queue: Queue, spacing: RunSpacing, go: (slot: Slot) => void, check: () => HoldCheck | undefined) {
    this.#queue = queue
    this.#spacing = spacing
    this.#go = go
    this.#check = check
  }

  get empty(): boolean {
    return this.#slots.size === 0
  }

  /**
   * Called when the time of a slot (booked units) has come. Admits the waiter of the slot if the waiter may start now. Otherwise keeps the
   * slot until the waiter may start.
   */
  readonly add = (slot: Slot): void => {
    this.#slots.add(slot)
    if (this.#slots.size === 1) this.resume()
  }

  /** Admits the waiters of the kept slots (start times that have passed), in order. Stops at the first waiter that may not start yet. */
  resume(): void {
    this.#queue.context.scheduler.remove(this.#retry)
    for (const slot of this.#slots) {
      const refusal = this.#spacing.refusal(slot.cost)
      if (refusal !== undefined) {
        if (!this.#spacing.starting) this.#wait(refusal.retryAfter)
        return
      }
      this.#slots.delete(slot)
      this.#spacing.startLocally(slot.cost)
      this.#go(slot)
    }
  }

  /** @param milliseconds after this time the first kept slot (passed start time) is tried again */
  #wait(milliseconds: number): void {
    const { context, now } = this.#queue
    const at = now + milliseconds * 1000
    const check = this.#check()
    const resume = () => this.resume()
    check?.schedule(at)
    this.#retry = context.scheduler.at(at, check ? () => check.confirm(resume) : resume)
  }

  remove(slot: Slot): void {
    if (this.#slots.delete(slot) && this.#slots.size === 0) this.#queue.context.scheduler.remove(this.#retry)
  }
}
