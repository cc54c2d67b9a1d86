import { HeadgateError, shown } from '../common/index.ts'
import { type Inspection, inspectionOf, type KeptKey } from '../inspection/index.ts'
import { decodeId, decodeName, soughtId } from './contract/index.ts'

/** A key of any limiter, as a store has it. */
export interface StoredKey {
  /** The key in the store, such as `'headgate:api:user:{ann}'`. */
  readonly storeKey: string
  /** The name of the limiter; undefined if the store keeps only a hash. */
  readonly limiter: string | undefined
  readonly scope: string | undefined
  /** The key that was limited; undefined if the store keeps it hashed. */
  readonly key: string | undefined
  readonly hash: string | undefined
  /** The size of the value under the key. */
  readonly bytes: number
  /** What the states mean by their stored definitions; undefined if the value is not a record of this version. */
  readonly inspection: Inspection | undefined
}

/** Which keys to list. A field that is left out allows any value. */
export interface StoredKeyFilter {
  readonly limiter?: string | undefined
  readonly scope?: string | undefined
  /** The key that was limited, or the hash that is shown in place of a long key. */
  readonly key?: string | undefined
}

/** Shows the keys of all limiters under a prefix, without knowing their policies: for operators. */
export interface StoreInspector {
  /** Lists the keys, some at each read. The iterator rejects with HeadgateError `HEADGATE_STORE` if the store fails. */
  list(filter?: StoredKeyFilter): AsyncGenerator<StoredKey, void, undefined>
  /** Deletes a key: it has its full quota again under every policy. */
  reset(storeKey: string): Promise<void>
  /** Lifts the ban of a key, also a ban by a penalty. Used units stay used. */
  unban(storeKey: string): Promise<void>
}

/** The parts of a key in a store, as they are encoded. */
export interface EncodedParts {
  readonly limiter: string
  readonly scope: string
  readonly id: string
}

/** A record, as it was read. */
export interface StoredRecord {
  readonly storeKey: string
  readonly bytes: number
  /** The time of the store, in microseconds. */
  readonly now: number
  /** @throws Error if the value is no record of this version */
  read(): Omit<KeptKey, 'now'>
}

/** What an inspector needs from a store. Each call rejects with HeadgateError `HEADGATE_STORE` if the store fails. */
export interface InspectedStore {
  /** The records of all keys under a prefix. @param id the encoded id of the keys that are wanted; undefined for all keys */
  records(id: string | undefined): AsyncIterable<StoredRecord>
  /** The parts of a key without the prefix; undefined for a key of another program; the hash if the key is a hash. */
  partsOf(rest: string): EncodedParts | { readonly hash: string } | undefined
  remove(storeKey: string): Promise<void>
  unban(storeKey: string): Promise<void>
}

type KeyParts = Pick<StoredKey, 'limiter' | 'scope' | 'key' | 'hash'>

/** @param prefix the prefix of the store's keys */
export function inspectStore(store: InspectedStore, prefix: string): StoreInspector {
  const partsOf = (storeKey: string) =>
    storeKey.startsWith(`${prefix}:`) ? shownParts(store.partsOf(storeKey.slice(prefix.length + 1))) : undefined
  const check = (storeKey: string): void => {
    if (partsOf(storeKey) !== undefined) return
    throw new HeadgateError(
      'HEADGATE_KEY',
      `${shown(storeKey)} is no key of a limiter under ${shown(prefix)}. Give the storeKey of a listed key.`,
    )
  }
  async function* list(filter: StoredKeyFilter): AsyncGenerator<StoredKey, void, undefined> {
    const sought = filter.key === undefined ? undefined : soughtId(filter.key)
    for await (const record of store.records(sought?.encoded)) {
      const parts = partsOf(record.storeKey)
      if (parts === undefined || !matches(parts, { ...filter, key: sought?.shown })) continue
      yield { storeKey: record.storeKey, ...parts, bytes: record.bytes, inspection: inspected(record, parts) }
    }
  }
  return {
    list: (filter = {}) => list(checkFilter(filter)),
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

/** The filter of a list, checked. @throws HeadgateError `HEADGATE_OPTION` */
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
