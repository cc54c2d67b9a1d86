/*
 * One key of a pacer: who waits for it and what runs. A call goes through at most three doors:
 *
 *     gate (concurrency, where it runs) -> queue (its turn; booked.ts or asked.ts) -> admitted
 */
import type { Decision } from '../decision.ts'
import type { PacerContext } from './context.ts'
import { closed, queueFull, timedOut, tooLarge, tooLate } from './errors.ts'
import { Hold } from './hold.ts'
import type { Place } from './place.ts'
import { PollingQueue } from './polling-queue.ts'
import { PriorityQueue } from './priority-queue.ts'
import type { Queue } from './queue.ts'
import { ReservingQueue } from './reserving-queue.ts'
import { WaitDeadline } from './wait-deadline.ts'
import { type Call, Waiter } from './waiter.ts'
import { WaitingList } from './waiting-list.ts'

export class KeyPacer implements Place {
  readonly shop: PacerContext
  readonly key: string
  readonly keys: readonly string[]
  readonly queueing: Queue
  readonly #gate = new PriorityQueue()
  #opening = false
  /** All who queue, as they came. */
  readonly #waiting = new WaitingList()
  /** Running, or on the way to it. */
  running = 0
  /** Questions that the store has not answered yet. */
  asking = 0
  readonly #hold: Hold

  constructor(shop: PacerContext, key: string) {
    this.shop = shop
    this.key = key
    this.keys = shop.bank.keys(key)
    this.#hold = new Hold(shop.agenda, shop.clock, () => {
      if (!this.stopped) this.queueing.go()
      this.settled()
    })
    this.queueing = shop.promises ? new ReservingQueue(this) : new PollingQueue(this)
  }

  get now(): number {
    return this.shop.clock()
  }

  get waiting(): number {
    return this.#waiting.size
  }

  /** Whether nobody is let through for now. */
  get stopped(): boolean {
    return this.shop.closed || this.shop.paused || this.#hold.on
  }

  /** Milliseconds that nobody will be let through; Infinity while paused. */
  get stoppedFor(): number {
    if (this.shop.paused) return Infinity
    return Math.max(0, Math.ceil((this.#hold.until - this.now) / 1000))
  }

  /** Whether nothing is lost if it is forgotten. */
  get idle(): boolean {
    return this.free && !this.#hold.on && this.queueing.empty
  }

  /** Whether nobody waits or runs. */
  get free(): boolean {
    return this.#waiting.size === 0 && this.running === 0 && this.asking === 0
  }

  /** @throws HeadgateError `HEADGATE_CLOSED` */
  enter(call: Call): void {
    if (this.shop.closed) throw closed()
    const waiter = new Waiter(this, call, this.shop.calls++, this.now)
    const { timeout, signal } = call
    if (timeout < Infinity || signal !== undefined) waiter.limit = new WaitDeadline(waiter, timeout, signal)
    if (waiter.run === undefined || this.running < this.shop.concurrency) this.#pass(waiter)
    else if (this.mayWait(waiter)) {
      waiter.stage = 'gate'
      this.#gate.add(waiter)
    }
    if (waiter.stage !== 'done' && timeout > 0) this.#watch(waiter)
  }

  #pass(waiter: Waiter): void {
    if (waiter.run !== undefined) this.running++
    waiter.stage = 'asking'
    this.queueing.seek(waiter)
  }

  /** Ends the wait at its deadline. */
  #watch({ limit }: Waiter): void {
    if (limit === undefined || limit.deadline === Infinity || limit.pending) return
    this.shop.agenda.add(limit, limit.deadline)
  }

  /** How much longer it would wait, in microseconds: not at all if there is no room to wait. */
  patience(waiter: Waiter): number {
    return this.full(waiter) ? 0 : this.#left(waiter)
  }

  /** How much of its time is left. Most have no end to it, and the clock is not read for them. */
  #left({ limit }: Waiter): number {
    return limit === undefined ? Infinity : Math.max(0, limit.deadline - this.now)
  }

  /** Whether it may not queue because too many do. */
  full(waiter: Waiter): boolean {
    const { maxQueue, order } = this.shop
    return !waiter.queued && this.waiting >= maxQueue && (order === 'newest' || this.waiting === 0)
  }

  /** Has it queue if it would and may; else it is refused. */
  mayWait(waiter: Waiter): boolean {
    if (this.shop.closed) this.refuse(waiter, closed())
    else if (this.full(waiter)) this.refuse(waiter, queueFull(this.shop.maxQueue))
    else if (!waiter.queued && this.#left(waiter) === 0) this.refuse(waiter, timedOut(0))
    else {
      this.queue(waiter)
      return true
    }
    return false
  }

  /** Counts it among those who queue; if they are too many the one that waits the longest goes. */
  queue(waiter: Waiter): void {
    if (waiter.queued) return
    const { maxQueue, events } = this.shop
    const oldest = this.#waiting.first
    waiter.queued = true
    this.#waiting.add(waiter)
    this.#watch(waiter)
    this.#hold.watch()
    if (oldest !== undefined && this.waiting > maxQueue) this.leave(oldest, queueFull(maxQueue))
    events.queued(this, waiter)
  }

  admit(waiter: Waiter): void {
    this.#done(waiter)
    const waited = waiter.queued || !this.shop.bank.synchronous ? waiter.waited(this.now) : 0
    this.shop.events.admitted(this, waiter.cost, waited)
    waiter.admit(waited)
    this.settled()
  }

  refuseFor(waiter: Waiter, { retryAfter }: Decision): void {
    if (this.shop.closed) this.refuse(waiter, closed())
    else if (retryAfter === Infinity) this.refuse(waiter, tooLarge(waiter.cost))
    else if (this.#left(waiter) > 0 && this.full(waiter)) this.refuse(waiter, queueFull(this.shop.maxQueue))
    else this.refuse(waiter, waiter.timeout < Infinity ? timedOut(waiter.timeout) : tooLate())
  }

  /** Ends a call that is in no queue. */
  refuse(waiter: Waiter, error: unknown): void {
    const { stage } = waiter
    if (stage === 'done') return
    this.#done(waiter)
    this.shop.events.refused(this, waiter.cost, error)
    waiter.reject(error)
    if (waiter.run !== undefined && stage !== 'gate' && stage !== 'new') this.finished()
    else this.settled()
  }

  /** Ends a call wherever it stands. */
  leave(waiter: Waiter, error: unknown): void {
    if (waiter.stage === 'done') return
    if (waiter.stage === 'gate') this.#gate.remove(waiter)
    else this.queueing.leave(waiter)
    this.refuse(waiter, error)
  }

  #done(waiter: Waiter): void {
    waiter.stage = 'done'
    if (waiter.queued) this.#waiting.remove(waiter)
    if (this.waiting === 0) this.#hold.unwatch()
    if (waiter.limit === undefined) return
    this.shop.agenda.remove(waiter.limit)
    waiter.limit.release()
  }

  /** What ran has ended: the next may come. */
  finished(): void {
    this.running--
    this.#openGate()
    this.settled()
  }

  /** One after the other, however many of them end at once. */
  #openGate(): void {
    if (this.#opening) return
    this.#opening = true
    while (this.running < this.shop.concurrency && this.#gate.first !== undefined) {
      this.#pass(this.#gate.shift() as Waiter)
    }
    this.#opening = false
  }

  settled(): void {
    this.shop.settled(this)
  }

  /** Lets nobody through until then, or until when it is held already, if that is later. */
  hold(until: number): void {
    if (this.shop.closed || until <= Math.max(this.now, this.#hold.until)) return
    const { stopped } = this
    this.#hold.begin(until)
    if (this.waiting > 0) this.#hold.watch()
    if (!stopped) this.queueing.stop()
  }

  close(): void {
    while (this.#waiting.first !== undefined) this.leave(this.#waiting.first, closed())
    this.#hold.unwatch()
  }
}
