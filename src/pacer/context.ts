import type { Events } from './events.ts'
import type { Permits } from './permits.ts'
import type { Scheduler } from './scheduler.ts'

/** What the lanes of a pacer share. */
export interface PacerContext {
  readonly agenda: Scheduler
  readonly bank: Permits
  readonly events: Events
  readonly clock: () => number
  readonly maxQueue: number
  readonly order: 'oldest' | 'newest'
  readonly concurrency: number
  readonly promises: boolean
  /** Whether the pacer as a whole is paused. */
  paused: boolean
  closed: boolean
  /** How many calls came: the next one's number. */
  calls: number
  /** Something ended in a lane. */
  settled(lane: { readonly key: string; readonly idle: boolean }): void
}
