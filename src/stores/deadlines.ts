import { afterPendingEvents } from '#platform'
import { type Clock, monotonicClock } from '../clock.ts'
import { LinkedList, type ListNode } from '../linked-list.ts'
import { longestSleep, type Sleeper, timerSleeper } from '../sleeper.ts'

/** Something with a deadline. It is its own list node, linked to its neighbours while it waits. */
export abstract class Due implements ListNode<Due> {
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
 */
export class Deadlines {
  /** In milliseconds. Infinity for no deadline. */
  readonly timeout: number
  readonly #clock: Clock
  readonly #sleeper: Sleeper
  readonly #waiting = new LinkedList<Due>()
  /** True while `#arm` or `#expire` is to run, by the timer or after the pending events. */
  #scheduled = false
  #cancelTimer: (() => void) | undefined

  constructor(timeout: number, clock: Clock = monotonicClock, sleeper: Sleeper = timerSleeper()) {
    this.timeout = timeout
    this.#clock = clock
    this.#sleeper = sleeper
  }

  add(item: Due): void {
    item.due = this.#clock() + this.timeout * 1000
    item.waits = true
    this.#waiting.add(item)
    if (this.#scheduled || this.timeout === Infinity) return
    this.#scheduled = true
    afterPendingEvents(() => this.#arm())
  }

  /** Returns true if it was waiting. */
  remove(item: Due): boolean {
    if (!item.waits) return false
    item.waits = false
    this.#waiting.remove(item)
    if (this.#waiting.first === undefined && this.#cancelTimer !== undefined) this.#disarm()
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
    const waiting = this.#waiting
    for (let item = waiting.first; item !== undefined && item.due <= now; item = waiting.first) {
      this.remove(item)
      item.expire()
    }
    this.#arm()
  }

  /** Sets the timer for what is due first. An answer that arrived while this process was busy is read before it counts. */
  #arm(): void {
    const { first } = this.#waiting
    this.#scheduled = first !== undefined
    if (first === undefined) return
    const expire = () => afterPendingEvents(() => this.#expire())
    const left = Math.ceil((first.due - this.#clock()) / 1000)
    if (left <= 0) {
      expire()
      return
    }
    // A timer that fires before the deadline, because that is too far away for one, is set again.
    this.#cancelTimer = this.#sleeper(Math.min(left, longestSleep), () => {
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
