import type { Clock } from '../clock.ts'
import { Entry } from './entries.ts'
import type { Scheduler } from './scheduler.ts'

/** A time during which nobody of a lane is let through. Only while somebody waits for its end is there a timer for it. */
export class Hold {
  /** Its end, in microseconds; of the last one if there is none now. */
  until = 0
  readonly #agenda: Scheduler
  readonly #clock: Clock
  readonly #over: () => void
  #end: End | undefined

  /** @param over called when its time is over, if somebody waits for that */
  constructor(agenda: Scheduler, clock: Clock, over: () => void) {
    this.#agenda = agenda
    this.#clock = clock
    this.#over = over
  }

  /** Those who wait for its end go before those who come when it is due already. */
  get on(): boolean {
    return this.until > 0 && (this.#end !== undefined || this.#clock() < this.until)
  }

  begin(until: number): void {
    this.unwatch()
    this.until = until
  }

  watch(): void {
    if (this.#end !== undefined || !this.on) return
    this.#end = new End(() => {
      this.#end = undefined
      this.#over()
    })
    this.#agenda.add(this.#end, this.until)
  }

  unwatch(): void {
    if (this.#end !== undefined) this.#agenda.remove(this.#end)
    this.#end = undefined
  }
}

/** Before the turns and deadlines of its time. */
class End extends Entry {
  readonly due: () => void

  override get rank(): number {
    return -1
  }

  constructor(due: () => void) {
    super()
    this.due = due
  }
}
