import { HeadgateError, shown } from '../../../common/index.ts'
import { type Connection, keyScanOf, nextKeys, redisError } from '../client/index.ts'

/**
 * Reads the values of keys. Uses only commands that decisions need too, so an ACL for decisions permits them. If a key is not a
 * string (but a list, for example), MGET returns no value, and SETRANGE with an empty text fails. On a string, such a SETRANGE
 * changes nothing.
 *
 * Values are binary, but clients decode replies as UTF-8. So the script replaces each byte by the Unicode character with the
 * same number. A character from 128 on takes two bytes in the reply.
 */
const readScript = `
local wide = {}
for n = 128, 255 do wide[string.char(n)] = string.char(192 + math.floor(n / 64), 128 + n % 64) end
local time = redis.call('TIME')
local reply = { time[1] * 1000000 + time[2] }
for n, key in ipairs(KEYS) do
  local value = redis.call('MGET', key)[1]
  local tried = not value and redis.pcall('SETRANGE', key, '0', '')
  reply[2 * n] = value and string.gsub(value, '[\\128-\\255]', wide)
  reply[2 * n + 1] = type(tried) == 'table' and string.sub(tried.err, 1, 9) == 'WRONGTYPE' and 1 or 0
end
return reply
`

/** How many keys of the server one SCAN compares with the pattern. */
const scanned = 500

/** The value of a key; undefined if the key does not exist or is not a string. */
interface StoredValue {
  readonly key: string
  /** The time of the server, in microseconds. */
  readonly now: number
  readonly value: Buffer | undefined
}

interface FoundValue extends StoredValue {
  readonly mistyped: boolean
}

export interface ScanPage {
  readonly values: readonly StoredValue[]
  readonly next: unknown
}

/**
 * Reads the value of a key, and changes nothing.
 * @param key without the prefix that the client adds to keys
 * @throws HeadgateError if Redis fails, or if the key is not a string
 */
export async function readRecord(connection: Connection, key: string): Promise<StoredValue> {
  const [found] = await read(connection, [key])
  if (found?.mistyped) throw brokenValue(key, new TypeError('it is no text'))
  return found as FoundValue
}

/** Reads a page of keys and values. @param pattern without the client's prefix @param from the field `next` of the last page */
export async function scanRecords(connection: Connection, pattern: string, from: unknown): Promise<ScanPage> {
  const { keys, next } = await failingAs('', nextKeys(keyScanOf(connection), pattern, scanned, from))
  // In Redis Cluster, all keys of one command have to be in one slot, so a separate command is sent for each key.
  const groups = connection.cluster ? keys.map((key) => [key]) : [keys]
  const found = (await Promise.all(groups.map((group) => read(connection, group)))).flat()
  return { values: found.filter(({ value, mistyped }) => value !== undefined || mistyped), next }
}

async function read(connection: Connection, keys: readonly string[]): Promise<FoundValue[]> {
  if (keys.length === 0) return []
  const reply = await failingAs(readScript, connection.eval(readScript, [...keys], []).reply)
  const [time, ...found] = reply as [number | string, ...(string | Buffer | number | null)[]]
  return keys.map((key, n) => {
    const value = found[2 * n]
    // Some clients are configured to return a buffer in place of a text.
    const text = value == null ? undefined : Buffer.from(String(value), 'latin1')
    return { key, now: Number(time), value: text, mistyped: Number(found[2 * n + 1]) === 1 }
  })
}

async function failingAs<T>(script: string, answer: Promise<T>): Promise<T> {
  try {
    return await answer
  } catch (cause) {
    throw redisError(cause, script)
  }
}

/** The error for a key whose value headgate did not write. Decisions fail for such a key too. */
export function brokenValue(key: string, cause: unknown): HeadgateError {
  return new HeadgateError(
    'HEADGATE_STORE_RECORD',
    `The value under ${shown(key)} in Redis is no record of this version. Choose another prefix, or delete it with reset(key).`,
    { cause },
  )
}
