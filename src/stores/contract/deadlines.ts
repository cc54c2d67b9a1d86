import { afterPendingEvents, isolatesRequests } from '#platform'
import {
  type Clock,
  HeadgateError,
  LinkedList,
  type ListNode,
  monotonicClock,
  realSleeper,
  type Sleeper,
} from '../../common/index.ts'

const ignore = (): void => {}
/**
 * If the timer fires this much later than due, the process stood still, in microseconds. Less is noise of timers. A quarter of
 * a short timeout counts too: otherwise a standstill longer than the timeout would pass for noise.
 */
const standstill = 20_000

/** The longest sleep of the timer, in milliseconds. If it sleeps longer, the process may have stood still. */
const longestNap = 20
const defaultFix = 'Check the connection, or set a longer timeout.'

/** An item with a deadline. It is its own list node, linked to its neighbours while it waits. */
export abstract class DeadlineItem implements ListNode<DeadlineItem> {
  due = 0
  waits = false
  /** False while the store cannot have counted the item's request. */
  sent = true
  /** True once the deadline was moved because this process stood still. It is moved only once. */
  moved = false
  before: DeadlineItem | undefined
  after: DeadlineItem | undefined

  /** Called when the deadline has passed. */
  abstract expire(error: HeadgateError): void
}

/**
 * Deadlines with one common timeout. The item that is added first is due first. One timer serves all items. When the last item
 * is removed, the timer is not cancelled, because that would take most of the time: it fires once more, and is not set again.
 *
 * A deadline passes while this process runs. If the process stood still (a long computation, a paused container), the
 * store had no chance to get a request or to answer. So waiting items get that time back, once.
 */
export class Deadlines {
  readonly #who: string
  readonly #timeout: number
  readonly #standstill: number
  readonly #fix: string
  readonly #clock: Clock
  readonly #sleeper: Sleeper
  readonly #waiting = new LinkedList<DeadlineItem>()
  /** True while `#wake` or `#expire` will run. */
  #scheduled = false
  /** When `#wake` or `#expire` should run. */
  #expected = 0
  /** When this process was last seen to run. */
  #alive = 0

  /**
   * @param who who should answer, such as `'The store'`, for the error
   * @param timeout in milliseconds
   * @param fix a sentence for the error: what the user can do
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

  /** A timer for this item only, which ends with the request of the item. */
  #wakeAlone(item: DeadlineItem, nap: number): void {
    this.#sleeper(nap, () => {
      const left = item.due - this.#clock()
      if (item.waits && left > 0) this.#wakeAlone(item, Math.ceil(left / 1000))
      else if (this.remove(item)) item.expire(this.#unanswered(item))
    })
  }

  /** Restarts the deadline of a waiting item. */
  restart(item: DeadlineItem): void {
    if (!item.waits) return
    this.#waiting.remove(item)
    item.due = this.#clock() + this.#timeout * 1000
    item.moved = false
    this.#waiting.add(item)
  }

  /** Removes an item. Returns true if it was waiting. */
  remove(item: DeadlineItem): boolean {
    if (!item.waits) return false
    item.waits = false
    this.#waiting.remove(item)
    return true
  }

  /**
   * Resolves as `answer` does, or rejects with `error` at the deadline.
   * @param late called with a result that comes after the rejection
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

  /** Like `bound`, for a question that counts nothing. */
  reading<T>(answer: Promise<T>): Promise<T> {
    return this.bound(answer, ignore, false)
  }

  /** A promise for a new pending call. `start` gets the call. */
  promise<T>(start: (call: PendingCall<T>) => void): Promise<T> {
    return new Promise((resolve, reject) => {
      const call = new PendingCall(this, resolve, reject)
      this.add(call)
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

  /** Runs after pending events, so that an answer that arrived while this process was busy is read before the deadline. */
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

  /** Extends the deadlines by the time in which this process stood still. Returns the present time. */
  #forgiveStandstill(): number {
    const now = this.#clock()
    const latest = now + this.#timeout * 1000
    // A clock of the user's own may jump, which says nothing about this process.
    if (this.#clock === monotonicClock && now - this.#expected >= this.#standstill) {
      this.#giveBack(now - Math.min(this.#alive, this.#expected), latest)
    }
    if (now < this.#alive) this.#limit(latest)
    this.#alive = now
    this.#expected = now
    return now
  }

  /** Limits all deadlines: a clock that went back must not lengthen them. */
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

/**
 * A call that waits for its result. It is settled once: by the result, a failure or its deadline. Then it drops its
 * reference to the caller, because a queue may keep the call for longer.
 */
export class PendingCall<T> extends DeadlineItem {
  /** True once the caller has a result or an error. */
  settled = false
  #resolve: (result: T) => void
  #reject: (error: unknown) => void
  readonly #deadlines: Deadlines

  constructor(deadlines: Deadlines, resolve: (result: T) => void, reject: (error: unknown) => void) {
    super()
    this.#deadlines = deadlines
    this.#resolve = resolve
    this.#reject = reject
  }

  resolve(result: T): void {
    const resolve = this.#resolve
    if (this.#settle()) resolve(result)
  }

  reject(error: unknown): void {
    const reject = this.#reject
    if (this.#settle()) reject(error)
  }

  expire(error: HeadgateError): void {
    this.reject(error)
  }

  #settle(): boolean {
    if (this.settled) return false
    this.settled = true
    this.#resolve = ignore
    this.#reject = ignore
    this.#deadlines.remove(this)
    return true
  }
}
