import type { Clock } from '../../common/clock.ts'
import type { Batcher } from './wire/batcher.ts'
import type { Connection } from './client/redis-client.ts'
import type { DenyCache } from './local/refusal-cache.ts'
import type { Leases } from './local/leases.ts'
import type { PlainScripts } from './script/plain-scripts.ts'
import type { Resets } from './local/resets.ts'

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
