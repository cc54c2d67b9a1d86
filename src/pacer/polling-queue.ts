/*
 * The queue for policies that cannot promise a future time. It requests permits for the first waiter. On a refusal, it
 * requests them again at the time that the refusal names, or sooner if units in flight may leave before it (poll-times.ts).
 *
 * No call overtakes the first waiter, not even one of a smaller cost: smaller calls could keep a large one waiting
 * without end. The store gets one request at a time.
 */

import type { Decision } from '../decision.ts'
import { isPromise } from '../maybe-promise.ts'
import type { Booking } from '../stores/command.ts'
import { PollTimes } from './poll-times.ts'
import { PriorityQueue } from './priority-queue.ts'
import type { Queue, QueueOwner } from './queue.ts'
import type { Task } from './task-queue.ts'
import type { Waiter } from './waiter.ts'

export class PollingQueue implements Queue {
  readonly #owner: QueueOwner
  readonly #waiters = new PriorityQueue()
  /** Waiters that came during a request to the store. They may be admitted right after its response. */
  #fresh: Waiter[] = []
  /** Sends the next request to the store. */
  #retry: Task | undefined
  #requesting = false
  /** True if units in flight left during the request. */
  #freed = false
  readonly #times: PollTimes

  constructor(owner: QueueOwner) {
    this.#owner = owner
    const { permits, polling } = owner.context
    this.#times = new PollTimes(permits, polling)
  }

  get empty(): boolean {
    return this.#waiters.first === undefined
  }

  add(waiter: Waiter): void {
    waiter.stage = 'queued'
    this.#waiters.add(waiter)
    if (this.#requesting) this.#fresh.push(waiter)
    else if (this.#waiters.first === waiter && !this.#owner.stopped) this.#request()
    else this.#stay(waiter)
  }

  /** Requests permits for the first waiter, until one is refused or a response takes time. */
  #request(): void {
    const owner = this.#owner
    const { permits } = owner.context
    this.stop()
    while (!this.#requesting && !owner.stopped) {
      const waiter = this.#waiters.first
      if (waiter === undefined) return
      const refusal = owner.spacing?.refusal(waiter.cost)
      if (refusal !== undefined && owner.spacing?.starting) {
        this.#stay(waiter)
        return
      }
      this.#requesting = true
      this.#freed = false
      const booking = refusal === undefined ? permits.reserve(owner.keys, waiter.cost, 0) : refusedBy(refusal)
      if (isPromise(booking)) {
        this.#await(waiter, booking)
        return
      }
      this.#requesting = false
      if (!this.#decided(waiter, booking)) return
    }
  }

  #await(waiter: Waiter, booking: Promise<Booking>): void {
    const owner = this.#owner
    owner.pendingRequests++
    const done = (decide: () => boolean) => {
      owner.pendingRequests--
      this.#requesting = false
      if (decide()) this.#request()
      if (!this.#requesting) for (const fresh of this.#fresh.splice(0)) this.#stay(fresh)
      owner.settled()
    }
    booking.then(
      (booked) => done(() => this.#decided(waiter, booked)),
      (error) => done(() => this.#end(waiter, () => owner.refuse(waiter, error))),
    )
  }

  /** Returns true if the next request can be sent at once. */
  #decided(waiter: Waiter, booking: Booking): boolean {
    const owner = this.#owner
    const { decision, tickets } = booking
    if (decision.allowed) this.#times.granted()
    const here = waiter.stage === 'queued' && !owner.stopped
    if (decision.allowed && here) return this.#end(waiter, () => owner.admit(waiter, booking))
    if (decision.allowed) void owner.context.permits.giveBack(owner.keys, tickets)
    if (!here) {
      this.#stay(waiter)
      return true
    }
    if (decision.retryAfter === Infinity || this.#times.shortest(decision) > owner.maxWaitOf(waiter)) {
      return this.#end(waiter, () => owner.refuseBy(decision, waiter))
    }
    this.#stay(waiter)
    if (this.#waiters.first !== waiter) return true
    const { now } = owner
    const wait = this.#times.next(decision, now)
    this.#requestAt(this.#freed ? this.#times.afterRelease(now) : now + wait)
    return false
  }

  #requestAt(at: number): void {
    this.stop()
    this.#retry = this.#owner.context.scheduler.at(at, () => this.#request())
  }

  /** Removes a waiter from the queue, if it still waits, and ends its wait. */
  #end(waiter: Waiter, end: () => void): true {
    if (waiter.stage === 'queued') {
      this.#waiters.remove(waiter)
      end()
    }
    return true
  }

  /** Leaves a waiter in the queue, unless it must not wait. */
  #stay(waiter: Waiter): void {
    if (waiter.stage === 'queued' && !this.#owner.wait(waiter)) this.#waiters.remove(waiter)
  }

  leave(waiter: Waiter): void {
    if (waiter.stage !== 'queued') return
    const first = this.#waiters.first === waiter
    this.#waiters.remove(waiter)
    if (first) this.#request()
  }

  stop(): void {
    this.#owner.context.scheduler.remove(this.#retry)
  }

  restart(): void {
    this.#request()
  }

  resume(): void {
    if (!this.#requesting && !this.#retry?.pending) this.#request()
  }

  /** A reservation is for now, so nothing stays booked. */
  addReserved(): void {}

  removeReserved(): void {}

  freed(): void {
    if (this.#owner.context.renewals === undefined) return
    this.#freed = true
    if (!this.#retry?.pending) return
    const { now } = this.#owner
    const at = this.#times.afterRelease(now)
    if (at <= now) this.#request()
    else this.#requestAt(at)
  }

  /** At a higher rate the first waiter may be admitted now. */
  rateChanged(): void {
    if (!this.#owner.stopped) this.#request()
  }
}

function refusedBy(decision: Decision): Booking {
  return { decision, wait: 0, tickets: undefined }
}
