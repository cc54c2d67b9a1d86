import type { WaitDeadline } from './wait-deadline.ts'

/**
 * Where a call stands. `gate`: others of its lane still run. `line`: nothing is booked for it. `asking`: the store has
 * been asked. `booked`: there is a turn for it. `done`: it has had its answer.
 */
export type Stage = 'new' | 'gate' | 'line' | 'asking' | 'booked' | 'done'

/** What a waiter needs of its lane. */
interface Owner {
  /** Ends a call wherever it stands. */
  leave(waiter: Waiter, error: unknown): void
  /** What ran has ended. */
  finished(): void
}

/** A call that waits for its turn. There may be very many: a field here is 8 bytes for each, a closure 64 and more. */
export class Waiter {
  stage: Stage = 'new'
  /** Whether it counts as one of those who queue. */
  queued = false
  /** Its neighbours in a line of its priority, and among all who queue. */
  before: Waiter | undefined
  after: Waiter | undefined
  older: Waiter | undefined
  younger: Waiter | undefined
  readonly lane: Owner
  readonly cost: number
  readonly priority: number
  /** When it came, in microseconds. */
  readonly since: number
  /** The order in which calls came. */
  readonly number: number
  /** What runs once it has its turn, if anything does: such calls `concurrency` counts. */
  readonly run: (() => unknown) | undefined
  readonly resolve: (value: unknown) => void
  readonly reject: (error: unknown) => void
  /** What may end its wait before its turn, if anything can. */
  limit: WaitDeadline | undefined

  constructor(lane: Owner, { cost, priority, run, resolve, reject }: Call, number: number, now: number) {
    this.lane = lane
    this.cost = cost
    this.priority = priority
    this.since = now
    this.number = number
    this.run = run
    this.resolve = resolve
    this.reject = reject
  }

  /** Milliseconds that it would wait. */
  get timeout(): number {
    return this.limit === undefined ? Infinity : this.limit.timeout
  }

  /** Whole milliseconds since it came. */
  waited(now: number): number {
    return Math.max(0, Math.round((now - this.since) / 1000))
  }

  /** Gives up. */
  leave(error: unknown): void {
    this.lane.leave(this, error)
  }

  /** It has its turn: tells how long it waited, or hands itself to what runs it. */
  admit(waited: number): void {
    this.resolve(this.run === undefined ? waited : this)
  }
}

/**
 * Runs the function of a call that has its turn. It is a reaction to the promise of that: so it runs where it was called,
 * with what `AsyncLocalStorage` held there, and not where the turn came.
 */
export function start(waiter: unknown): Promise<unknown> {
  const { lane, run } = waiter as Waiter
  try {
    return Promise.resolve(run?.()).then(
      (value) => {
        lane.finished()
        return value
      },
      (error) => {
        lane.finished()
        throw error
      },
    )
  } catch (error) {
    lane.finished()
    throw error
  }
}

/** What is asked of a lane. */
export interface Call {
  readonly cost: number
  readonly priority: number
  readonly run: (() => unknown) | undefined
  /** Milliseconds it is willing to wait, or Infinity. */
  readonly timeout: number
  readonly signal: AbortSignal | undefined
  readonly resolve: (value: unknown) => void
  readonly reject: (error: unknown) => void
}
