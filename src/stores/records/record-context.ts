import type { Clock } from '../../common/index.ts'
import type { BreakerTerms, Deadlines } from '../contract/index.ts'
import type { KeyQueue } from './key-queue.ts'
import type { SizeLimit } from './size-limit.ts'

/** The texts of some keys, and the store's time in microseconds. */
export interface ReadTexts {
  readonly texts: readonly (string | undefined)[]
  readonly now: number
}

/** Some texts in the order of their keys: so few that one read is short. */
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
  /** The timeout of a call, in milliseconds. */
  readonly timeout: number
  readonly breaker: Partial<BreakerTerms>
  /** The clock of this process. */
  readonly clock: Clock
  readonly deadlines: Deadlines
  readonly queue: KeyQueue
  /** Reads texts to inspect them. */
  readonly read: (keys: readonly string[]) => Promise<ReadTexts>
  /** Reads the next needed texts of keys that begin with `start`, after the key `after`. Absent if the store cannot list. */
  readonly page?: ((start: string, after: string) => Promise<TextPage>) | undefined
  /** The most bytes that the store holds for a key, if it has a bound. */
  readonly size?: SizeLimit | undefined
  /** Deletes every key that begins with `start`, if the store can list its keys. */
  readonly clear?: (start: string) => Promise<void>
}
