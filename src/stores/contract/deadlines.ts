import { afterPendingEvents, isolatesRequests } from '#platform'
import { type Clock, HeadgateError, LinkedList, monotonicClock, realSleeper, type Sleeper } from '../../common/index.ts'
import { type DeadlineItem, PendingCall } from './pending-call.ts'

const ignore = (): void => {}
/**
 * If a timer fires at least this many microseconds late, this process is assumed to have stood still. Smaller delays are usual for timers.
 * If a quarter of the timeout is shorter than this number, that quarter is used. So every standstill longer than the timeout is noticed.
 */
const standstill = 20_000

/** The longest sleep of the timer, in milliseconds. After each sleep, the timer checks whether the process stood still. */
const longestNap = 20
const defaultFix = 'Check the connection, or set a longer timeout.'

/**
 * Deadlines with one common timeout, so the item that was added first is due first. All items use one timer. When the last item is removed,
 * the timer is not cancelled, because cancelling is slow. The timer then fires once more.
 *
 * While this process stands still (a long computation, a paused container), the store cannot get a request or answer it. So the
 * deadlines of waiting items are extended by the time of the standstill, once for each item.
 */
export class Deadlines {
  readonly #who: string
  readonly #timeout: number
  readonly #standstill: number
  readonly #fix: string
  readonly #clock: Clock
  readonly #sleeper: Sleeper
  readonly #waiting = new LinkedList<DeadlineItem>()
  /** True while a timer for `#wake`, or a call of `#expire`, is pending. */
  #scheduled = false
  /** When `#wake` or `#expire` is expected to run, in microseconds. */
  #expected = 0
  /** When this process was last known to run, in microseconds. */
  #alive = 0

  /**
   * @param who the subject of the error message: what did not answer, such as `'The store'`
   * @param timeout the time until the deadline, in milliseconds
   * @param fix a sentence of the error message that says what the user can do
   */
  constructor(
    who: string,
    timeout: number,
    fix: string = defaultFix,
    clock: Clock = monotonicClock,
    sleeper: Sleeper = realSleeper(),
  ) {
    this.#who = who
    this.#timeout = timeout
    this.#standstill = Math.min(standstill, timeout * 250)
    this.#fix = fix
    this.#clock = clock
    this.#sleeper = sleeper
  }

  add(item: DeadlineItem): void {
    const now = this.#clock()
    item.due = now + this.#timeout * 1000
    item.waits = true
    item.moved = false
    this.#waiting.add(item)
    if (this.#timeout === Infinity) return
    if (isolatesRequests) this.#wakeAlone(item, this.#timeout)
    else if (!this.#scheduled) this.#sleep(now)
  }

  /** Sets a timer for this item only. Cloudflare Workers need this, because there a timer ends with the request that set the timer. */
  #wakeAlone(item: DeadlineItem, nap: number): void {
    this.#sleeper(nap, () => {
      const left = item.due - this.#clock()
      if (item.waits && left > 0) this.#wakeAlone(item, Math.ceil(left / 1000))
      else if (this.remove(item)) item.expire(this.#unanswered(item))
    })
  }

  /** Gives a waiting item a new deadline, a full timeout from now. */
  restart(item: DeadlineItem): void {
    if (!item.waits) return
    this.#waiting.remove(item)
    item.due = this.#clock() + this.#timeout * 1000
    item.moved = false
    this.#waiting.add(item)
  }

  /** Removes an item. Returns false if the item was not waiting any more. */
  remove(item: DeadlineItem): boolean {
    if (!item.waits) return false
    item.waits = false
    this.#waiting.remove(item)
    return true
  }

  /**
   * Returns a promise that settles as `answer` does, or rejects with HEADGATE_STORE_TIMEOUT at the deadline.
   * @param late called with a result that comes after the rejection
   * @param sent false if the request cannot have counted a call: see `DeadlineItem`
   */
  bound<T>(answer: Promise<T>, late: (answer: T) => void = ignore, sent = true): Promise<T> {
    return this.promise((call) => {
      call.sent = sent
      answer.then(
        (value) => (call.settled ? late(value) : call.resolve(value)),
        (error) => call.reject(error),
      )
    })
  }

  /** Does the same as `bound` for a request that only reads from the store, and so counts no call. */
  reading<T>(answer: Promise<T>): Promise<T> {
    return this.bound(answer, ignore, false)
  }

  /**
   * Makes a promise with a deadline. `start` gets the pending call, and has to resolve or reject the call.
   * @param isUnattended true if the call has no deadline, because no caller waits
   */
  promise<T>(start: (call: PendingCall<T>) => void, isUnattended = false): Promise<T> {
    return new Promise((resolve, reject) => {
      const call = new PendingCall(this, resolve, reject)
      if (!isUnattended) this.add(call)
      start(call)
    })
  }

  #unanswered({ sent }: DeadlineItem): HeadgateError {
    const counted = sent ? 'It is not known whether the call counted.' : 'The call did not count.'
    const message = `${this.#who} did not answer within ${this.#timeout} ms. ${counted} ${this.#fix}`
    return new HeadgateError('HEADGATE_STORE_TIMEOUT', message, { uncounted: !sent })
  }

  #sleep(now: number): void {
    const { first } = this.#waiting
    this.#scheduled = first !== undefined
    if (first === undefined) return
    const nap = Math.max(0, Math.min(Math.ceil((first.due - now) / 1000), longestNap))
    this.#alive = now
    this.#expected = now + nap * 1000
    this.#sleeper(nap, this.#wake)
  }

  /** Checks deadlines after pending events, so that an answer is read first if the answer came while this process was busy. */
  readonly #wake = (): void => {
    const now = this.#forgiveStandstill()
    const { first } = this.#waiting
    if (first !== undefined && first.due <= now) afterPendingEvents(this.#expire)
    else this.#sleep(now)
  }

  readonly #expire = (): void => {
    const now = this.#forgiveStandstill()
    const waiting = this.#waiting
    try {
      for (let item = waiting.first; item !== undefined && item.due <= now; item = waiting.first) {
        this.remove(item)
        item.expire(this.#unanswered(item))
      }
    } finally {
      this.#sleep(this.#forgiveStandstill())
    }
  }

  /** Extends the deadlines if this process stood still. Returns the present time, in microseconds. */
  #forgiveStandstill(): number {
    const now = this.#clock()
    const latest = now + this.#timeout * 1000
    // If the user passed a clock, a jump of that clock does not show that this process stood still.
    if (this.#clock === monotonicClock && now - this.#expected >= this.#standstill) {
      this.#giveBack(now - Math.min(this.#alive, this.#expected), latest)
    }
    if (now < this.#alive) this.#limit(latest)
    this.#alive = now
    this.#expected = now
    return now
  }

  /** Moves every deadline after `latest` to `latest`, because a wait must not become longer when the clock is set back. */
  #limit(latest: number): void {
    for (let item = this.#waiting.first; item !== undefined; item = item.after) item.due = Math.min(item.due, latest)
  }

  #giveBack(stoodStill: number, latest: number): void {
    for (let item = this.#waiting.last; item !== undefined && !item.moved; item = item.before) {
      item.due = Math.min(item.due + stoodStill, latest)
      item.moved = true
    }
  }
}
