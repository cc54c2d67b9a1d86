/*
 * The queue of one key: the waiting calls and the running calls of the key. A call goes through these stages:
 *
 *     enter -> blocked by `concurrency` (functions only) -> waits for a slot -> admitted
 *
 * Slots (times at which calls may start) are booked ahead (reserving-queue.ts) or polled for (polling-queue.ts). A timeout, an aborted
 * signal, a full queue or a closed pacer may end the call at every stage: then the call is refused.
 */
import type { HeadgateError } from '../../common/index.ts'
import type { Decision } from '../../policy/index.ts'
import type { Booking } from '../../stores/contract/index.ts'
import type { PacerContext } from '../pacer-context.ts'
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
  /** The key of the queue as a list, with one entry for each scope (kind of key) of the policies. */
  readonly keys: readonly string[]
  /** Counts calls by the times at which they really started. Undefined if `spacing` is `'booked'` and the store cannot fail. */
  readonly spacing: RunSpacing | undefined
  /** Functions that wait because as many functions run as the option `concurrency` allows. */
  readonly #blocked = new PriorityQueue()
  #unblocking = false
  readonly calls: WaitingList = new WaitingList()
  /** How many functions run, or wait in the queue for a slot (start time). */
  running = 0
  /** How many requests to the store have no response yet. */
  #pendingRequests = 0
  readonly holding: Hold
  readonly reserved: ReservedSlots = new ReservedSlots()

  constructor(context: PacerContext, key: string) {
    this.context = context
    this.key = key
    this.keys = context.units.keys(key)
    this.holding = new Hold(context, () => {
      if (!this.stopped) this.restart()
      this.settled()
    })
    const { runs, share } = context
    this.spacing = runs || share ? new RunSpacing(runs, share, this.keys) : undefined
  }

  /** True if no call waits for a slot (start time), and no slot is booked for a waiting call. */
  protected abstract get empty(): boolean
  /** The calls for which the store has not answered yet whether they have to wait. */
  protected abstract get unanswered(): Iterable<Waiter>
  protected abstract add(waiter: Waiter): void
  /** Removes a waiter that was refused before it got a slot (start time). */
  protected abstract remove(waiter: Waiter): void
  /** Gives all booked slots (start times) back to the store. The waiters stay in the queue, in their order. */
  abstract stop(): void
  abstract restart(): void
  /** Admits the next calls. Called with `spacing: 'actual'`, each time a started call has been counted: see run-spacing.ts. */
  protected abstract resume(): void
  /** Called when the application has set another rate. Start times that were already promised stay first: a later call gets a later time. */
  abstract rateChanged(): void
  /** Called when a reservation or an ended function has freed `concurrency` units, so that a waiting call may be admitted. */
  freed(): void {}

  /** Counts a request to the store as pending until its response comes, then calls `succeeded` or `failed`. */
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
    return this.calls.size
  }

  /** True while no call is admitted, because the pacer is paused or closed, or because `hold` stopped the key. */
  get stopped(): boolean {
    return this.context.closed || this.context.paused || this.holding.on
  }

  /** For how many milliseconds no call will be admitted. 0 if calls are admitted; Infinity while the pacer is paused. */
  get stoppedFor(): number {
    return this.context.paused ? Infinity : Math.ceil(this.holding.left / 1000)
  }

  get free(): boolean {
    return this.calls.pending === 0 && this.running === 0 && this.#pendingRequests === 0 && !this.spacing?.starting
  }

  /** True if the queue can be removed: no call waits or runs, no slot (start time) is booked, and `hold` has not stopped the key. */
  get idle(): boolean {
    return this.free && !this.holding.on && this.empty && this.reserved.prune(this.now).first === undefined
  }

  /** @throws HeadgateError `HEADGATE_CLOSED` if the pacer is closed */
  enter(call: PacerCall): void {
    if (this.context.closed) throw closed()
    const waiter = this.calls.enter(new Waiter(this, call, this.context.calls++, this.now))
    if (waiter.run === undefined || this.running < this.context.concurrency) this.#queue(waiter)
    else if (this.wait(waiter)) {
      waiter.stage = 'blocked'
      this.#blocked.add(waiter)
      this.#unblock() // to let this call wait, a full queue may have refused a call that `concurrency` counted
    }
    if (waiter.stage !== 'done' && call.timeout > 0) waiter.startDeadline()
  }

  #queue(waiter: Waiter): void {
    if (waiter.run !== undefined) this.running++
    waiter.stage = 'requesting'
    this.add(waiter)
  }

  /** How much longer a waiting call may wait, in microseconds. 0 if the queue is full, because the call must not wait then. */
  maxWaitOf(waiter: Waiter): number {
    return this.full(waiter) ? 0 : waiter.timeLeft
  }

  /** True if this waiter must not wait, because `maxQueue` other calls wait already. */
  full(waiter: Waiter): boolean {
    const { maxQueue, order } = this.context
    const { counted } = this.calls
    return !waiter.waits && counted >= maxQueue && (order === 'newest' || counted === 0)
  }

  /** Lets a call wait, or refuses the call if it must not wait. Returns true if the call waits. */
  protected wait(waiter: Waiter): boolean {
    const refusal = this.waitRefusal(waiter)
    if (refusal === undefined) this.countWaiting(waiter)
    else this.refuse(waiter, refusal)
    return waiter.stage !== 'done'
  }

  /** Why a call must not wait. Undefined if the call may wait. */
  protected waitRefusal(waiter: Waiter): HeadgateError | undefined {
    if (this.context.closed) return closed()
    if (this.full(waiter)) return queueFull(this.context.maxQueue)
    const ends = !waiter.waits && waiter.timeLeft < Math.max(1, this.holding.left)
    return ends ? timedOut(waiter.timeout) : undefined
  }

  /** Counts a call as waiting. If more than `maxQueue` calls wait now, the oldest is refused. */
  protected countWaiting(waiter: Waiter): void {
    if (waiter.waits) return
    const { maxQueue } = this.context
    waiter.waits = true
    this.calls.add(waiter)
    // When a call leaves, the next calls may begin to wait, so that another one has to leave.
    while (this.calls.counted > maxQueue) this.leave(this.calls.first as Waiter, queueFull(maxQueue))
    this.#begin(waiter)
    // `onDelay` is called in a microtask, because it is a function of the user and may call the pacer.
    if (waiter.onDelay !== undefined) queueMicrotask(() => waiter.notify())
  }

  #begin(waiter: Waiter): void {
    waiter.startDeadline()
    this.holding.watch()
    this.context.events.queued(this, waiter)
  }

  /** @param booking the units that the waiter took; undefined if no policy counts units in flight (of running calls) */
  protected admit(waiter: Waiter, booking?: Booking): void {
    this.#done(waiter)
    const { events, units, renewals } = this.context
    if (renewals !== undefined && booking !== undefined) {
      waiter.held = new RunLease(units.reservation(this.keys, waiter.cost, booking), this.context)
    }
    const waited = waiter.waits || !units.synchronous ? waiter.waited(this.now) : 0
    events.admitted(this, waiter, waited)
    this.spacing?.begin(waiter.cost)
    waiter.admit(waited)
    if (this.spacing !== undefined && waiter.run === undefined) void afterCaller(() => this.ran(waiter))
    this.settled()
  }

  /** Called when the function of an admitted call, or the code that awaits `acquire`, has begun to run. */
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

  /** Refuses a call that is in no list of waiting calls, or was just removed from one. */
  protected refuse(waiter: Waiter, error: unknown): void {
    const { stage } = waiter
    if (stage === 'done') return
    this.#done(waiter)
    this.context.events.refused(this, waiter.cost, error)
    waiter.reject(error)
    if (waiter.run !== undefined && stage !== 'blocked' && stage !== 'new') this.finished(waiter)
    else this.settled()
  }

  /** Refuses a call at any stage of its wait. */
  leave(waiter: Waiter, error: unknown): void {
    if (waiter.stage === 'done') return
    if (waiter.stage === 'blocked') this.#blocked.remove(waiter)
    else this.remove(waiter)
    this.refuse(waiter, error)
  }

  #done(waiter: Waiter): void {
    waiter.end()
    this.calls.removeDone(waiter)
    if (this.waiting === 0) this.holding.unwatch()
  }

  /** Called when a function has ended, so that the next function may enter the queue. */
  finished({ held }: Waiter): void {
    this.running--
    if (held !== undefined) this.request(held.release(), () => this.freed())
    this.#unblock()
    this.settled()
  }

  /**
   * Lets a function that has run wait for another slot (start time), before the calls of its priority that came later. `maxQueue` does not
   * count this wait. The function keeps its place under `concurrency`, but not its units in flight (of `concurrency` policies).
   */
  again(ran: Waiter): Promise<unknown> {
    return new Promise((resolve, reject) => {
      const waiter = ran.repeat(this.now, resolve, reject)
      this.calls.repeat(waiter)
      this.#begin(waiter)
      if (ran.held !== undefined) this.request(ran.held.release(), () => this.freed())
      if (this.context.closed) this.refuse(waiter, closed())
      else if (waiter.signal?.aborted) this.refuse(waiter, waiter.signal.reason)
      else this.add(waiter)
    })
  }

  /** Queues functions that `concurrency` made wait, one by one. `#unblocking` prevents a second loop if a function ends immediately. */
  #unblock(): void {
    if (this.#unblocking) return
    this.#unblocking = true
    while (this.running < this.context.concurrency && this.#blocked.first) this.#queue(this.#blocked.shift() as Waiter)
    this.#unblocking = false
  }

  /** Called when the queue may have become idle: after a call, a slot (start time), or an answer of the store. */
  settled(): void {
    this.context.settled(this)
  }

  /** Admits no call until `until`, in microseconds. If an earlier call of `hold` set a later end, the later end stays. */
  hold(until: number, now: number = this.now): void {
    if (this.context.closed || until <= Math.max(now, this.holding.until)) return
    if (!this.stopped) this.stop()
    this.holding.begin(until, this.waiting > 0)
  }

  close(): void {
    while (this.calls.first !== undefined) this.leave(this.calls.first, closed())
    for (const waiter of [...this.unanswered, ...this.calls.repeats]) this.leave(waiter, closed())
    this.holding.unwatch()
  }
}
