import type { ListNode } from '../linked-list.ts'
import type { Size } from '../slots.ts'
import { type Cost, sizeOf } from './cost.ts'
import type { HeldUnits } from './held-units.ts'
import type { WaitDeadline } from './wait-deadline.ts'

/** One call of a user on a pacer. */
export interface Call {
  readonly cost: Cost
  readonly priority: number
  readonly run: (() => unknown) | undefined
  /** How long it may wait, in milliseconds, or Infinity. */
  readonly timeout: number
  readonly signal: AbortSignal | undefined
  /** Called once when it has to wait. */
  readonly onDelay: (() => void) | undefined
  readonly resolve: (value: unknown) => void
  readonly reject: (error: unknown) => void
}

/**
 * The stage of a waiter, by what it waits for.
 *
 * - `new`: nothing yet
 * - `blocked`: a function of its key has to end first, because of `concurrency`
 * - `queued`: it has its place in the queue, and nothing is booked for it
 * - `requesting`: the response of the store
 * - `booked`: the time of a slot
 * - `done`: nothing, it has been admitted or refused
 */
export type Stage = 'new' | 'blocked' | 'queued' | 'requesting' | 'booked' | 'done'

/** What a waiter needs from its key pacer. */
interface Owner {
  /** Ends a wait at any stage. */
  leave(waiter: Waiter, error: unknown): void
  /** The function of a waiter has run up to its first `await`. */
  ran(waiter: Waiter): void
  /** The function of a waiter has ended. */
  finished(waiter: Waiter): void
}

/** A call and its wait. There may be very many: a field costs 8 bytes each, a closure 64 and more. */
export class Waiter implements ListNode<Waiter> {
  stage: Stage = 'new'
  /** True once it counts as waiting: for `maxQueue`, and for events. */
  waits = false
  /** Its neighbours in the one priority queue that holds it. */
  before: Waiter | undefined
  after: Waiter | undefined
  readonly owner: Owner
  readonly cost: Cost
  readonly priority: number
  /** When it came, in microseconds. */
  readonly since: number
  /** How many calls came before it. */
  readonly number: number
  /** The function that it runs once admitted, if there is one. `concurrency` counts these. */
  readonly run: (() => unknown) | undefined
  readonly resolve: (value: unknown) => void
  readonly reject: (error: unknown) => void
  readonly onDelay: (() => void) | undefined
  /** Present if a timeout or a signal may end the wait. */
  deadline: WaitDeadline | undefined
  /** Present while its function runs, if units in flight are counted. */
  held: HeldUnits | undefined

  constructor(owner: Owner, { cost, priority, run, onDelay, resolve, reject }: Call, number: number, now: number) {
    this.owner = owner
    this.cost = cost
    this.priority = priority
    this.since = now
    this.number = number
    this.run = run
    this.onDelay = onDelay
    this.resolve = resolve
    this.reject = reject
  }

  /** How long it may wait, in milliseconds. */
  get timeout(): number {
    return this.deadline === undefined ? Infinity : this.deadline.timeout
  }

  get size(): Size {
    return sizeOf(this.cost)
  }

  /** Whole milliseconds since it came. */
  waited(now: number): number {
    return Math.max(0, Math.round((now - this.since) / 1000))
  }

  leave(error: unknown): void {
    this.owner.leave(this, error)
  }

  /** Tells its caller that it has to wait. What that throws ends the wait. */
  notify(): void {
    try {
      this.onDelay?.()
    } catch (error) {
      this.leave(error)
    }
  }

  /** Resolves with the time waited, or with the waiter itself if it has a function: see `start`. */
  admit(waited: number): void {
    this.resolve(this.run === undefined ? waited : this)
  }
}

/**
 * Runs the function of an admitted waiter. This is a reaction to the promise of the call, so the function runs with what
 * `AsyncLocalStorage` held where the call was made.
 */
export function start(waiter: unknown): Promise<unknown> {
  const { owner } = waiter as Waiter
  try {
    return Promise.resolve(begin(waiter as Waiter)).then(
      (value) => {
        owner.finished(waiter as Waiter)
        return value
      },
      (error) => {
        owner.finished(waiter as Waiter)
        throw error
      },
    )
  } catch (error) {
    owner.finished(waiter as Waiter)
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
