import type { Clock } from '../../common/index.ts'
import type { BreakerTerms, Deadlines } from '../contract/index.ts'

import type { KeyQueue } from './key-queue.ts'
import type { SizeLimit } from './size-limit.ts'

/** The texts of some keys, and the time of the store in microseconds. */
export interface ReadTexts {
  readonly texts: readonly (string | undefined)[]
  readonly now: number
}

/** Texts of keys in their order, at most so many that one read is short. */
export interface TextPage {
  readonly keys: readonly string[]
  readonly texts: readonly string[]
  readonly now: number
  /** True if there may be more keys. */
  readonly more: boolean
}

/** The parts and settings that the ledgers of one record store share. */
export interface RecordContext {
  readonly kind: string
  readonly prefix: string
  /** In milliseconds. */
  readonly timeout: number
  readonly breaker: Partial<BreakerTerms>
  /** The time of this process. */
  readonly clock: Clock
  readonly deadlines: Deadlines
  readonly queue: KeyQueue
  /** Reads texts without a decision. */
  readonly read: (keys: readonly string[]) => Promise<ReadTexts>
  /** Reads the next texts that are needed, of keys that begin with `start` and come after `after`. Absent if the store has no order. */
  readonly page?: ((start: string, after: string) => Promise<TextPage>) | undefined
  /** The most bytes that the store holds for a key, if it has a bound. */
  readonly size?: SizeLimit | undefined
  /** Deletes every key that begins so, if the store can list its keys. */
  readonly clear?: (start: string) => Promise<void>
}
