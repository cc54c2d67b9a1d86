import type { Clock } from '../clock.ts'
import type { Scheduler } from './scheduler.ts'
import { Task } from './task-queue.ts'

/** A time during which a key admits no call. It has a timer only while a call waits for its end. */
export class Hold {
  /** The end in microseconds. It may be in the past. */
  until = 0
  readonly #scheduler: Scheduler
  readonly #clock: Clock
  readonly #onEnd: () => void
  #end: HoldEnd | undefined

  /** @param onEnd called at the end, if a call waits for it */
  constructor(scheduler: Scheduler, clock: Clock, onEnd: () => void) {
    this.#scheduler = scheduler
    this.#clock = clock
    this.#onEnd = onEnd
  }

  /** True until the end. If the timer is late, true until it fires, so that no new call overtakes the waiters. */
  get on(): boolean {
    return this.until > 0 && (this.#end !== undefined || this.#clock() < this.until)
  }

  begin(until: number): void {
    this.unwatch()
    this.until = until
  }

  /** Sets the timer, because a call waits for the end. */
  watch(): void {
    if (this.#end !== undefined || !this.on) return
    this.#end = new HoldEnd(() => {
      this.#end = undefined
      this.#onEnd()
    })
    this.#scheduler.add(this.#end, this.until)
  }

  /** Removes the timer: no call waits for the end any more. */
  unwatch(): void {
    if (this.#end !== undefined) this.#scheduler.remove(this.#end)
    this.#end = undefined
  }
}

class HoldEnd extends Task {
  readonly run: () => void

  constructor(run: () => void) {
    super()
    this.run = run
  }

  /** Runs before the slots and deadlines of the same time. */
  override get rank(): number {
    return -1
  }
}
