import type { Events } from './events.ts'
import type { Permits } from './permits.ts'
import type { Scheduler } from './scheduler.ts'

/** What all keys of a pacer share. */
export interface PacerContext {
  readonly scheduler: Scheduler
  readonly permits: Permits
  readonly events: Events
  readonly clock: () => number
  readonly maxQueue: number
  readonly order: 'oldest' | 'newest'
  readonly concurrency: number
  /** True if slots can be booked ahead. */
  readonly reservable: boolean
  paused: boolean
  closed: boolean
  /** How many calls have come. */
  calls: number
  /** Something ended at a key. */
  settled(keyPacer: { readonly key: string; readonly idle: boolean }): void
}
