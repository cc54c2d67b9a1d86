import type { MaybePromise } from '../maybe-promise.ts'
import type { Slot } from './slot.ts'
import type { Waiter } from './waiter.ts'

/** How turns come: booked ahead (booked.ts) or asked for one after the other (asked.ts). */
export interface Queue {
  /** Sees to it that the waiter gets its turn. */
  seek(waiter: Waiter): void
  /** Someone gives up before its turn. */
  leave(waiter: Waiter): void
  /** Nobody is let through any more; all wait, in their order. */
  stop(): void
  go(): void
  /** Somebody has booked a turn that he waits for by himself. */
  reserved(turn: Slot): void
  /** Gives units of a turn back, no more than nobody else was promised. */
  giveBack(turn: Slot, units: number): MaybePromise<unknown>
  /** Whether nobody waits and nothing is booked. */
  readonly empty: boolean
  /** The rate was set: nobody who comes now comes before what is promised. */
  retuned(): void
}
