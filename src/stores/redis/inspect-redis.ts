import { HeadgateError, shown } from '../../errors.ts'
import {
  checkFilter,
  type KeyParts,
  matches,
  type StoredKey,
  type StoredKeyFilter,
  type StoreInspector,
  storedKey,
} from '../../inspection/store-inspector.ts'
import { usualNames } from '../../inspection/usual-names.ts'
import { knownOptions } from '../../options.ts'
import { defaultScope } from '../../policy.ts'
import { decodeId, decodeName, soughtId } from '../encode.ts'
import { prefixOf } from '../shared-options.ts'
import { Batcher } from './batcher.ts'
import { type Connection, connectionOf, type RedisClient } from './client.ts'
import { hashesOf } from './kept-keys.ts'
import { script } from './lua/script.ts'
import { packPlan } from './packed-plan.ts'
import { RecordReader } from './record-reader.ts'
import { redisError } from './redis-error.ts'
import { Script } from './script.ts'
import { ScriptRequest } from './script-request.ts'
import { unpackRecords } from './unpack-records.ts'

export interface InspectRedisOptions {
  /** The prefix of the store. Default `'headgate'`. */
  prefix?: string
  /** Names of policies. Redis keeps hashes of them, which are shown if no name is known. Usual names need not be given. */
  names?: readonly string[]
}

export interface RedisInspector extends StoreInspector {
  /** The SHA-1 of the script that decides, by which Redis keeps it. */
  readonly scriptSha: string
}

/**
 * Shows what limiters keep in Redis, from the records alone. It needs SCAN, EVAL, MGET and TIME, for `reset`
 * DEL and PUBLISH, and for `unblock` PUBLISH and the commands of a decision.
 * @throws HeadgateError `HEADGATE_OPTION` if the client or an option is invalid
 */
export function inspectRedis(client: RedisClient, options: InspectRedisOptions = {}): RedisInspector {
  knownOptions('inspectRedis', options, ['prefix', 'names'])
  return new Inspector(client, prefixOf('inspectRedis', options.prefix), options.names ?? [])
}

/** For single requests of an operator. Times are in milliseconds. */
const batching = {
  script: new Script(script),
  timeout: 10_000,
  ttlMargin: 1000,
  size: 1,
  most: 1,
  reconnectAfter: Infinity,
}

const deleteScript = `return redis.call('DEL', KEYS[1])`

class Inspector implements RedisInspector {
  readonly scriptSha: string = batching.script.sha
  readonly #connection: Connection
  readonly #client: RedisClient
  readonly #reader: RecordReader
  readonly #prefix: string
  readonly #names: ReadonlyMap<string, string>
  #batcher: Batcher | undefined

  constructor(client: RedisClient, prefix: string, names: readonly string[]) {
    this.#client = client
    this.#connection = connectionOf(client)
    this.#reader = new RecordReader(this.#connection)
    this.#prefix = prefix
    this.#names = hashesOf([...usualNames, ...names])
  }

  list(filter: StoredKeyFilter = {}): AsyncGenerator<StoredKey, void, undefined> {
    return this.#list(checkFilter(filter))
  }

  async *#list(filter: StoredKeyFilter): AsyncGenerator<StoredKey, void, undefined> {
    const sought = filter.key === undefined ? undefined : soughtId(filter.key)
    const wanted = { ...filter, key: sought?.shown }
    let from: unknown
    const seen = new Set<string>()
    do {
      const page = await this.#reader.scan(`${this.#prefix}:*{${sought?.encoded ?? '*'}}`, from)
      for (const { key: storeKey, now, value } of page.values) {
        const parts = partsOf(storeKey, this.#prefix)
        if (parts === undefined || !matches(parts, wanted) || seen.has(storeKey)) continue
        if (seen.size < mostSeen) seen.add(storeKey)
        yield storedKey(storeKey, parts, value?.length ?? 0, now, () => unpackRecords(textOf(value), this.#names))
      }
      from = page.next
    } while (from !== undefined)
  }

  async reset(storeKey: string): Promise<void> {
    this.#check(storeKey)
    try {
      await this.#connection.eval(deleteScript, [storeKey], []).reply
    } catch (cause) {
      throw redisError(cause, deleteScript)
    }
    await this.#publish(storeKey)
  }

  /** By the script that decides, as `limiter.unblock` does. */
  async unblock(storeKey: string): Promise<void> {
    this.#check(storeKey)
    this.#batcher ??= new Batcher({ connection: this.#connection, ...batching })
    const request = new ScriptRequest(packPlan([], [''], 'keep'), 'unban', [storeKey], 1, -1)
    const batcher = this.#batcher
    await new Promise((resolve, reject) => {
      request.resolve = resolve
      request.reject = reject
      batcher.send(request)
    })
    await this.#publish(storeKey)
  }

  /** Processes without a subscriber hear of it when their deny cache asks again. */
  async #publish(storeKey: string): Promise<void> {
    await (this.#client as unknown as Publisher).publish(`${this.#prefix}:resets`, storeKey).catch(() => undefined)
  }

  /** @throws HeadgateError `HEADGATE_KEY` for a key that is not of this prefix and form */
  #check(storeKey: string): void {
    if (partsOf(storeKey, this.#prefix) !== undefined) return
    throw new HeadgateError(
      'HEADGATE_KEY',
      `${shown(storeKey)} is no key of a limiter under ${shown(this.#prefix)}. Give the storeKey of a listed key.`,
    )
  }
}

interface Publisher {
  publish(channel: string, message: string): Promise<unknown>
}

/** @throws TypeError for a value of another type, which is no record */
function textOf(value: Buffer | undefined): Buffer {
  if (value === undefined) throw new TypeError('it is no text')
  return value
}

/** SCAN may return a key twice. So many are remembered. */
const mostSeen = 1_000_000

const form = /^([^:{}]+):(?:([^:{}]+):)?\{(.*)\}$/s

/** Undefined for another program's key. */
function partsOf(storeKey: string, prefix: string): KeyParts | undefined {
  if (!storeKey.startsWith(`${prefix}:`)) return undefined
  const [, limiter, scope, id] = form.exec(storeKey.slice(prefix.length + 1)) ?? []
  if (limiter === undefined || id === undefined) return undefined
  return {
    limiter: nameOf(limiter),
    scope: scope === undefined ? defaultScope : nameOf(scope),
    key: undefined,
    hash: undefined,
    ...decodeId(id),
  }
}

function nameOf(encoded: string): string | undefined {
  return encoded.startsWith('#') ? undefined : decodeName(encoded)
}
