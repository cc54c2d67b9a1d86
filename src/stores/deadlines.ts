import { afterPendingEvents } from '#platform'
import { type Clock, monotonicClock } from '../clock.ts'

/** Calls `wake` once after that many milliseconds. Returns a function that cancels it. */
export type Sleeper = (milliseconds: number, wake: () => void) => () => void

export const timer: Sleeper = (milliseconds, wake) => {
  const timeout = setTimeout(wake, milliseconds)
  return () => clearTimeout(timeout)
}

/** Something with a deadline. It is its own list node, linked to its neighbours while it waits. */
export abstract class Due {
  due = 0
  waits = false
  before: Due | undefined
  after: Due | undefined

  /** The deadline has passed. */
  abstract expire(): void
}

class BoundedAnswer extends Due {
  readonly #expired: () => void

  constructor(expired: () => void) {
    super()
    this.#expired = expired
  }

  expire(): void {
    this.#expired()
  }
}

/**
 * Deadlines that are all equally far away, kept by one timer. Whatever is added first is due first. No timer runs while
 * nothing waits, and none is set for what is removed within the same turn of the event loop.
 *
 * The list is made of links that are cleared, not of a Set. A Set that is used up makes a new table, and the old one points
 * to it. A single table in the old generation would keep everything alive that was added after it.
 */
export class Deadlines {
  /** In milliseconds. */
  readonly timeout: number
  readonly #clock: Clock
  readonly #sleeper: Sleeper
  #first: Due | undefined
  #last: Due | undefined
  /** True while `#arm` or `#expire` is to run, by the timer or after the pending events. */
  #scheduled = false
  #cancelTimer: (() => void) | undefined

  constructor(timeout: number, clock: Clock = monotonicClock, sleeper: Sleeper = timer) {
    this.timeout = timeout
    this.#clock = clock
    this.#sleeper = sleeper
  }

  add(item: Due): void {
    item.due = this.#clock() + this.timeout * 1000
    item.waits = true
    item.before = this.#last
    if (this.#last === undefined) this.#first = item
    else this.#last.after = item
    this.#last = item
    if (this.#scheduled) return
    this.#scheduled = true
    afterPendingEvents(() => this.#arm())
  }

  /** Returns true if it was waiting. */
  remove(item: Due): boolean {
    const { waits, before, after } = item
    if (!waits) return false
    if (before === undefined) this.#first = after
    else before.after = after
    if (after === undefined) this.#last = before
    else after.before = before
    item.waits = false
    item.before = undefined
    item.after = undefined
    if (this.#first === undefined && this.#cancelTimer !== undefined) this.#disarm()
    return true
  }

  /**
   * The same answer, or a rejection at the deadline.
   * @param late gets an answer that comes after the rejection
   */
  bound<T>(answer: Promise<T>, error: () => Error, late: (answer: T) => void = () => undefined): Promise<T> {
    return new Promise((resolve, reject) => {
      const item = new BoundedAnswer(() => reject(error()))
      this.add(item)
      answer.then(
        (value) => (this.remove(item) ? resolve(value) : late(value)),
        (reason) => this.remove(item) && reject(reason),
      )
    })
  }

  #expire(): void {
    const now = this.#clock()
    for (let item = this.#first; item !== undefined && item.due <= now; item = this.#first) {
      this.remove(item)
      item.expire()
    }
    this.#arm()
  }

  /** Sets the timer for what is due first. An answer that arrived while this process was busy is read before it counts. */
  #arm(): void {
    const first = this.#first
    this.#scheduled = first !== undefined
    if (first === undefined) return
    const expire = () => afterPendingEvents(() => this.#expire())
    const left = Math.ceil((first.due - this.#clock()) / 1000)
    if (left <= 0) {
      expire()
      return
    }
    this.#cancelTimer = this.#sleeper(left, () => {
      this.#cancelTimer = undefined
      expire()
    })
  }

  #disarm(): void {
    this.#cancelTimer?.()
    this.#cancelTimer = undefined
    this.#scheduled = false
  }
}
