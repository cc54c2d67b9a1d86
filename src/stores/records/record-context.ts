import type { Clock } from '../../common/index.ts'
import type { BreakerTerms, Deadlines } from '../contract/index.ts'
import type { KeyQueue, RunJobs } from './key-queue.ts'
import type { SizeLimit } from './size-limit.ts'

/** What a commit waits for. `'full'`: the data is on the disk. `'normal'`: the database has the data, maybe only in memory. */
export type Durability = 'full' | 'normal'

/** The stored records of some keys as texts, and the time of the store in microseconds. */
export interface ReadTexts {
  readonly texts: readonly (string | undefined)[]
  readonly now: number
}

/** A page of stored records as texts, in the order of their keys. The page is small enough to be read in a short time. */
export interface TextPage {
  readonly keys: readonly string[]
  readonly texts: readonly string[]
  readonly now: number
  /** True if there may be more keys after this page. */
  readonly more: boolean
}

/** The parts and settings that the ledgers of one store share. */
export interface RecordContext {
  readonly kind: string
  readonly prefix: string
  /** The longest time of a call, in milliseconds. */
  readonly timeout: number
  readonly breaker: Partial<BreakerTerms>
  /** The clock of this process. */
  readonly clock: Clock
  readonly deadlines: Deadlines
  readonly queue: KeyQueue
  /** Reads the stored texts of these keys for an inspection. */
  readonly read: (keys: readonly string[]) => Promise<ReadTexts>
  /** Reads a page of texts, whose keys begin with `start` and come after the key `after`. Undefined if the store cannot list its keys. */
  readonly page?: ((start: string, after: string) => Promise<TextPage>) | undefined
  /** The limit of the size of a stored text. Undefined if the store does not limit the size of a value. */
  readonly size?: SizeLimit | undefined
  /** Runs the jobs (writes in one transaction) that write documents. Absent if the store may evict a document. */
  readonly runDocuments?: RunJobs
  /** Deletes every key that begins with `start`. Absent if the store cannot list its keys. */
  readonly clear?: (start: string) => Promise<void>
}
