import type { Clock } from '../../clock.ts'
import type { Caller } from './caller.ts'
import type { Denials } from './denials.ts'
import type { Leases } from './leases.ts'

/** What the ledgers of one store share. */
export interface Shared {
  readonly caller: Caller
  readonly prefix: string
  /** Whether keys in different slots need two phases. */
  readonly cluster: boolean
  /** The time to decide by; undefined for the time of Redis. */
  readonly clock: Clock | undefined
  readonly denials: Denials | undefined
  readonly leases: Leases | undefined
}
