import { Entry } from './agenda.ts'

/**
 * Where a call stands. `gate`: others of its lane still run. `line`: nothing is booked for it. `asking`: the store has
 * been asked. `booked`: there is a turn for it. `done`: it has had its answer.
 */
export type Stage = 'new' | 'gate' | 'line' | 'asking' | 'booked' | 'done'

/** Who ends a call whose deadline has come. */
interface Owner {
  expire(waiter: Waiter): void
}

/** A call that waits for its turn; as an entry of the agenda it is its own deadline, after all turns of that time. */
export class Waiter extends Entry {
  override get rank(): number {
    return 1
  }

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
  /** Whether it runs once it has its turn, so that `concurrency` counts it. */
  readonly runs: boolean
  /** When it came, and until when it waits: microseconds. */
  readonly since: number
  readonly deadline: number
  /** The order in which calls came. */
  readonly number: number
  readonly admit: (waited: number) => void
  readonly refuse: (error: unknown) => void
  /** Stops listening to its signal. */
  release: (() => void) | undefined

  constructor(lane: Owner, call: Call, number: number, now: number) {
    super()
    this.lane = lane
    this.cost = call.cost
    this.priority = call.priority
    this.runs = call.runs
    this.since = now
    this.deadline = now + call.timeout * 1000
    this.number = number
    this.admit = call.admit
    this.refuse = call.refuse
  }

  /** Whole milliseconds since it came. */
  waited(now: number): number {
    return Math.max(0, Math.round((now - this.since) / 1000))
  }

  /** Milliseconds that it would wait. */
  get timeout(): number {
    return (this.deadline - this.since) / 1000
  }

  due(): void {
    this.lane.expire(this)
  }
}

/** What is asked of a lane. */
export interface Call {
  readonly cost: number
  readonly priority: number
  readonly runs: boolean
  /** Milliseconds it is willing to wait, or Infinity. */
  readonly timeout: number
  readonly signal: AbortSignal | undefined
  readonly admit: (waited: number) => void
  readonly refuse: (error: unknown) => void
}
