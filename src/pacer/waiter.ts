import type { Limit } from './limit.ts'

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
  limit: Limit | undefined

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

  /** It has its turn: runs its function, a moment later, or answers. */
  admit(waited: number): void {
    if (this.run === undefined) this.resolve(waited)
    else void Promise.resolve(this).then(start)
  }
}

/** One function for all, and no async one: what those take would be half as much again as what a call takes. */
function start(waiter: Waiter): void {
  const { run } = waiter
  let ended: Promise<unknown>
  try {
    ended = Promise.resolve(run?.())
  } catch (error) {
    fail(waiter, error)
    return
  }
  ended.then(
    (value) => succeed(waiter, value),
    (error) => fail(waiter, error),
  )
}

function succeed(waiter: Waiter, value: unknown): void {
  waiter.lane.finished()
  waiter.resolve(value)
}

function fail(waiter: Waiter, error: unknown): void {
  waiter.lane.finished()
  waiter.reject(error)
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
