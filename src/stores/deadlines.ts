import { afterPendingEvents } from '#platform'
import { type Clock, monotonicClock } from '../clock.ts'
import { type Sleeper, timerSleeper } from '../sleeper.ts'

export type { Sleeper }
export const timer: Sleeper = timerSleeper()

/** What has to be over by a time. It is also a place in line, and knows its neighbours only as long as it is in it. */
export abstract class Due {
  due = 0
  waits = false
  before: Due | undefined
  after: Due | undefined

  /** The time is up. */
  abstract expire(): void
}

/**
 * Bounds how long answers may take, all by one timer: every call has as long, so they are due in the order they came.
 * No timer is left where nothing is pending.
 *
 * Links that are cleared, and no Set: one that is used up makes a new table, to which the old one points, so that a
 * single table in the old generation would keep alive all calls that came after it.
 */
export class Deadlines {
  /** In milliseconds. */
  readonly timeout: number
  readonly #clock: Clock
  readonly #sleeper: Sleeper
  #first: Due | undefined
  #last: Due | undefined
  #callOff: (() => void) | undefined

  constructor(timeout: number, clock: Clock = monotonicClock, sleeper: Sleeper = timer) {
    this.timeout = timeout
    this.#clock = clock
    this.#sleeper = sleeper
  }

  add(call: Due): void {
    call.due = this.#clock() + this.timeout * 1000
    call.waits = true
    call.before = this.#last
    if (this.#last === undefined) this.#first = call
    else this.#last.after = call
    this.#last = call
    if (this.#callOff === undefined) this.#arm(this.timeout)
  }

  /** Whether it was waiting. */
  remove(call: Due): boolean {
    const { waits, before, after } = call
    if (!waits) return false
    if (before === undefined) this.#first = after
    else before.after = after
    if (after === undefined) this.#last = before
    else after.before = before
    call.waits = false
    call.before = undefined
    call.after = undefined
    if (this.#first === undefined) this.#disarm()
    return true
  }

  #arm(milliseconds: number): void {
    // An answer that has come while this process was busy still counts: it is read before the next turn.
    this.#callOff = this.#sleeper(milliseconds, () => afterPendingEvents(() => this.#expire()))
  }

  #disarm(): void {
    this.#callOff?.()
    this.#callOff = undefined
  }

  #expire(): void {
    const now = this.#clock()
    for (let call = this.#first; call !== undefined; call = this.#first) {
      if (call.due > now) {
        this.#disarm()
        this.#arm(Math.ceil((call.due - now) / 1000))
        return
      }
      this.remove(call)
      call.expire()
    }
  }
}
