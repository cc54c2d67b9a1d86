import { Deadlines } from '../../../src/stores/contract/index.ts'
import { type Connection, connectionOf } from '../../../src/stores/redis/client/index.ts'
import type { WindowCount } from '../counters.ts'
import type { Counting, Settings } from './settings.ts'

/** Counts a hit. With too many, the window begins anew ('continues') or gets longer ('backs off'). */
const hit = `
  local window, max, rule = tonumber(ARGV[1]), tonumber(ARGV[2]), ARGV[3]
  local used = redis.call('INCR', KEYS[1])
  local ttl = redis.call('PTTL', KEYS[1])
  if ttl >= 0 and (used <= max or rule == 'ends') then return { used, ttl } end
  if ttl >= 0 and rule == 'backs off' then window = math.min(window * 2 ^ (used - max - 1), 2 ^ 53 - 1) end
  redis.call('PEXPIRE', KEYS[1], string.format('%.0f', window))
  return { used, window }
`

const read = "return { tonumber(redis.call('GET', KEYS[1]) or 0), math.max(0, redis.call('PTTL', KEYS[1])) }"

/**
 * Counts in Redis under the keys of @fastify/rate-limit, in windows that refusals begin anew or make longer, or that are as long as
 * their first call says.
 */
export class ChangingInRedis implements Counting {
  readonly #connection: Connection
  /** A call may take a second. */
  readonly #deadlines = new Deadlines('Redis', 1000)
  readonly #prefix: string
  readonly #rule: 'continues' | 'backs off' | 'ends'

  constructor(client: unknown, prefix: string, { continueExceeding, exponentialBackoff }: Settings) {
    this.#connection = connectionOf(client)
    this.#prefix = prefix
    this.#rule = continueExceeding ? 'continues' : exponentialBackoff ? 'backs off' : 'ends'
  }

  hit(key: string, window: number, max: number): Promise<WindowCount> {
    return this.#ask(hit, key, [window, max, this.#rule])
  }

  read(key: string): Promise<WindowCount> {
    return this.#ask(read, key, [])
  }

  async #ask(script: string, key: string, args: unknown[]): Promise<WindowCount> {
    // ioredis takes Buffers for bytes, and any other array for several arguments.
    const bytes = args.map((arg) => Buffer.from(String(arg)))
    const { reply } = this.#connection.eval(script, [this.#prefix + key], bytes)
    const [used, resetAfter] = (await this.#deadlines.bound(reply)) as [number, number]
    return { used, resetAfter }
  }
}
