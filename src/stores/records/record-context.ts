import type { Clock } from '../../clock.ts'
import type { Deadlines } from '../deadlines.ts'
import type { BreakerTerms } from '../store.ts'
import type { KeyQueue } from './key-queue.ts'
import type { SizeLimit } from './size-limit.ts'

/** The parts and settings that the ledgers of one record store share. */
export interface RecordContext {
  readonly prefix: string
  /** In milliseconds. */
  readonly timeout: number
  readonly breaker: Partial<BreakerTerms>
  /** The time of this process. */
  readonly clock: Clock
  readonly deadlines: Deadlines
  readonly queue: KeyQueue
  /** The most bytes that the store holds for a key, if it has a bound. */
  readonly size?: SizeLimit | undefined
  /** Deletes every key that begins so, if the store can list its keys. */
  readonly clear?: (start: string) => Promise<void>
}
