import type { PacerEvents } from './pacer-events.ts'
import type { PacerLedger } from './pacer-ledger.ts'
import type { PacerSettings } from './pacer-options.ts'
import type { Runs } from './run-spacing.ts'
import type { Scheduler } from './timers/index.ts'

type Shared = 'clock' | 'polling' | 'maxQueue' | 'horizon' | 'order' | 'concurrency'

/** The parts and the settings of a pacer that the queues of all keys share. */
export interface PacerContext extends Pick<PacerSettings, Shared> {
  readonly scheduler: Scheduler
  readonly units: PacerLedger
  /**
   * Renews the leases of this pacer's units in flight (of running calls); undefined if no policy counts units in flight. The timers of
   * these renewals do not keep the process alive.
   */
  readonly renewals: Scheduler | undefined
  /**
   * Counts each call at the time at which the call really started, which may be later than the booked slot (start time). Undefined unless
   * `spacing` is `'actual'`.
   */
  readonly runs: Runs | undefined
  /** Counts started calls too, under this process's part of the policies. Undefined unless slots are booked in a store that can fail. */
  readonly share: Runs | undefined
  readonly events: PacerEvents
  /** True if the store can book a slot: a time in the future at which a call may start. */
  readonly reservable: boolean
  paused: boolean
  closed: boolean
  calls: number
  /** Called with the queue of a key when one of its calls, one of its slots (times) or one of its requests to the store has ended. */
  settled(queue: { readonly key: string; readonly idle: boolean }): void
}
