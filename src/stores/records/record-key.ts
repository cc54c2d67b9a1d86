import { digest, encodeId, encodeName, limiterStart, longestEncoding } from '../contract/index.ts'

/** The longest key under which a text is stored, in characters. Every store accepts keys of this length: Memcached's limit is 250 bytes. */
const longestKey = 250

/** The text with which the stored keys of a limiter's scope (kind of key, such as users) begin. */
export function recordKeyStart(prefix: string, limiter: string, scope: string): string {
  return `${limiterStart(prefix, limiter)}${encodeName(scope)}:`
}

/**
 * True if every stored key of the scope (kind of key) begins with `start`. False if the key of a long id may exceed `longestKey`: a digest
 * then replaces that key.
 */
export function keepsStart(start: string): boolean {
  return start.length + longestEncoding <= longestKey
}

/**
 * The key under which the states of one user or address are stored, in ASCII without spaces: prefix:limiter:scope:id, or prefix:#digest if
 * the first form is longer than `longestKey`.
 */
export function recordKey(prefix: string, start: string, id: string): string {
  const key = start + encodeId(id)
  return key.length <= longestKey ? key : `${prefix}:${digest(new TextEncoder().encode(key))}`
}

/** The encoded parts of a stored key. A long key is stored as a hash of all its parts. @param rest the key without the store's prefix */
export function partsOfRecordKey(rest: string): { limiter: string; scope: string; id: string } | { hash: string } {
  const [, limiter, scope, id] = /^([^:]+):([^:]+):(.*)$/s.exec(rest) ?? []
  return limiter === undefined || scope === undefined || id === undefined ? { hash: rest } : { limiter, scope, id }
}
