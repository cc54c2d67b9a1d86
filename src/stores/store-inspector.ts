import { HeadgateError, shown } from '../common/index.ts'
import { type Inspection, inspectionOf, type KeptKey } from '../inspection/index.ts'
import { decodeId, decodeName, limiterStart, soughtId } from './contract/index.ts'

/** A key of any limiter, and what the store has for this key. */
export interface StoredKey {
  /** The key as it is written in the store, such as `'headgate:api:user:{ann}'`. */
  readonly storeKey: string
  /** The name of the limiter; undefined if the store has only a hash of the name. */
  readonly limiter: string | undefined
  readonly scope: string | undefined
  /** The key that the limiter counts; undefined if the store has only a hash of the key. */
  readonly key: string | undefined
  readonly hash: string | undefined
  /** The size of the stored value, in bytes. */
  readonly bytes: number
  /**
   * What the states mean. The numbers of the policies are stored with the states. Undefined if the value does not have the format of this
   * version.
   */
  readonly inspection: Inspection | undefined
}

/** Selects the keys to list. A field that is left out allows any value. */
export interface StoredKeyFilter {
  readonly limiter?: string | undefined
  readonly scope?: string | undefined
  /** The key that the limiter counts, or for a long key its hash, as `list` shows it. */
  readonly key?: string | undefined
}

/** For people who run a service: shows the keys of all limiters under a prefix. The policies of the limiters need not be known. */
export interface StoreInspector {
  /** Lists the keys, page by page. The iterator rejects with HeadgateError `HEADGATE_STORE` if the store fails. */
  list(filter?: StoredKeyFilter): AsyncGenerator<StoredKey, void, undefined>
  /** Reads one key, without a look at other keys. Undefined if the store has nothing of the key. @param storeKey as `list` shows it */
  read(storeKey: string): Promise<StoredKey | undefined>
  /** Deletes a key, so that it has its full quota under every policy. */
  reset(storeKey: string): Promise<void>
  /** Ends the ban of a key, including a ban that a penalty policy (automatic bans) began. Used units stay used. */
  unban(storeKey: string): Promise<void>
}

/** The parts of a key in the store, in their encoded form. */
export interface EncodedParts {
  readonly limiter: string
  readonly scope: string
  readonly id: string
}

/** One key and its value, as the store returned them. */
export interface StoredRecord {
  readonly storeKey: string
  readonly bytes: number
  /** The time by the store's clock, in microseconds. */
  readonly now: number
  /** @throws Error if the value does not have the format of this version */
  read(): Omit<KeptKey, 'now'>
}

/** What an inspector needs from a store. Each function rejects with HeadgateError `HEADGATE_STORE` if the store fails. */
export interface InspectedStore {
  /**
   * The values of all keys that begin with a text.
   * @param start the prefix of the store, or the beginning of all keys of one limiter. Its last character is a colon
   * @param id the encoded id of the keys to list; undefined for all keys
   */
  records(start: string, id: string | undefined): AsyncIterable<StoredRecord>
  /** The value of one key; undefined if the store has none. */
  record(storeKey: string): Promise<StoredRecord | undefined>
  /**
   * Returns the parts of a key of the store, or the hash that a long key has in place of the parts; undefined for a key of
   * another program.
   * @param rest the key without the prefix
   */
  partsOf(rest: string): EncodedParts | { readonly hash: string } | undefined
  remove(storeKey: string): Promise<void>
  unban(storeKey: string): Promise<void>
}

type KeyParts = Pick<StoredKey, 'limiter' | 'scope' | 'key' | 'hash'>

/** Makes an inspector of the keys in a store. @param prefix the prefix of the store's keys */
export function inspectStore(store: InspectedStore, prefix: string): StoreInspector {
  const partsOf = (storeKey: string) =>
    storeKey.startsWith(`${prefix}:`) ? shownParts(store.partsOf(storeKey.slice(prefix.length + 1))) : undefined
  const check = (storeKey: string): KeyParts => {
    const parts = partsOf(storeKey)
    if (parts !== undefined) return parts
    throw new HeadgateError(
      'HEADGATE_KEY',
      `${shown(storeKey)} is no key of a limiter under ${shown(prefix)}. Give the storeKey of a listed key.`,
    )
  }
  async function* list(filter: StoredKeyFilter): AsyncGenerator<StoredKey, void, undefined> {
    const sought = filter.key === undefined ? undefined : soughtId(filter.key)
    const start = filter.limiter === undefined ? `${prefix}:` : limiterStart(prefix, filter.limiter)
    for await (const record of store.records(start, sought?.encoded)) {
      const parts = partsOf(record.storeKey)
      if (parts === undefined || !matches(parts, { ...filter, key: sought?.shown })) continue
      yield storedKey(record, parts)
    }
  }
  return {
    list: (filter = {}) => list(checkFilter(filter)),
    async read(storeKey) {
      const parts = check(storeKey)
      const record = await store.record(storeKey)
      return record && storedKey(record, parts)
    },
    async reset(storeKey) {
      check(storeKey)
      await store.remove(storeKey)
    },
    async unban(storeKey) {
      check(storeKey)
      await store.unban(storeKey)
    },
  }
}

function storedKey(record: StoredRecord, parts: KeyParts): StoredKey {
  return { storeKey: record.storeKey, ...parts, bytes: record.bytes, inspection: inspected(record, parts) }
}

function shownParts(parts: ReturnType<InspectedStore['partsOf']>): KeyParts | undefined {
  if (parts === undefined) return undefined
  const unknown = { limiter: undefined, scope: undefined, key: undefined, hash: undefined }
  if ('hash' in parts) return { ...unknown, ...parts }
  return { ...unknown, limiter: nameOf(parts.limiter), scope: nameOf(parts.scope), ...decodeId(parts.id) }
}

function nameOf(encoded: string): string | undefined {
  return encoded.startsWith('#') ? undefined : decodeName(encoded)
}

function inspected({ now, read }: StoredRecord, { scope = '' }: KeyParts): Inspection | undefined {
  try {
    return inspectionOf({ scopes: [scope], onChange: 'keep' }, [{ now, ...read() }])
  } catch {
    return undefined
  }
}

function matches(parts: KeyParts, { limiter, scope, key }: StoredKeyFilter): boolean {
  return (
    (limiter === undefined || limiter === parts.limiter) &&
    (scope === undefined || scope === parts.scope) &&
    (key === undefined || key === parts.key || key === parts.hash)
  )
}

/** Checks the filter of a list. @throws HeadgateError `HEADGATE_OPTION` if the filter is invalid */
function checkFilter(filter: StoredKeyFilter): StoredKeyFilter {
  for (const [name, value] of Object.entries(filter)) {
    if (['limiter', 'scope', 'key'].includes(name) && (value === undefined || typeof value === 'string')) continue
    throw new HeadgateError(
      'HEADGATE_OPTION',
      `list takes limiter, scope and key, each a text, got ${name}. Leave it out.`,
    )
  }
  return filter
}
