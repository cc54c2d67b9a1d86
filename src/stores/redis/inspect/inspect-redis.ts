import { check, readOptions } from '../../../common/index.ts'
import { defaultScope } from '../../../policy/index.ts'
import { encodeName } from '../../contract/index.ts'
import { type EncodedParts, inspectStore, type StoredRecord, type StoreInspector } from '../../store-inspector.ts'
import { type Connection, connectionOf, type RedisClient } from '../client/index.ts'
import { prefixOf } from '../keys.ts'
import type { Publisher } from '../local/index.ts'
import { packPlan, Script, script } from '../script/index.ts'
import { Batcher } from '../wire/index.ts'
import { hashesOf } from './inspect-keys.ts'
import { readRecord, scanRecords } from './record-reader.ts'
import { unpackRecords } from './unpack-records.ts'
import { usualNames } from './usual-names.ts'

/** The options of `inspectRedis`. */
export interface InspectRedisOptions {
  /** The option `prefix` of the store. Default `'headgate'`. */
  prefix?: string | undefined
  /** Names of policies, besides usual names such as `15m`. Redis has only hashes of names, so an unknown name is shown as its hash. */
  names?: readonly string[] | undefined
}

/** The result of `inspectRedis`. */
export interface RedisInspector extends StoreInspector {
  /** The SHA-1 of the script that decides, by which Redis identifies the script. */
  readonly scriptSha: string
}

/**
 * Shows the states that limiters have in Redis, without a definition of their policies. The Redis user needs SCAN, EVAL,
 * MGET and TIME; for `reset` and `unban` also PUBLISH and all commands of the script that decides.
 * @throws HeadgateError `HEADGATE_OPTION` if the client or an option is invalid
 */
export function inspectRedis(client: RedisClient, options: InspectRedisOptions = {}): RedisInspector {
  const readers = {
    prefix: prefixOf,
    names: check<readonly string[]>(Array.isArray, 'a list of names', "['15m']", []),
  }
  const { prefix, names: own } = readOptions('inspectRedis', options, readers)
  const connection = connectionOf(client, 'inspectRedis: client')
  const names = hashesOf([...usualNames, ...own])
  let batcher: Batcher | undefined
  /** Changes a key by the same script that limiters use. */
  const change = async (verb: 'reset' | 'unban', storeKey: string) => {
    batcher ??= new Batcher({ connection, ...batching })
    const plan = packPlan('', [], [''], 'keep')
    await batcher.send({ plan, verb, keys: [storeKey], costs: 1, now: -1 }, () => undefined)
    // This message tells other processes to forget their cached refusals of the key. If the message fails, other processes see the
    // change when these refusals expire.
    await (client as unknown as Publisher).publish(`${prefix}:resets`, storeKey).catch(() => undefined)
  }
  const store = {
    records: (start: string, id = '*') => recordsOf(connection, `${start}*{${id}}`, names),
    async record(storeKey: string) {
      const { now, value } = await readRecord(connection, storeKey)
      return value && recordOf(storeKey, now, value, names)
    },
    partsOf,
    remove: (storeKey: string) => change('reset', storeKey),
    unban: (storeKey: string) => change('unban', storeKey),
  }
  return { ...inspectStore(store, prefix), scriptSha: batching.script.sha }
}

/** Settings of the Batcher. There are no batches, because a person sends one request at a time. Times are in milliseconds. */
const batching = {
  script: new Script(script),
  timeout: 10_000,
  ttlMargin: 1000,
  size: 1,
  most: 1,
  reconnectAfter: Infinity,
}

/** How many keys a scan remembers, so that it reports a key once, although SCAN may return a key twice. */
const mostSeen = 1_000_000

async function* recordsOf(
  connection: Connection,
  pattern: string,
  names: ReadonlyMap<string, string>,
): AsyncGenerator<StoredRecord, void, undefined> {
  let from: unknown
  const seen = new Set<string>()
  do {
    const { values, next } = await scanRecords(connection, pattern, from)
    for (const { key: storeKey, now, value } of values) {
      if (seen.has(storeKey)) continue
      if (seen.size < mostSeen) seen.add(storeKey)
      yield recordOf(storeKey, now, value, names)
    }
    from = next
  } while (from !== undefined)
}

/** @param value undefined if the value of the key in Redis is not a string: then `read` of the result throws an error */
function recordOf(
  storeKey: string,
  now: number,
  value: Buffer | undefined,
  names: ReadonlyMap<string, string>,
): StoredRecord {
  return { storeKey, now, bytes: value?.length ?? 0, read: () => unpackRecords(value as Buffer, names) }
}

const form = /^([^:{}]+):(?:([^:{}]+):)?\{(.*)\}$/s

function partsOf(rest: string): EncodedParts | undefined {
  const [, limiter, scope = encodeName(defaultScope), id] = form.exec(rest) ?? []
  return limiter === undefined || id === undefined ? undefined : { limiter, scope, id }
}
