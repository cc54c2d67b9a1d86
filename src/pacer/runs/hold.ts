import type { PacerContext } from '../context.ts'
import type { Task } from '../timers/index.ts'

/** The rank of a hold's end, which runs before the slots and deadlines of the same time. */
const beforeSlots = -1

/** A time during which a key admits no call. A hold has a timer only while a call waits for its end. */
export class Hold {
  /** The end in microseconds. It may be in the past. */
  until = 0
  readonly #context: PacerContext
  readonly #onEnd: () => void
  #end: Task | undefined

  /** @param onEnd called when the hold ends, if a call waits for that */
  constructor(context: PacerContext, onEnd: () => void) {
    this.#context = context
    this.#onEnd = onEnd
  }

  /** True until the hold ends. If its timer is late, true until that fires, so that no new call overtakes waiters. */
  get on(): boolean {
    return this.until > 0 && (this.#end?.pending || this.#context.clock() < this.until)
  }

  begin(until: number): void {
    this.unwatch()
    this.until = until
  }

  /** Sets the timer, because a call waits for the end. */
  watch(): void {
    const { scheduler } = this.#context
    if (!this.#end?.pending && this.on) this.#end = scheduler.at(this.until, this.#onEnd, beforeSlots)
  }

  /** Removes the timer: no call waits for the end any more. */
  unwatch(): void {
    this.#context.scheduler.remove(this.#end)
  }
}
