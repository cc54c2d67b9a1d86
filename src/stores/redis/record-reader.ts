import { HeadgateError, shown } from '../../errors.ts'
import type { Connection } from './client.ts'
import { redisError } from './redis-error.ts'

/**
 * Values are binary, and clients decode replies as UTF-8. So each byte becomes the character of its number: one from 128 on
 * takes two bytes.
 */
const encode = `
local wide = {}
for n = 128, 255 do wide[string.char(n)] = string.char(192 + math.floor(n / 64), 128 + n % 64) end
local function read(key)
  local value = redis.call('MGET', key)[1]
  return value and string.gsub(value, '[\\128-\\255]', wide)
end
local time = redis.call('TIME')
local reply = { time[1] * 1000000 + time[2] }
`

/**
 * The value of a key. It needs no command that a decision does not need: MGET reads nothing from a value of another type, and
 * SETRANGE of an empty text tells its type and changes nothing.
 */
const readScript = `${encode}
reply[2] = read(KEYS[1])
if not reply[2] then
  local tried = redis.pcall('SETRANGE', KEYS[1], '0', '')
  reply[3] = type(tried) == 'table' and string.sub(tried.err, 1, 9) == 'WRONGTYPE' and 1 or 0
end
return reply
`

/** A part of the keys that match, and their values. SCAN looks at so many keys at once that Redis is never blocked. */
const scanScript = `${encode}
local found = redis.call('SCAN', ARGV[1], 'MATCH', ARGV[2], 'COUNT', ARGV[3])
reply[2] = found[1]
for n, key in ipairs(found[2]) do
  reply[2 * n + 1] = key
  reply[2 * n + 2] = read(key) or ''
end
return reply
`

/** How many keys one SCAN looks at. */
const scanned = 500

/** The value of a key; undefined if it is of another type. */
interface StoredValue {
  readonly key: string
  readonly value: Buffer | undefined
}

/** Where a scan goes on: on the first of these servers. */
interface Position {
  readonly servers: readonly string[]
  readonly cursor: string
}

export interface ScanPage {
  readonly now: number
  readonly values: readonly StoredValue[]
  readonly next: Position | undefined
}

/** Reads records without changing anything. */
export class RecordReader {
  readonly #connection: Connection

  constructor(connection: Connection) {
    this.#connection = connection
  }

  /** @param key without the client's own prefix @throws HeadgateError of Redis, or for a value of another type */
  async read(key: string): Promise<{ now: number; value: Buffer | undefined }> {
    const reply = await failingAs(readScript, this.#connection.eval(readScript, [key], []))
    const [now, value, mistyped] = reply as [number | string, string | null, number?]
    if (Number(mistyped) === 1) throw brokenValue(key, new TypeError('it is no text'))
    return { now: Number(now), value: value === null ? undefined : bytesOf(value) }
  }

  /** @param pattern of SCAN, without the client's own prefix @param from `next` of the page before */
  async scan(pattern: string, from: unknown): Promise<ScanPage> {
    const { keyPrefix } = this.#connection
    const masters = await this.#connection.masters()
    const { servers, cursor } = (from as Position | undefined) ?? { servers: [...masters.keys()], cursor: '0' }
    const [server = '', ...others] = servers
    const run = masters.get(server)
    if (run === undefined) return { now: 0, values: [], next: after('0', server, others) }
    const args = [cursor, escapeGlob(keyPrefix) + pattern, String(scanned)]
    const reply = await failingAs(scanScript, run(scanScript, args))
    const [now, next, ...rest] = reply as [number | string, string, ...string[]]
    const values: StoredValue[] = []
    for (let n = 0; n < rest.length; n += 2) {
      const [key, value] = [rest[n] as string, rest[n + 1] as string]
      values.push({ key: key.slice(keyPrefix.length), value: value === '' ? undefined : bytesOf(value) })
    }
    return { now: Number(now), values, next: after(String(next), server, others) }
  }
}

function after(cursor: string, server: string, others: readonly string[]): Position | undefined {
  if (cursor !== '0') return { servers: [server, ...others], cursor }
  return others.length === 0 ? undefined : { servers: others, cursor: '0' }
}

async function failingAs<T>(script: string, answer: Promise<T>): Promise<T> {
  try {
    return await answer
  } catch (cause) {
    throw redisError(cause, script)
  }
}

/** The error of a value that no decision reads either. */
export function brokenValue(key: string, cause: unknown): HeadgateError {
  return new HeadgateError(
    'HEADGATE_STORE_RECORD',
    `The value under ${shown(key)} in Redis is no record of this version. Choose another prefix, or delete it with reset(key).`,
    { cause },
  )
}

function bytesOf(value: string): Buffer {
  return Buffer.from(value, 'latin1')
}

function escapeGlob(text: string): string {
  return text.replace(/[\\*?[\]]/g, '\\$&')
}
