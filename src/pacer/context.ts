import type { PacerEvents } from './pacer-events.ts'
import type { PacerLedger } from './pacer-ledger.ts'
import type { PacerSettings } from './pacer-options.ts'
import type { Runs } from './run-spacing.ts'
import type { Scheduler } from './timers/index.ts'

type Shared = 'clock' | 'polling' | 'maxQueue' | 'horizon' | 'order' | 'concurrency'

/** The parts and the settings of a pacer that the queues of all its keys share. */
export interface PacerContext extends Pick<PacerSettings, Shared> {
  readonly scheduler: Scheduler
  readonly units: PacerLedger
  /** Renews leases of units in flight; undefined without such units. Its timers do not keep the process alive. */
  readonly renewals: Scheduler | undefined
  /** Counts calls by the times at which they really started. Undefined unless `spacing` is `'actual'`. */
  readonly runs: Runs | undefined
  readonly events: PacerEvents
  /** True if the store can promise a slot at a future time. */
  readonly reservable: boolean
  paused: boolean
  closed: boolean
  calls: number
  /** Called when a call, a slot or a request to the store has ended for the key of this queue. */
  settled(queue: { readonly key: string; readonly idle: boolean }): void
}
