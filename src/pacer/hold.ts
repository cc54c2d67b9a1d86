import type { Clock } from '../clock.ts'
import type { Scheduler } from './scheduler.ts'
import type { Task } from './task-queue.ts'

/** A hold ends before the slots and deadlines of the same time. */
const beforeSlots = -1

/** A time during which a key admits no call. It has a timer only while a call waits for its end. */
export class Hold {
  /** The end in microseconds. It may be in the past. */
  until = 0
  readonly #scheduler: Scheduler
  readonly #clock: Clock
  readonly #onEnd: () => void
  #end: Task | undefined

  /** @param onEnd called at the end, if a call waits for it */
  constructor(scheduler: Scheduler, clock: Clock, onEnd: () => void) {
    this.#scheduler = scheduler
    this.#clock = clock
    this.#onEnd = onEnd
  }

  /** True until the end. If the timer is late, true until it fires, so that no new call overtakes the waiters. */
  get on(): boolean {
    return this.until > 0 && (this.#end?.pending || this.#clock() < this.until)
  }

  begin(until: number): void {
    this.unwatch()
    this.until = until
  }

  /** Sets the timer, because a call waits for the end. */
  watch(): void {
    if (!this.#end?.pending && this.on) this.#end = this.#scheduler.at(this.until, this.#onEnd, beforeSlots)
  }

  /** Removes the timer: no call waits for the end any more. */
  unwatch(): void {
    this.#scheduler.remove(this.#end)
  }
}
