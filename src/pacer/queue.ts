import type { Decision } from '../decision.ts'
import type { Booking } from '../stores/command.ts'
import type { PacerContext } from './context.ts'
import type { RunSpacing } from './run-spacing.ts'
import type { Slot } from './slot.ts'
import type { Waiter } from './waiter.ts'

/** The queue of one key. Slots are booked ahead (reserving-queue.ts), or the store is polled (polling-queue.ts). */
export interface Queue {
  /** True if no call waits and no slot is booked. */
  readonly empty: boolean
  /** Finds a slot for a waiter. */
  add(waiter: Waiter): void
  /** Removes a waiter that gives up before its slot. */
  leave(waiter: Waiter): void
  /** Gives all slots back. The waiters stay, in their order. */
  stop(): void
  /** Finds a slot for every waiter again. */
  restart(): void
  /** Adds a slot that the user has reserved and waits for without the queue. */
  addReserved(slot: Slot): void
  /** Forgets a reserved slot that was given back. */
  removeReserved(slot: Slot): void
  /** Called when units in flight have left. */
  freed(): void
  /** Goes on when a call that was starting has been counted: see run-spacing.ts. */
  resume(): void
  /** Called when the rate was set. Later calls still come after the booked slots. */
  rateChanged(): void
}

/** The part of a key pacer that its queue needs. */
export interface QueueOwner {
  readonly context: PacerContext
  /** The key, once for each scope. */
  readonly keys: readonly string[]
  readonly now: number
  /** Present if calls are spaced by when they really went. */
  readonly spacing: RunSpacing | undefined
  /** True while no call is admitted: the pacer is paused or closed, or the key is held. */
  readonly stopped: boolean
  /** How many requests to the store are under way. */
  pendingRequests: number
  /** How much longer a waiter may wait, in microseconds. 0 if the queue is full. */
  maxWaitOf(waiter: Waiter): number
  /** True if too many others wait. */
  full(waiter: Waiter): boolean
  /** Makes a call wait, or refuses it if it must not wait. Returns true if it waits. */
  wait(waiter: Waiter): boolean
  /** Counts a call as waiting. If too many wait then, the oldest is refused. */
  countWaiting(waiter: Waiter): void
  /** @param booking what it took, if units in flight are counted */
  admit(waiter: Waiter, booking?: Booking): void
  /** Ends a call that is in no queue. */
  refuse(waiter: Waiter, error: unknown): void
  refuseBy(decision: Decision, waiter: Waiter): void
  /** Called when a call, a slot or a request has ended. */
  settled(): void
}
