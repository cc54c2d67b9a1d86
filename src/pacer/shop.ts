import type { Agenda } from './agenda.ts'
import type { Bank } from './bank.ts'
import type { Events } from './events.ts'

/** What the lanes of a pacer share. */
export interface Shop {
  readonly agenda: Agenda
  readonly bank: Bank
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
