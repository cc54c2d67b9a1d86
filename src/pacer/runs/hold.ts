import type { PacerContext } from '../pacer-context.ts'
import type { Task } from '../timers/index.ts'

/** The rank with which the scheduler orders tasks of the same time: the end of a hold (a stop of a key) runs before slots and deadlines. */
const beforeSlots = -1

/** A time in which a key admits no call: see `Pace.hold`. A timer is set only while a call waits for the end of the hold. */
export class Hold {
  /** When the hold (stop of the key) ends, in microseconds. The time may be in the past. */
  until = 0
  /** The end of the hold (stop of the key) that is known to the other processes with the same store, in microseconds. */
  sharedUntil = 0
  readonly #context: PacerContext
  readonly #onEnd: () => void
  #end: Task | undefined

  /** @param onEnd called when the hold (stop of the key) ends, if a call waits for the end */
  constructor(context: PacerContext, onEnd: () => void) {
    this.#context = context
    this.#onEnd = onEnd
  }

  /** True while the key is stopped. A late timer makes the stop longer, so that no new call overtakes the waiters. */
  get on(): boolean {
    return this.until > 0 && (this.#end?.pending || this.#context.clock() < this.until)
  }

  /** For how many more microseconds the key is stopped. */
  get left(): number {
    return this.on ? Math.max(0, this.until - this.#context.clock()) : 0
  }

  /** @param waits true if a call waits: the end is then announced, also if it has passed while the caller gave slots back */
  begin(until: number, waits: boolean): void {
    this.unwatch()
    this.until = until
    if (waits) this.#schedule()
  }

  /** Starts the timer, because a call waits for the end of the hold (stop of the key). */
  watch(): void {
    if (!this.#end?.pending && this.on) this.#schedule()
  }

  #schedule(): void {
    this.#end = this.#context.scheduler.at(this.until, this.#onEnd, beforeSlots)
  }

  /** Stops the timer, because no call waits for the end of the hold (stop of the key) any more. */
  unwatch(): void {
    this.#context.scheduler.remove(this.#end)
  }
}
