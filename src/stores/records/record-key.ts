import { digest, encodeId, encodeName } from '../encode.ts'

/** The longest key that every store takes: Memcached's limit is 250 bytes. */
const longestKey = 250

/** The prefix of the record keys of a limiter's scope. */
export function recordKeyStart(prefix: string, limiter: string, scope: string): string {
  return `${prefix}:${encodeName(limiter)}:${encodeName(scope)}:`
}

/** The key of a record: prefix:limiter:scope:id, or prefix:#digest if that is too long. ASCII, without spaces. */
export function recordKey(prefix: string, start: string, id: string): string {
  const key = start + encodeId(id)
  return key.length <= longestKey ? key : `${prefix}:${digest(new TextEncoder().encode(key))}`
}
