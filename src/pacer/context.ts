import type { PacerEvents } from './pacer-events.ts'
import type { PacerSettings } from './pacer-options.ts'
import type { Permits } from './permits.ts'
import type { Runs } from './run-spacing.ts'
import type { Scheduler } from './timers/index.ts'

type Shared = 'clock' | 'polling' | 'maxQueue' | 'horizon' | 'order' | 'concurrency'

/** The parts and settings that all keys of a pacer share. */
export interface PacerContext extends Pick<PacerSettings, Shared> {
  readonly scheduler: Scheduler
  readonly permits: Permits
  /** Renews leases. Its timers keep no process alive. Present if units in flight are counted. */
  readonly renewals: Scheduler | undefined
  /** Present if calls are spaced by when they really went. */
  readonly runs: Runs | undefined
  readonly events: PacerEvents
  /** True if slots can be booked ahead. */
  readonly reservable: boolean
  paused: boolean
  closed: boolean
  /** How many calls were made so far. */
  calls: number
  /** Called when a call, a slot or a request of a key has ended. */
  settled(queue: { readonly key: string; readonly idle: boolean }): void
}
