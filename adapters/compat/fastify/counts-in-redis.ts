import { monotonicClock } from '../../../src/common/index.ts'
import { Deadlines } from '../../../src/stores/contract/index.ts'
import { connectionOf, isReadOnly } from '../../../src/stores/redis/client/index.ts'
import { RedisNode } from '../../../src/stores/redis/wire/index.ts'
import type { WindowCount } from '../counters.ts'
import type { Counting, Settings } from './settings.ts'

/**
 * The script that counts a hit. A hit over the limit starts the window again if the argument `rule` is 'continues', and makes the
 * window longer if `rule` is 'backs off'.
 */
const hit = `
  local window, max, rule = tonumber(ARGV[1]), tonumber(ARGV[2]), ARGV[3]
  local used = redis.call('INCR', KEYS[1])
  local ttl = redis.call('PTTL', KEYS[1])
  if ttl >= 0 and (used <= max or rule == 'ends') then return { used, ttl } end
  if ttl >= 0 and rule == 'backs off' then window = math.min(window * 2 ^ (used - max - 1), 2 ^ 53 - 1) end
  redis.call('PEXPIRE', KEYS[1], string.format('%.0f', window))
  return { used, window }
`

/** After this time without an answer, in milliseconds, the client leaves its connection, as with `redisStore`. */
const longestSilence = 5000

const read = "return { tonumber(redis.call('GET', KEYS[1]) or 0), math.max(0, redis.call('PTTL', KEYS[1])) }"

/**
 * Counts hits in Redis, under the keys of @fastify/rate-limit. With `continueExceeding`, a refused hit starts the window of its key
 * again. With `exponentialBackoff`, a refused hit makes the window longer. Without both options, a refused hit does not change the
 * window.
 */
export function countsInRedis(client: unknown, prefix: string, settings: Settings): Counting {
  const { continueExceeding, exponentialBackoff } = settings
  const rule = continueExceeding ? 'continues' : exponentialBackoff ? 'backs off' : 'ends'
  const connection = connectionOf(client)
  const deadlines = new Deadlines('Redis', 1000) // milliseconds that a call of Redis may take
  const node = new RedisNode()
  const ask = async (script: string, key: string, ...args: unknown[]): Promise<WindowCount> => {
    // Each argument is sent as a Buffer, because ioredis splits any other array (such as a Uint8Array) into several arguments.
    const bytes = args.map((arg) => Buffer.from(String(arg)))
    const { reply } = connection.eval(script, [prefix + key], bytes)
    node.asked(monotonicClock())
    const answered = () => node.answered()
    reply.then(answered, answered)
    try {
      const [used, resetAfter] = (await deadlines.bound(reply)) as [number, number]
      return { used, resetAfter }
    } catch (error) {
      const { answers } = node
      if (isReadOnly(error)) connection.leaveReplica(longestSilence)
      else if (!connection.cluster && node.isSilentFor(longestSilence * 1000)) {
        connection.reconnect(0, () => node.answers === answers)
      }
      throw error
    }
  }
  return {
    hit: (key, window, max) => ask(hit, key, window, numberOf(max), rule),
    read: (key) => ask(read, key),
  }
}

/** The limit that the script compares as JavaScript does: null counts as 0, and what is no number refuses nobody. */
function numberOf(max: unknown): number {
  const limit = Number(max)
  return Number.isNaN(limit) ? Infinity : limit
}
