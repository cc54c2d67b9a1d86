import type { Clock } from '../../clock.ts'
import type { Batcher } from './batcher.ts'
import type { Connection } from './client.ts'
import type { DenyCache } from './deny-cache.ts'
import type { Leases } from './leases.ts'
import type { PlainScripts } from './plain-scripts.ts'
import type { Resets } from './resets.ts'

/** The parts and settings that the ledgers of one Redis store share. */
export interface RedisContext {
  readonly batcher: Batcher
  readonly connection: Connection
  readonly prefix: string
  /** The time of decisions; undefined for the time of Redis. */
  readonly clock: Clock | undefined
  readonly plainScripts: PlainScripts
  readonly denyCache: DenyCache | undefined
  readonly leases: Leases | undefined
  /** Present if other processes are told of resets. */
  readonly resets: Resets | undefined
}
