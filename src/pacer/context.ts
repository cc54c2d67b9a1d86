import type { PacerEvents } from './pacer-events.ts'
import type { PacerLedger } from './pacer-ledger.ts'
import type { PacerSettings } from './pacer-options.ts'
import type { Runs } from './run-spacing.ts'
import type { Scheduler } from './timers/index.ts'

type Shared = 'clock' | 'polling' | 'maxQueue' | 'horizon' | 'order' | 'concurrency'

/** The parts and settings that all keys of a pacer share. */
export interface PacerContext extends Pick<PacerSettings, Shared> {
  readonly scheduler: Scheduler
  readonly units: PacerLedger
  /** Renews leases. Its timers keep no process alive. Present if units in flight are counted. */
  readonly renewals: Scheduler | undefined
  /** Counts calls by the times at which they really went. Present with `spacing: 'actual'`. */
  readonly runs: Runs | undefined
  readonly events: PacerEvents
  /** True if slots can be booked ahead. */
  readonly reservable: boolean
  paused: boolean
  closed: boolean
  calls: number
  /** Called when a call, a slot or a request of a key has ended. */
  settled(queue: { readonly key: string; readonly idle: boolean }): void
}
