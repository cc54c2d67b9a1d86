/*
 * The queue of one key: its waiting and its running calls. A call goes through these stages:
 *
 *     enter -> blocked by concurrency (functions only) -> waits for a slot -> admitted
 *
 * Slots are booked ahead (reserving-queue.ts) or polled for (polling-queue.ts). A timeout, an aborted signal, a full
 * queue or a closed pacer may end the call at every stage: then the call is refused.
 */
import type { Decision } from '../../policy/index.ts'
import type { Booking } from '../../stores/contract/index.ts'
import type { PacerContext } from '../context.ts'
import { closed, queueFull, timedOut, tooLarge, tooLate } from '../pacer-errors.ts'
import { afterCaller, RunSpacing } from '../run-spacing.ts'
import { Hold, RunLease } from '../runs/index.ts'
import { ReservedSlots } from './booked-slot.ts'
import { PriorityQueue } from './priority-queue.ts'
import { type PacerCall, Waiter } from './waiter.ts'
import { WaitingList } from './waiting-list.ts'

export abstract class Queue {
  readonly context: PacerContext
  readonly key: string
  /** The key, once for each scope. */
  readonly keys: readonly string[]
  /** Counts the calls by the times at which they really went. Present with `spacing: 'actual'`. */
  readonly spacing: RunSpacing | undefined
  /** Functions that wait because as many functions run as `concurrency` allows. */
  readonly #blocked = new PriorityQueue()
  #unblocking = false
  readonly #waiting = new WaitingList()
  /** How many functions run, or wait in the queue until they may run. */
  running = 0
  /** How many requests to the store are under way. */
  #pendingRequests = 0
  readonly #hold: Hold
  readonly reserved: ReservedSlots = new ReservedSlots()

  constructor(context: PacerContext, key: string) {
    this.context = context
    this.key = key
    this.keys = context.units.keys(key)
    this.#hold = new Hold(context, () => {
      if (!this.stopped) this.restart()
      this.settled()
    })
    this.spacing = context.runs && new RunSpacing(context.runs, this.keys)
  }

  /** True if no call waits for a slot and no slot is booked for one. */
  protected abstract get empty(): boolean
  protected abstract add(waiter: Waiter): void
  /** Removes a waiter that gives up before its slot. */
  protected abstract remove(waiter: Waiter): void
  /** Gives all slots back. The waiters stay, in their order. */
  abstract stop(): void
  abstract restart(): void
  /** Admits the next calls when a call that was starting has been counted: see run-spacing.ts. */
  protected abstract resume(): void
  /** Called when the rate was set. Later calls still come after the booked slots. */
  abstract rateChanged(): void
  /** Called when units in flight were released. */
  freed(): void {}

  /** Counts a request to the store as pending until its response, then calls `succeeded` or `failed`. */
  request<T>(response: Promise<T>, succeeded: (outcome: T) => void, failed?: (error: unknown) => void): void {
    this.#pendingRequests++
    const ended = (act: () => void) => {
      this.#pendingRequests--
      act()
      this.settled()
    }
    response.then(
      (outcome) => ended(() => succeeded(outcome)),
      (error) => ended(() => failed?.(error)),
    )
  }

  get now(): number {
    return this.context.clock()
  }

  get waiting(): number {
    return this.#waiting.size
  }

  /** True while no call is admitted: the pacer is paused or closed, or the key is held. */
  get stopped(): boolean {
    return this.context.closed || this.context.paused || this.#hold.on
  }

  /** For how many milliseconds from now no call will be admitted. Infinity while paused. */
  get stoppedFor(): number {
    return this.context.paused ? Infinity : Math.max(0, Math.ceil((this.#hold.until - this.now) / 1000))
  }

  get free(): boolean {
    return this.#waiting.size === 0 && this.running === 0 && this.#pendingRequests === 0 && !this.spacing?.starting
  }

  /** True if the key can be forgotten: no call waits or runs, no slot is booked, and there is no hold. */
  get idle(): boolean {
    return this.free && !this.#hold.on && this.empty && this.reserved.prune(this.now).first === undefined
  }

  /** @throws HeadgateError `HEADGATE_CLOSED` */
  enter(call: PacerCall): void {
    if (this.context.closed) throw closed()
    const waiter = new Waiter(this, call, this.context.calls++, this.now)
    if (waiter.run === undefined || this.running < this.context.concurrency) this.#queue(waiter)
    else if (this.wait(waiter)) {
      waiter.stage = 'blocked'
      this.#blocked.add(waiter)
    }
    if (waiter.stage !== 'done' && call.timeout > 0) waiter.startDeadline()
  }

  #queue(waiter: Waiter): void {
    if (waiter.run !== undefined) this.running++
    waiter.stage = 'requesting'
    this.add(waiter)
  }

  /** How much longer a waiter may wait, in microseconds. 0 if the queue is full. */
  maxWaitOf(waiter: Waiter): number {
    return this.full(waiter) ? 0 : waiter.timeLeft
  }

  /** True if this waiter has no place, because `maxQueue` other calls wait. */
  full(waiter: Waiter): boolean {
    const { maxQueue, order } = this.context
    return !waiter.waits && this.waiting >= maxQueue && (order === 'newest' || this.waiting === 0)
  }

  /** Makes a call wait, or refuses it if it must not wait. Returns true if it waits. */
  protected wait(waiter: Waiter): boolean {
    if (this.context.closed) this.refuse(waiter, closed())
    else if (this.full(waiter)) this.refuse(waiter, queueFull(this.context.maxQueue))
    else if (!waiter.waits && waiter.timeLeft === 0) this.refuse(waiter, timedOut(0))
    else this.countWaiting(waiter)
    return waiter.stage !== 'done'
  }

  /** Counts a call as waiting. If more calls wait than `maxQueue`, the oldest is refused. */
  protected countWaiting(waiter: Waiter): void {
    if (waiter.waits) return
    const { maxQueue, events } = this.context
    const oldest = this.#waiting.first
    waiter.waits = true
    this.#waiting.add(waiter)
    waiter.startDeadline()
    this.#hold.watch()
    if (oldest !== undefined && this.waiting > maxQueue) this.leave(oldest, queueFull(maxQueue))
    events.queued(this, waiter)
    // Not now, because the caller's function may call the pacer.
    if (waiter.onDelay !== undefined) queueMicrotask(() => waiter.notify())
  }

  /** @param booking the units that the waiter took, if units in flight are counted */
  protected admit(waiter: Waiter, booking?: Booking): void {
    this.#done(waiter)
    const { events, units, renewals } = this.context
    if (renewals !== undefined && booking !== undefined) {
      waiter.held = new RunLease(units.reservation(this.keys, waiter.cost, booking), this.context)
    }
    const waited = waiter.waits || !units.synchronous ? waiter.waited(this.now) : 0
    events.admitted(this, waiter.cost, waited)
    this.spacing?.begin(waiter.cost)
    waiter.admit(waited)
    if (this.spacing !== undefined && waiter.run === undefined) void afterCaller(() => this.ran(waiter))
    this.settled()
  }

  /** The function of an admitted call, or the code behind `acquire`, has begun. */
  ran({ cost }: Waiter): void {
    if (this.spacing === undefined) return
    this.spacing.count(cost)
    if (!this.stopped) this.resume()
    this.settled()
  }

  protected refuseBy({ retryAfter }: Decision, waiter: Waiter): void {
    if (this.context.closed) this.refuse(waiter, closed())
    else if (retryAfter === Infinity) this.refuse(waiter, tooLarge(waiter.cost))
    else if (waiter.timeLeft > 0 && this.full(waiter)) this.refuse(waiter, queueFull(this.context.maxQueue))
    else this.refuse(waiter, waiter.timeout < Infinity ? timedOut(waiter.timeout) : tooLate())
  }

  /** Refuses a call that is in no queue. */
  protected refuse(waiter: Waiter, error: unknown): void {
    const { stage } = waiter
    if (stage === 'done') return
    this.#done(waiter)
    this.context.events.refused(this, waiter.cost, error)
    waiter.reject(error)
    if (waiter.run !== undefined && stage !== 'blocked' && stage !== 'new') this.finished(waiter)
    else this.settled()
  }

  /** Refuses a call at any stage. */
  leave(waiter: Waiter, error: unknown): void {
    if (waiter.stage === 'done') return
    if (waiter.stage === 'blocked') this.#blocked.remove(waiter)
    else this.remove(waiter)
    this.refuse(waiter, error)
  }

  #done(waiter: Waiter): void {
    waiter.end()
    if (waiter.waits) this.#waiting.removeDone()
    if (this.waiting === 0) this.#hold.unwatch()
  }

  /** A function has ended, so the next one may enter the queue. */
  finished({ held }: Waiter): void {
    this.running--
    if (held !== undefined) this.request(held.release(), () => this.freed())
    this.#unblock()
    this.settled()
  }

  /** Queues the functions that `concurrency` kept waiting, one by one. A function that ends at once calls this again. */
  #unblock(): void {
    if (this.#unblocking) return
    this.#unblocking = true
    while (this.running < this.context.concurrency && this.#blocked.first) this.#queue(this.#blocked.shift() as Waiter)
    this.#unblocking = false
  }

  /** Called when a call, a slot or a request has ended. */
  settled(): void {
    this.context.settled(this)
  }

  /** Admits no call until `until` (microseconds). A hold that ends later stays. */
  hold(until: number): void {
    if (this.context.closed || until <= Math.max(this.now, this.#hold.until)) return
    if (!this.stopped) this.stop()
    this.#hold.begin(until)
    if (this.waiting > 0) this.#hold.watch()
  }

  close(): void {
    while (this.#waiting.first !== undefined) this.leave(this.#waiting.first, closed())
    this.#hold.unwatch()
  }
}
