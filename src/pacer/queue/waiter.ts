import type { ListNode, Size } from '../../common/index.ts'
import type { PacerContext } from '../context.ts'
import { type CallCost, sizeOf } from '../pacer-cost.ts'
import { timedOut } from '../pacer-errors.ts'
import type { RunLease } from '../runs/index.ts'
import { Task } from '../timers/index.ts'

/** One call of a user on a pacer. */
export interface PacerCall {
  readonly cost: CallCost
  readonly priority: number
  readonly run: (() => unknown) | undefined
  /** How long the call may wait, in milliseconds, or Infinity. */
  readonly timeout: number
  readonly signal: AbortSignal | undefined
  /** Called once when the call has to wait. */
  readonly onDelay: (() => void) | undefined
  readonly resolve: (value: unknown) => void
  readonly reject: (error: unknown) => void
}

/**
 * The stage of a waiter, by what it waits for.
 *
 * - `new`: the call has just come
 * - `blocked`: a function of its key has to end first, because of `concurrency`
 * - `queued`: its place in the queue; no slot is booked
 * - `requesting`: the response of the store
 * - `booked`: the time of a slot
 * - `done`: nothing, because it was admitted or refused
 */
export type Stage = 'new' | 'blocked' | 'queued' | 'requesting' | 'booked' | 'done'

/** The functions of the queue that a waiter calls. */
interface Owner {
  readonly context: PacerContext
  /** Ends a wait at any stage. */
  leave(waiter: Waiter, error: unknown): void
  /** Called when the function of a waiter has run up to its first `await`. */
  ran(waiter: Waiter): void
  /** Called when the function of a waiter has ended. */
  finished(waiter: Waiter): void
}

/** A call and its wait. There may be very many waiters: a field takes 8 bytes in each, a closure 64 and more. */
export class Waiter implements ListNode<Waiter> {
  stage: Stage = 'new'
  /** True once the call counts as waiting: for `maxQueue`, and for events. */
  waits = false
  /** Its neighbours in the one priority queue that holds it. */
  before: Waiter | undefined
  after: Waiter | undefined
  readonly owner: Owner
  readonly cost: CallCost
  readonly priority: number
  /** When the call came, in microseconds. */
  readonly since: number
  /** How many calls came before this call. */
  readonly number: number
  /** The function of `throttle` or `wrap`, to run once the call is admitted. `concurrency` counts these functions. */
  readonly run: (() => unknown) | undefined
  readonly resolve: (value: unknown) => void
  readonly reject: (error: unknown) => void
  readonly onDelay: (() => void) | undefined
  /** Present if a timeout or a signal may end the wait. */
  readonly deadline: WaitDeadline | undefined
  /** Present while its function runs, if units in flight are counted. */
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

  /** How long the call may wait, in milliseconds. */
  get timeout(): number {
    return this.deadline?.timeout ?? Infinity
  }

  /** Microseconds to the deadline. Most calls have no deadline, and then the clock is not read. */
  get timeLeft(): number {
    return this.deadline === undefined ? Infinity : Math.max(0, this.deadline.at - this.owner.context.clock())
  }

  startDeadline(): void {
    const { deadline, owner } = this
    if (deadline === undefined || deadline.at === Infinity || deadline.pending) return
    owner.context.scheduler.add(deadline, deadline.at)
  }

  /** Marks the waiter as done: admitted or refused. */
  end(): void {
    this.stage = 'done'
    if (this.deadline === undefined) return
    this.owner.context.scheduler.remove(this.deadline)
    this.deadline.release()
  }

  get size(): Size {
    return sizeOf(this.cost)
  }

  /** Whole milliseconds since the call came. */
  waited(now: number): number {
    return Math.max(0, Math.round((now - this.since) / 1000))
  }

  leave(error: unknown): void {
    this.owner.leave(this, error)
  }

  /** Calls `onDelay`: the call has to wait. If `onDelay` throws, its error ends the wait. */
  notify(): void {
    try {
      this.onDelay?.()
    } catch (error) {
      this.leave(error)
    }
  }

  /** Resolves the promise with the time waited, or with the waiter itself if it has a function: see `start`. */
  admit(waited: number): void {
    this.resolve(this.run === undefined ? waited : this)
  }
}

/** Ends a wait at its timeout, or when its signal is aborted. A slot at the time of the timeout is still used. */
class WaitDeadline extends Task {
  readonly #waiter: Waiter
  /** The timeout in milliseconds, or Infinity. */
  readonly timeout: number
  readonly #signal: AbortSignal | undefined

  constructor(waiter: Waiter, timeout: number, signal: AbortSignal | undefined) {
    super()
    this.#waiter = waiter
    this.timeout = timeout
    this.at = waiter.since + timeout * 1000
    this.#signal = signal
    signal?.addEventListener('abort', this, { once: true })
  }

  /** Runs after all slots of the same time. */
  override get rank(): number {
    return 1
  }

  run(): void {
    this.#waiter.leave(timedOut(this.timeout))
  }

  handleEvent(): void {
    this.#waiter.leave(this.#signal?.reason)
  }

  release(): void {
    this.#signal?.removeEventListener('abort', this)
  }
}

/**
 * Runs the function of an admitted waiter. The promise of the call calls this, so the function runs with the values
 * that `AsyncLocalStorage` had where the call was made.
 */
export function start(waiter: unknown): Promise<unknown> {
  const { owner } = waiter as Waiter
  const end = () => owner.finished(waiter as Waiter)
  try {
    return Promise.resolve(begin(waiter as Waiter)).then(
      (value) => {
        end()
        return value
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
