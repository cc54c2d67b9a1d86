import type { Clock } from '../../common/index.ts'
import type { Connection } from './client/index.ts'
import type { Leases, RefusalCache, ResetMessages } from './local/index.ts'
import type { ShortScripts } from './script/index.ts'
import type { Batcher } from './wire/index.ts'

/** The parts and settings that the ledgers of one Redis store share. */
export interface RedisContext {
  readonly batcher: Batcher
  readonly connection: Connection
  readonly prefix: string
  /** The clock that gives the time of decisions; undefined if Redis gives the time. */
  readonly clock: Clock | undefined
  readonly shortScripts: ShortScripts
  readonly refusalCache: RefusalCache | undefined
  readonly leases: Leases | undefined
  /** Tells other processes which keys were reset. Undefined without the option `subscriber`. */
  readonly resets: ResetMessages | undefined
}
