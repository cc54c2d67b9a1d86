import { afterPendingEvents } from '#platform'
import { type Duration, invalidOption, milliseconds } from '../common/index.ts'

interface Sleep {
  /** When the sleep ends, in microseconds. */
  readonly at: number
  readonly wake: () => void
}

/** A clock that moves only when a test moves it. Pass its `now` to a store: `memoryStore({ clock: clock.now })`. */
export class ManualClock {
  #microseconds: number
  readonly #sleeps = new Set<Sleep>()

  /**
   * @param start whole milliseconds since the epoch; default: the start of 2026, UTC
   * @throws HeadgateError `HEADGATE_CLOCK` if the start is invalid
   */
  constructor(start: number = Date.UTC(2026, 0, 1)) {
    this.#microseconds = microsecondsOf(start)
    this.#check(this.#microseconds, start)
  }

  /** The time in whole microseconds since the epoch. This function can be passed on without its object. */
  readonly now = (): number => this.#microseconds

  /** The time in milliseconds since the epoch. */
  get milliseconds(): number {
    return this.#microseconds / 1000
  }

  /**
   * Moves the time forward, by milliseconds or text such as `'10s'`. The functions that wait (see `sleeper`) are called in the
   * order of their times. During each call, the clock shows the time at which this call was due.
   * @throws HeadgateError `HEADGATE_CLOCK` if the duration is invalid
   */
  advance(by: Duration): void {
    const until = this.#after(by)
    while (this.#wakeNext(until)) {}
    this.#microseconds = Math.max(this.#microseconds, until)
  }

  /**
   * Moves the time forward as `advance` does, and lets pending promises continue after each sleeper. Resolves when no
   * promise can continue any more. Rejects with HeadgateError `HEADGATE_CLOCK` if the duration is invalid.
   */
  async pass(by: Duration): Promise<void> {
    const until = this.#after(by)
    do await settled()
    while (this.#wakeNext(until))
    this.#microseconds = Math.max(this.#microseconds, until)
  }

  /**
   * Sets the time, in milliseconds since the epoch with up to three decimals. The time may be earlier than the present time. Wakes the
   * sleepers that are due.
   * @throws HeadgateError `HEADGATE_CLOCK` if the time is invalid
   */
  set(time: number): void {
    const microseconds = Math.round(microsecondsOf(time))
    this.#check(microseconds, time)
    this.#microseconds = microseconds
    while (this.#wakeNext(this.#microseconds)) {}
  }

  /** Calls `wake` after this time. Returns a function that cancels the call. Pass `sleeper` to a `Pacer` as its option of the same name. */
  readonly sleeper = (milliseconds: number, wake: () => void): (() => void) => {
    const sleep = { at: this.#microseconds + Math.ceil(milliseconds * 1000), wake }
    this.#sleeps.add(sleep)
    return () => this.#sleeps.delete(sleep)
  }

  /** How many sleepers are waiting. 0 at the end of a test shows that no timer is left. */
  get sleeping(): number {
    return this.#sleeps.size
  }

  #after(by: Duration): number {
    return this.#microseconds + milliseconds(by, 'advance', 'HEADGATE_CLOCK', 0) * 1000
  }

  /**
   * Wakes the next sleeper that is due by the time `until`. Returns false if no sleeper is due. Sleepers with equal times wake in the order
   * in which they began.
   */
  #wakeNext(until: number): boolean {
    let next: Sleep | undefined
    for (const sleep of this.#sleeps) {
      if (sleep.at <= until && (next === undefined || sleep.at < next.at)) next = sleep
    }
    if (next === undefined) return false
    this.#sleeps.delete(next)
    this.#microseconds = Math.max(this.#microseconds, next.at)
    next.wake()
    return true
  }

  #check(microseconds: number, given: number): void {
    if (Number.isSafeInteger(microseconds) && microseconds >= 0) return
    const expected = 'milliseconds since the epoch'
    throw invalidOption('A time', expected, given, 'Use Date.UTC(2026, 0, 1).', 'HEADGATE_CLOCK')
  }
}

/** NaN for a value that is no number, which JavaScript would otherwise convert: null would be 0. */
function microsecondsOf(time: number): number {
  return typeof time === 'number' ? time * 1000 : Number.NaN
}

/** Resolves when every promise that can continue has continued. */
function settled(): Promise<void> {
  return new Promise((resolve) => afterPendingEvents(resolve))
}
