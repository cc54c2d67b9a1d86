import { type Duration, milliseconds } from '../duration.ts'
import { HeadgateError, shown } from '../errors.ts'

/** A clock that moves only when told: hand its `now` to a store, `memoryStore({ clock: clock.now })`. */
export class ManualClock {
  #microseconds: number

  /** @param start whole milliseconds since the epoch; default the start of 2026 */
  constructor(start: number = Date.UTC(2026, 0, 1)) {
    this.#microseconds = start * 1000
    this.#check(this.#microseconds, start)
  }

  /** The time in whole microseconds since the epoch. Bound: pass it on as it is. */
  readonly now = (): number => this.#microseconds

  /** The time in milliseconds since the epoch. */
  get milliseconds(): number {
    return this.#microseconds / 1000
  }

  /** Moves the time on by milliseconds or text such as `'10s'`. */
  advance(by: Duration): void {
    this.#microseconds += milliseconds(by, 'advance', 'HEADGATE_CLOCK', 0) * 1000
  }

  /** Sets the time, in milliseconds since the epoch with at most three decimals; backwards too. */
  set(time: number): void {
    this.#check(Math.round(time * 1000), time)
    this.#microseconds = Math.round(time * 1000)
  }

  #check(microseconds: number, given: number): void {
    if (Number.isSafeInteger(microseconds) && microseconds >= 0) return
    throw new HeadgateError('HEADGATE_CLOCK', `A time must be milliseconds since the epoch, got ${shown(given)}.`)
  }
}
