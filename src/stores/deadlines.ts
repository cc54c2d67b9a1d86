import { afterPendingEvents } from '#platform'
import { type Clock, monotonicClock } from '../clock.ts'
import { LinkedList, type ListNode } from '../linked-list.ts'
import { type Sleeper, timerSleeper } from '../sleeper.ts'

/** An item with a deadline. It is its own list node, linked to its neighbours while it waits. */
export abstract class DeadlineItem implements ListNode<DeadlineItem> {
  due = 0
  waits = false
  before: DeadlineItem | undefined
  after: DeadlineItem | undefined

  /** Called when the deadline has passed. */
  abstract expire(): void
}

class BoundedAnswer extends DeadlineItem {
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
 * Deadlines with one common timeout, kept by one timer. The item that is added first is due first. No timer runs while
 * no item waits, and none is set for items that are removed within the same turn of the event loop.
 */
export class Deadlines {
  /** In milliseconds. */
  readonly timeout: number
  readonly #clock: Clock
  readonly #sleeper: Sleeper
  readonly #waiting = new LinkedList<DeadlineItem>()
  /** True while `#expire` is to run, by the timer or after the pending events. */
  #scheduled = false
  #cancelTimer: (() => void) | undefined

  constructor(timeout: number, clock: Clock = monotonicClock, sleeper: Sleeper = timerSleeper()) {
    this.timeout = timeout
    this.#clock = clock
    this.#sleeper = sleeper
  }

  add(item: DeadlineItem): void {
    item.due = this.#clock() + this.timeout * 1000
    item.waits = true
    this.#waiting.add(item)
    if (!this.#scheduled) this.#expireLater()
  }

  /** Removes an item. Returns true if it was waiting. */
  remove(item: DeadlineItem): boolean {
    if (!item.waits) return false
    item.waits = false
    this.#waiting.remove(item)
    if (this.#waiting.first === undefined && this.#cancelTimer !== undefined) this.#disarm()
    return true
  }

  /**
   * Resolves as `answer` does, or rejects with `error` at the deadline.
   * @param late gets a result that comes after the rejection
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

  /** A response that arrived while this process was busy is read before its deadline counts. */
  #expireLater(): void {
    this.#scheduled = true
    afterPendingEvents(() => this.#expire())
  }

  #expire(): void {
    this.#scheduled = false
    const now = this.#clock()
    const waiting = this.#waiting
    for (let item = waiting.first; item !== undefined; item = waiting.first) {
      if (item.due > now) {
        this.#arm(Math.ceil((item.due - now) / 1000))
        return
      }
      this.remove(item)
      item.expire()
    }
  }

  #arm(milliseconds: number): void {
    if (this.#scheduled) return // by what an expired item has added
    this.#scheduled = true
    this.#cancelTimer = this.#sleeper(milliseconds, () => {
      this.#cancelTimer = undefined
      this.#expireLater()
    })
  }

  #disarm(): void {
    this.#cancelTimer?.()
    this.#cancelTimer = undefined
    this.#scheduled = false
  }
}
