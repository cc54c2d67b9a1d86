import type { Clock } from '../../clock.ts'
import type { Batcher } from './batcher.ts'
import type { DenyCache } from './deny-cache.ts'
import type { Leases } from './leases.ts'

/** What the ledgers of one store share. */
export interface Shared {
  readonly caller: Batcher
  readonly prefix: string
  /** Whether keys in different slots need two phases. */
  readonly cluster: boolean
  /** The time to decide by; undefined for the time of Redis. */
  readonly clock: Clock | undefined
  readonly denials: DenyCache | undefined
  readonly leases: Leases | undefined
}
