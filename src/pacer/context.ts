import type { Events } from './events.ts'
import type { Renewals } from './held-units.ts'
import type { Permits } from './permits.ts'
import type { Polling } from './poll-times.ts'
import type { Runs } from './run-spacing.ts'
import type { Scheduler } from './scheduler.ts'

/** The parts and settings that all keys of a pacer share. */
export interface PacerContext {
  readonly scheduler: Scheduler
  readonly permits: Permits
  /** Present if units in flight are counted. */
  readonly renewals: Renewals | undefined
  readonly polling: Polling
  /** Present if calls are spaced by when they really went. */
  readonly runs: Runs | undefined
  readonly events: Events
  readonly clock: () => number
  readonly maxQueue: number
  /** How far ahead slots are booked, in microseconds. Infinity if no other process books. */
  readonly horizon: number
  readonly order: 'oldest' | 'newest'
  readonly concurrency: number
  /** True if slots can be booked ahead. */
  readonly reservable: boolean
  paused: boolean
  closed: boolean
  /** How many calls were made so far. */
  calls: number
  /** Called when a call, a slot or a request of a key has ended. */
  settled(queue: { readonly key: string; readonly idle: boolean }): void
}
