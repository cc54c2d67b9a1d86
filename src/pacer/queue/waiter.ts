import { isPromise, type ListNode, type MaybePromise, type Size } from '../../common/index.ts'
import type { PacerContext } from '../pacer-context.ts'
import { type CallCost, sizeOf } from '../pacer-cost.ts'
import { timedOut } from '../pacer-errors.ts'
import type { RunLease } from '../runs/index.ts'
import { Task } from '../timers/index.ts'

/** A call of the user to a pacer. */
export interface PacerCall {
  readonly cost: CallCost
  readonly priority: number
  readonly run: (() => unknown) | undefined
  /** The longest wait of the call in milliseconds, or Infinity. */
  readonly timeout: number
  readonly signal: AbortSignal | undefined
  /** Called once when the call begins to wait. */
  readonly onDelay: (() => void) | undefined
  readonly resolve: (value: unknown) => void
  readonly reject: (error: unknown) => void
}

/**
 * The stage of a call, by what the call waits for.
 *
 * - `new`: the call has just come
 * - `blocked`: the call waits until another function of its key ends, because of the option `concurrency`
 * - `queued`: the call waits in the queue, and no slot is booked
 * - `requesting`: the call waits for the response of the store
 * - `booked`: the call waits for the time of a slot
 * - `done`: the call was admitted or refused
 */
export type Stage = 'new' | 'blocked' | 'queued' | 'requesting' | 'booked' | 'done'

/** A function of `throttle` returns this value to run again: see `Queue.again`. */
export const again: unique symbol = Symbol('again')

/** The functions of the queue that a waiter can call. */
interface Owner {
  readonly context: PacerContext
  /** Refuses a waiter with this error, at any stage of its wait. */
  leave(waiter: Waiter, error: unknown): void
  /** Called when the function of a waiter has run up to its first `await`. */
  ran(waiter: Waiter): void
  /** Called when the function of a waiter has ended. */
  finished(waiter: Waiter): void
  /** Called when the function of a waiter has returned `again`. Returns a promise of the waiter for the next run. */
  again(waiter: Waiter): Promise<unknown>
}

/**
 * A call and its wait. There may be very many waiters, so memory matters: in each waiter, a field takes 8 bytes, and a closure at least 64
 * bytes.
 */
export class Waiter implements ListNode<Waiter> {
  stage: Stage = 'new'
  /** True once the call counts as waiting, for `maxQueue` and for events. */
  waits = false
  /** True once the store was asked for a slot (start time) for the call. */
  asked = false
  /** The waiter before this waiter in its priority queue. `after` is the waiter behind this waiter. */
  before: Waiter | undefined
  after: Waiter | undefined
  readonly owner: Owner
  readonly cost: CallCost
  readonly priority: number
  /** When the call came, in microseconds. */
  readonly since: number
  /** The number of this call among all calls of the pacer: later calls have higher numbers. */
  readonly number: number
  /**
   * The function that was passed to `throttle` or `wrap`. The option `concurrency` limits how many functions run. Undefined for
   * `acquire`.
   */
  readonly run: (() => unknown) | undefined
  readonly resolve: (value: unknown) => void
  readonly reject: (error: unknown) => void
  readonly onDelay: (() => void) | undefined
  /** The timeout and the signal of the call. Undefined if the call has neither. */
  readonly deadline: WaitDeadline | undefined
  /** The `concurrency` units of this call while its function runs. Undefined if no policy counts units in flight. */
  held: RunLease | undefined

  constructor(owner: Owner, call: PacerCall, number: number, now: number) {
    const { cost, priority, run, onDelay, resolve, reject, timeout, signal } = call
    this.owner = owner
    this.cost = cost
    this.priority = priority
    this.since = now
    this.number = number
    this.run = run
    this.onDelay = onDelay
    this.resolve = resolve
    this.reject = reject
    const ends = timeout < Infinity || signal !== undefined
    this.deadline = ends ? new WaitDeadline(this, timeout, signal) : undefined
  }

  /** A waiter for the next run of the call's function, with the place of this waiter in the order of arrival. */
  repeat(now: number, resolve: Waiter['resolve'], reject: Waiter['reject']): Waiter {
    const { owner, cost, priority, run, timeout, signal, number } = this
    const call = { cost, priority, run, timeout, signal, onDelay: undefined, resolve, reject }
    return Object.assign(new Waiter(owner, call, number, now), { stage: 'requesting', waits: true })
  }

  /** The longest wait of the call, in milliseconds. */
  get timeout(): number {
    return this.deadline?.timeout ?? Infinity
  }

  get signal(): AbortSignal | undefined {
    return this.deadline?.signal
  }

  /** Microseconds until the timeout. Infinity without a timeout, as in most calls: the clock is then not read. */
  get timeLeft(): number {
    return this.deadline === undefined ? Infinity : Math.max(0, this.deadline.at - this.owner.context.clock())
  }

  startDeadline(): void {
    const { deadline, owner } = this
    if (deadline === undefined || deadline.at === Infinity || deadline.pending) return
    owner.context.scheduler.add(deadline, deadline.at)
  }

  /** Marks the call as done, because the call was admitted or refused. */
  end(): void {
    this.stage = 'done'
    if (this.deadline === undefined) return
    this.owner.context.scheduler.remove(this.deadline)
    this.deadline.release()
  }

  get size(): Size {
    return sizeOf(this.cost)
  }

  /** How long the call has waited, in whole milliseconds. */
  waited(now: number): number {
    return Math.max(0, Math.round((now - this.since) / 1000))
  }

  /** True if another waiting call comes before this call and can use its slot (start time), and this call may wait for any time. */
  yieldsTo(other: Waiter | undefined): boolean {
    if (!other?.waits || other.size !== this.size || this.timeLeft < Infinity) return false
    return other.priority > this.priority || (other.priority === this.priority && other.number < this.number)
  }

  leave(error: unknown): void {
    this.owner.leave(this, error)
  }

  /** Calls `onDelay`, because the call has to wait. If `onDelay` throws or rejects, the call is refused with that error. */
  notify(): void {
    try {
      const returned = this.onDelay?.() as MaybePromise<unknown>
      if (isPromise(returned)) returned.then(undefined, (error) => this.leave(error))
    } catch (error) {
      this.leave(error)
    }
  }

  /**
   * Resolves the promise of the call. `acquire` gets the milliseconds that the call waited. A call with a function gets this
   * waiter, and `start` then runs the function.
   */
  admit(waited: number): void {
    this.resolve(this.run === undefined ? waited : this)
  }
}

/** Ends the wait of a call at the timeout, or when the call's signal is aborted. A start time equal to the timeout is still used. */
class WaitDeadline extends Task {
  readonly #waiter: Waiter
  /** The longest wait of the call in milliseconds, or Infinity. */
  readonly timeout: number
  readonly signal: AbortSignal | undefined

  constructor(waiter: Waiter, timeout: number, signal: AbortSignal | undefined) {
    super()
    this.#waiter = waiter
    this.timeout = timeout
    this.at = waiter.since + timeout * 1000
    this.signal = signal
    signal?.addEventListener('abort', this, { once: true })
  }

  /** A higher rank than that of a slot (start time), so that a slot at the same time runs before the deadline. */
  override get rank(): number {
    return 1
  }

  run(): void {
    this.#waiter.leave(timedOut(this.timeout))
  }

  handleEvent(): void {
    this.#waiter.leave(this.signal?.reason)
  }

  release(): void {
    this.signal?.removeEventListener('abort', this)
  }
}

/**
 * Runs the function of an admitted call. `throttle` passes `start` to the `then` of the waiting promise. So inside the function,
 * `AsyncLocalStorage` has the values that it had where `throttle` was called.
 */
export function start(waiter: unknown): Promise<unknown> {
  const { owner } = waiter as Waiter
  const end = () => {
    owner.context.events.running--
    owner.finished(waiter as Waiter)
  }
  try {
    return Promise.resolve(begin(waiter as Waiter)).then(
      (value) => {
        if (value !== again) end()
        else owner.context.events.running--
        return value === again ? owner.again(waiter as Waiter).then(start) : value
      },
      (error) => {
        end()
        throw error
      },
    )
  } catch (error) {
    end()
    throw error
  }
}

function begin(waiter: Waiter): unknown {
  try {
    return waiter.run?.()
  } finally {
    waiter.owner.ran(waiter)
  }
}
