/*
 * The queue for policies that cannot promise a future time. The queue requests units for the first waiter. After a refusal, the
 * queue requests again after the wait that the refusal names, or earlier if units in flight may be released earlier
 * (poll-times.ts).
 *
 * No call overtakes the first waiter, not even a call with a smaller cost. Otherwise smaller calls could make a large call wait without
 * end. At most one request to the store is pending.
 */

import { isPromise } from '../../common/index.ts'
import type { Booking } from '../../stores/contract/index.ts'
import type { PacerContext } from '../pacer-context.ts'
import { PollTimes } from '../poll-times.ts'
import type { Task } from '../timers/index.ts'
import { PriorityQueue } from './priority-queue.ts'
import { Queue } from './queue.ts'
import { obeyHold } from './shared-hold.ts'
import type { Waiter } from './waiter.ts'

/** How many calls may come during requests to the store without being counted as waiting, also if `maxQueue` is smaller. */
const mostFresh = 100

export class PollingQueue extends Queue {
  readonly #waiters = new PriorityQueue()
  /**
   * Waiters that came while a request to the store was pending. They are not counted as waiting until the queue knows that they have to
   * wait, unless they are many.
   */
  readonly #fresh = new Set<Waiter>()
  #retry: Task | undefined
  #requesting = false
  /**
   * True if units in flight (of ended calls) were released while a request to the store was pending, so that a refusal in the store's
   * response may be out of date.
   */
  #freed = false
  readonly #times: PollTimes

  constructor(context: PacerContext, key: string) {
    super(context, key)
    this.#times = new PollTimes(context.units, context.polling)
  }

  protected get empty(): boolean {
    return this.#waiters.first === undefined
  }

  protected get unanswered(): Iterable<Waiter> {
    return this.#waiters
  }

  protected add(waiter: Waiter): void {
    waiter.stage = 'queued'
    this.#waiters.add(waiter)
    const { stopped } = this
    if (this.#requesting && this.#fresh.size < Math.max(mostFresh, this.context.maxQueue)) this.#fresh.add(waiter)
    else if (!this.#requesting && this.#waiters.first === waiter && !stopped) this.#request()
    else {
      this.#stay(waiter)
      if (stopped && !this.stopped) this.#request() // the hold has ended meanwhile
    }
  }

  /** Requests units for the first waiter, then for the next, until a request is refused or the store returns a promise. */
  #request(): void {
    const { units } = this.context
    this.stop()
    while (!this.#requesting && !this.stopped) {
      const waiter = this.#waiters.first
      if (waiter === undefined) return
      const refusal = this.spacing?.refusal(waiter.cost)
      if (refusal !== undefined && this.spacing?.starting) {
        this.#stay(waiter)
        return
      }
      this.#requesting = true
      this.#freed = false
      const refused = refusal && { decision: refusal, wait: 0, tickets: undefined }
      const booking = refused ?? units.reserve(this.keys, waiter.cost, 0)
      if (isPromise(booking)) {
        this.#await(waiter, booking)
        return
      }
      this.#requesting = false
      if (!this.#decided(waiter, booking)) return
    }
  }

  #await(waiter: Waiter, booking: Promise<Booking>): void {
    const answered = (decide: () => boolean) => {
      this.#requesting = false
      if (decide()) this.#request()
      const fresh = this.#requesting ? [] : [...this.#fresh]
      for (const each of fresh) this.#fresh.delete(each)
      for (const each of fresh) this.#stay(each)
    }
    this.request(
      booking,
      (booked) => answered(() => this.#decided(waiter, booked)),
      (error) => answered(() => this.#end(waiter, () => this.refuse(waiter, error))),
    )
  }

  /** Handles the answer of the store for a waiter. Returns true if the next request can be sent without waiting. */
  #decided(waiter: Waiter, booking: Booking): boolean {
    const { decision, tickets } = booking
    if (decision.allowed) this.#times.granted()
    const here = waiter.stage === 'queued' && !this.stopped
    if (decision.allowed && here) return this.#end(waiter, () => this.admit(waiter, booking))
    if (decision.allowed) void this.context.units.giveBack(this.keys, tickets)
    if (!here || obeyHold(this, decision)) {
      this.#stay(waiter)
      return true
    }
    if (decision.retryAfter === Infinity || this.#times.shortest(decision) > this.maxWaitOf(waiter)) {
      return this.#end(waiter, () => this.refuseBy(decision, waiter))
    }
    this.#stay(waiter)
    if (this.#waiters.first !== waiter) return true
    const { now } = this
    const wait = this.#times.next(decision, now, waiter.timeLeft)
    this.#requestAt(this.#freed ? this.#times.afterRelease(now) : now + wait)
    return false
  }

  #requestAt(at: number): void {
    this.stop()
    this.#retry = this.context.scheduler.at(at, () => this.#request())
  }

  /** Removes a waiter from the queue, and ends its wait. Does nothing if the waiter is already admitted or refused. */
  #end(waiter: Waiter, end: () => void): true {
    if (waiter.stage === 'queued') {
      this.#waiters.remove(waiter)
      this.#fresh.delete(waiter)
      end()
    }
    return true
  }

  /** Leaves a refused waiter in the queue. Removes the waiter if it is not allowed to wait (longer). */
  #stay(waiter: Waiter): void {
    if (waiter.stage === 'queued' && !this.wait(waiter)) this.#waiters.remove(waiter)
  }

  protected remove(waiter: Waiter): void {
    if (waiter.stage !== 'queued') return
    const first = this.#waiters.first === waiter
    this.#waiters.remove(waiter)
    this.#fresh.delete(waiter)
    if (first) this.#request()
  }

  stop(): void {
    this.context.scheduler.remove(this.#retry)
  }

  restart(): void {
    this.#request()
  }

  protected resume(): void {
    if (!this.#requesting && !this.#retry?.pending) this.#request()
  }

  override freed(): void {
    if (this.context.renewals === undefined) return
    this.#freed = true
    if (!this.#retry?.pending) return
    const { now } = this
    const at = this.#times.afterRelease(now)
    if (at <= now) this.#request()
    else this.#requestAt(at)
  }

  /** Requests units for the first waiter again, because the waiter may be admitted at a higher rate. */
  rateChanged(): void {
    if (!this.stopped) this.#request()
  }
}
