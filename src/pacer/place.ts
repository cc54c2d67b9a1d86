import type { Decision } from '../decision.ts'
import type { PacerContext } from './context.ts'
import type { Waiter } from './waiter.ts'

/** What a queue needs of the lane it stands in. */
export interface Place {
  readonly shop: PacerContext
  readonly keys: readonly string[]
  readonly now: number
  /** Whether nobody is let through for now. */
  readonly stopped: boolean
  /** Questions that the store has not answered yet. */
  asking: number
  /** How much longer it would wait, in microseconds: not at all if there is no room to wait. */
  patience(waiter: Waiter): number
  /** Whether it may not queue because too many do. */
  full(waiter: Waiter): boolean
  /** Has it queue if it would and may; else it is refused. */
  mayWait(waiter: Waiter): boolean
  /** Counts it among those who queue; if they are too many the one that waits the longest goes. */
  queue(waiter: Waiter): void
  admit(waiter: Waiter): void
  /** Ends a call that is in no queue. */
  refuse(waiter: Waiter, error: unknown): void
  refuseFor(waiter: Waiter, decision: Decision): void
  settled(): void
}
