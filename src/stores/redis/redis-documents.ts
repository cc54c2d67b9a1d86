import { HeadgateError } from '../../common/index.ts'
import { type Documents, encodeName, versionOf } from '../contract/index.ts'
import { type Connection, redisError } from './client/index.ts'
import type { RedisContext } from './redis-context.ts'

/** The script uses only commands that decisions need too, so an ACL for decisions permits the script. */
const reading = "return redis.call('MGET', unpack(KEYS))"

/** A client may send the call again after a lost connection. The second call then finds its version written, and reports success. */
const swapping = `
if ARGV[1] ~= '1' then return 0 end
local version = redis.call('MGET', KEYS[1])[1] or ''
if version == ARGV[3] then return 1 end
if version ~= ARGV[2] then return 0 end
redis.call('SET', KEYS[1], ARGV[3])
redis.call('SET', KEYS[2], ARGV[4])
return 1
`

/**
 * Documents in Redis: each has two keys (its version and its text), which never expire. All these keys have one hash tag, so one command
 * can read several documents in a Cluster too.
 */
export function redisDocuments({
  connection,
  batcher,
  prefix,
}: Pick<RedisContext, 'connection' | 'batcher' | 'prefix'>): Documents {
  const keyOf = (name: string, part: 'version' | 'text') =>
    `${prefix}:~documents:${encodeName(name)}:${part}{documents}`
  const read = async (keys: string[]) => {
    const values = (await batcher.reading(call(connection, reading, keys))) as readonly unknown[]
    return values.map(textOf)
  }
  return {
    async versions(names) {
      if (!connection.ready() || connection.idle()) throw notConnected(connection)
      return read(names.map((name) => keyOf(name, 'version')))
    },
    async read(name) {
      const [version = '', text = ''] = await read([keyOf(name, 'version'), keyOf(name, 'text')])
      return { version, text }
    },
    async swap(name, version, text) {
      const keys = [keyOf(name, 'version'), keyOf(name, 'text')]
      const swap = connection.eval(swapping, keys, ['1', version, versionOf(text), text])
      try {
        return Number(await batcher.within(swap.reply)) === 1
      } catch (cause) {
        swap.withdraw() // a client that has no connection would send the call later
        throw redisError(cause, swapping)
      }
    },
  }
}

function notConnected(connection: Connection): HeadgateError {
  const cause = connection.problem()
  return new HeadgateError('HEADGATE_STORE', 'Redis is not connected, so the overrides cannot be read.', { cause })
}

/** Runs one of these short scripts. The text of the script is sent each time, so that the server need not know the script. */
async function call(connection: Connection, script: string, keys: string[]): Promise<unknown> {
  try {
    return await connection.eval(script, keys, []).reply
  } catch (cause) {
    throw redisError(cause, script)
  }
}

function textOf(value: unknown): string {
  if (value instanceof Uint8Array) return Buffer.from(value).toString()
  return typeof value === 'string' ? value : ''
}
