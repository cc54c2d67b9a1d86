import { afterPendingEvents } from '#platform'
import { type Clock, monotonicClock } from '../clock.ts'
import { HeadgateError } from '../errors.ts'
import { LinkedList } from '../linked-list.ts'
import { longestSleep, type Sleeper, timerSleeper } from '../sleeper.ts'
import { type DeadlineItem, PendingCall } from './pending-call.ts'

export { DeadlineItem, PendingCall } from './pending-call.ts'

const ignore = (): void => {}

/** A process whose turn comes this much later than due stood still, in microseconds. Less is the noise of timers. */
const standstill = 20_000

const defaultFix = 'Check the connection, or set a longer timeout.'

/**
 * Deadlines with one common timeout, kept by one timer. The item that is added first is due first. No timer runs while
 * no item waits, and none is set for items that are removed within the same turn of the event loop.
 *
 * A deadline passes while this process runs. If the process stood still (a long computation, a paused container), the
 * store had no chance to be asked or heard, so what waits gets that time back, once.
 */
export class Deadlines {
  readonly #who: string
  readonly #timeout: number
  readonly #fix: string
  readonly #clock: Clock
  readonly #sleeper: Sleeper
  readonly #waiting = new LinkedList<DeadlineItem>()
  /** True while `#arm` or `#expire` is to run, by the timer or after the pending events. */
  #scheduled = false
  /** When an item was added beside others, since this process last turned to pending events; undefined if none was. */
  #turnBegan: number | undefined
  #cancelTimer: (() => void) | undefined
  /** When the scheduled `#arm` or `#expire` should run. */
  #expected = 0
  /** When this process was last seen to run. */
  #alive = 0

  /**
   * @param who the name of what should answer, for the error
   * @param timeout in milliseconds
   * @param fix what the error tells the user to do
   */
  constructor(
    who: string,
    timeout: number,
    fix: string = defaultFix,
    clock: Clock = monotonicClock,
    sleeper: Sleeper = timerSleeper(),
  ) {
    this.#who = who
    this.#timeout = timeout
    this.#fix = fix
    this.#clock = clock
    this.#sleeper = sleeper
  }

  add(item: DeadlineItem): void {
    const now = this.#clock()
    const alone = this.#waiting.first === undefined
    item.due = now + this.#timeout * 1000
    item.waits = true
    item.moved = false
    this.#waiting.add(item)
    if (this.#timeout === Infinity) return
    if (this.#turnBegan === undefined) this.#alive = now
    if (!alone) this.#beginTurn(now)
    if (this.#scheduled) return
    this.#scheduled = true
    this.#expected = now
    afterPendingEvents(() => this.#arm())
  }

  /** One turn may add many items, and take longer than their timeout. */
  #beginTurn(now: number): void {
    if (this.#turnBegan !== undefined) return
    this.#turnBegan = now
    afterPendingEvents(this.#forgiveTurn)
  }

  /** Gives an item that waits its whole time again. */
  restart(item: DeadlineItem): void {
    if (!item.waits) return
    this.#waiting.remove(item)
    this.#alive = this.#clock()
    item.due = this.#alive + this.#timeout * 1000
    item.moved = false
    this.#waiting.add(item)
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
  bound<T>(answer: Promise<T>, late: (answer: T) => void = ignore): Promise<T> {
    return this.promise((call) => {
      answer.then(
        (value) => (call.settled ? late(value) : call.resolve(value)),
        (error) => call.reject(error),
      )
    })
  }

  /** The same for an answer to a question that counts nothing. */
  reading<T>(answer: Promise<T>): Promise<T> {
    return this.promise((call) => {
      call.sent = false
      answer.then(
        (value) => call.resolve(value),
        (error) => call.reject(error),
      )
    })
  }

  /** A promise for a new pending call, which `start` gets. */
  promise<T>(start: (call: PendingCall<T>) => void): Promise<T> {
    return new Promise((resolve, reject) => {
      const call = new PendingCall(this, resolve, reject)
      this.add(call)
      start(call)
    })
  }

  #expire(): void {
    this.#forgiveTurn()
    const now = this.#clock()
    const waiting = this.#waiting
    for (let item = waiting.first; item !== undefined && item.due <= now; item = waiting.first) {
      this.remove(item)
      item.expire(this.#unanswered(item))
    }
    this.#arm()
  }

  #unanswered({ sent }: DeadlineItem): HeadgateError {
    const counted = sent ? 'It is not known whether the call counted.' : 'The call did not count.'
    const message = `${this.#who} did not answer within ${this.#timeout} ms. ${counted} ${this.#fix}`
    return new HeadgateError('HEADGATE_STORE_TIMEOUT', message, { uncounted: !sent })
  }

  /** While this process made calls, or was busy otherwise, the store was not heard. */
  readonly #forgiveTurn = (): void => {
    if (this.#turnBegan === undefined) return
    const stoodStill = this.#clock() - this.#turnBegan
    this.#turnBegan = undefined
    if (stoodStill >= standstill) this.#giveBack(stoodStill)
  }

  /** To be called where this process wanted to be at `#expected`. */
  #forgiveStandstill(): void {
    const now = this.#clock()
    if (now - this.#expected >= standstill) this.#giveBack(now - Math.min(this.#alive, this.#expected))
    this.#alive = now
    this.#expected = now
  }

  /** Gives back the time in which this process stood still. A clock of the user's own may jump, which says nothing. */
  #giveBack(stoodStill: number): void {
    if (this.#clock !== monotonicClock) return
    const now = this.#clock()
    this.#alive = now
    const latest = now + this.#timeout * 1000
    for (let item = this.#waiting.last; item !== undefined && !item.moved; item = item.before) {
      item.due = Math.min(item.due + stoodStill, latest)
      item.moved = true
    }
  }

  /** Sets the timer for what is due first. An answer that arrived while this process was busy is read before it counts. */
  #arm(): void {
    this.#forgiveStandstill()
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
    const sleep = Math.min(left, longestSleep)
    this.#expected = this.#clock() + sleep * 1000
    this.#cancelTimer = this.#sleeper(sleep, () => {
      this.#cancelTimer = undefined
      this.#forgiveStandstill()
      expire()
    })
  }

  #disarm(): void {
    this.#cancelTimer?.()
    this.#cancelTimer = undefined
    this.#scheduled = false
  }
}
