import { HeadgateError } from '../errors.ts'
import { type Inspection, inspectionOfStates } from './inspection.ts'
import type { KeptKey } from './kept-key.ts'

/** A key of any limiter, as a store has it. */
export interface StoredKey {
  /** The key in the store, such as `'headgate:api:user:{ann}'`. */
  readonly storeKey: string
  /** The name of the limiter; undefined if the store keeps a hash of it. */
  readonly limiter: string | undefined
  readonly scope: string | undefined
  /** The key that was limited; undefined if the store keeps it hashed. */
  readonly key: string | undefined
  readonly hash: string | undefined
  /** The size of what is kept under the key. */
  readonly bytes: number
  /** By the definitions that are kept with the states; undefined if the value is not a record of this version. */
  readonly inspection: Inspection | undefined
}

/** Which keys. Each field that is left out stands for all. */
export interface StoredKeyFilter {
  readonly limiter?: string | undefined
  readonly scope?: string | undefined
  /** The key that was limited, or the hash that is shown in place of a long one. */
  readonly key?: string | undefined
}

/** Shows the keys of all limiters under a prefix, without knowing their policies: for operators. */
export interface StoreInspector {
  /** Reads some keys at a time. The iterator rejects with HeadgateError `HEADGATE_STORE` if the store fails. */
  list(filter?: StoredKeyFilter): AsyncGenerator<StoredKey, void, undefined>
  /** Deletes a key: it has its full quota again under every policy. */
  reset(storeKey: string): Promise<void>
  /** Lifts the block of a key, also one by a penalty. The units that it has used stay used. */
  unblock(storeKey: string): Promise<void>
}

/** The parts of a key in a store. */
export type KeyParts = Pick<StoredKey, 'limiter' | 'scope' | 'key' | 'hash'>

/** @param read what is kept; throws if it is not a record */
export function storedKey(
  storeKey: string,
  parts: KeyParts,
  bytes: number,
  now: number,
  read: () => Omit<KeptKey, 'now'>,
): StoredKey {
  try {
    return { storeKey, ...parts, bytes, inspection: inspectionOfStates({ now, ...read() }, parts.scope ?? '') }
  } catch {
    return { storeKey, ...parts, bytes, inspection: undefined }
  }
}

export function matches(parts: KeyParts, { limiter, scope, key }: StoredKeyFilter): boolean {
  return (
    (limiter === undefined || limiter === parts.limiter) &&
    (scope === undefined || scope === parts.scope) &&
    (key === undefined || key === parts.key || key === parts.hash)
  )
}

/** The filter of a list, checked. @throws HeadgateError `HEADGATE_OPTION` */
export function checkFilter(filter: StoredKeyFilter): StoredKeyFilter {
  for (const [name, value] of Object.entries(filter)) {
    if (['limiter', 'scope', 'key'].includes(name) && (value === undefined || typeof value === 'string')) continue
    throw new HeadgateError(
      'HEADGATE_OPTION',
      `list takes limiter, scope and key, each a text, got ${name}. Leave it out.`,
    )
  }
  return filter
}
