import { type Duration, milliseconds } from '../duration.ts'
import { HeadgateError, shown } from '../errors.ts'

interface Sleep {
  /** Microseconds. */
  readonly at: number
  readonly wake: () => void
}

/** A clock that moves only when told: hand its `now` to a store, `memoryStore({ clock: clock.now })`. */
export class ManualClock {
  #microseconds: number
  readonly #sleeps = new Set<Sleep>()

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

  /** Moves the time on by milliseconds or text such as `'10s'`. Who sleeps is woken on the way, each at its own time. */
  advance(by: Duration): void {
    const until = this.#after(by)
    for (let next = this.#next(until); next !== undefined; next = this.#next(until)) this.#wake(next)
    this.#microseconds = Math.max(this.#microseconds, until)
  }

  /** `advance` that lets promises go on, too, wherever somebody wakes. Resolves when nothing is left to do by then. */
  async pass(by: Duration): Promise<void> {
    const until = this.#after(by)
    await settled()
    for (let next = this.#next(until); next !== undefined; next = this.#next(until)) {
      this.#wake(next)
      await settled()
    }
    this.#microseconds = Math.max(this.#microseconds, until)
  }

  /** Sets the time, in milliseconds since the epoch with at most three decimals; backwards too. Wakes who is due then. */
  set(time: number): void {
    this.#check(Math.round(time * 1000), time)
    this.#microseconds = Math.round(time * 1000)
    for (let next = this.#next(this.#microseconds); next !== undefined; next = this.#next(this.#microseconds)) {
      this.#wake(next)
    }
  }

  /** Calls `wake` after so many milliseconds of this clock; returns what calls it off. Bound: a `Pacer` takes it as `sleeper`. */
  readonly sleeper = (milliseconds: number, wake: () => void): (() => void) => {
    const sleep = { at: this.#microseconds + Math.ceil(milliseconds * 1000), wake }
    this.#sleeps.add(sleep)
    return () => this.#sleeps.delete(sleep)
  }

  /** How many sleep: 0 when nothing was left behind. */
  get sleeping(): number {
    return this.#sleeps.size
  }

  #after(by: Duration): number {
    return this.#microseconds + milliseconds(by, 'advance', 'HEADGATE_CLOCK', 0) * 1000
  }

  /** Who is woken next, up to that time; of those due at the same time who went to sleep first. */
  #next(until: number): Sleep | undefined {
    let next: Sleep | undefined
    for (const sleep of this.#sleeps) {
      if (sleep.at <= until && (next === undefined || sleep.at < next.at)) next = sleep
    }
    return next
  }

  #wake(sleep: Sleep): void {
    this.#sleeps.delete(sleep)
    this.#microseconds = Math.max(this.#microseconds, sleep.at)
    sleep.wake()
  }

  #check(microseconds: number, given: number): void {
    if (Number.isSafeInteger(microseconds) && microseconds >= 0) return
    throw new HeadgateError('HEADGATE_CLOCK', `A time must be milliseconds since the epoch, got ${shown(given)}.`)
  }
}

/** Lets every promise that can go on do so. */
function settled(): Promise<void> {
  return new Promise((resolve) => setImmediate(resolve))
}
