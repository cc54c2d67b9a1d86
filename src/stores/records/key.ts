import { digest, encodeId, encodeName } from '../encode.ts'

/** What every store takes: Memcached's keys have at most 250 bytes. */
const longest = 250

/** What the keys of a limiter's scope begin with. */
export function keyStart(prefix: string, limiter: string, scope: string): string {
  return `${prefix}:${encodeName(limiter)}:${encodeName(scope)}:`
}

/** The key of a record, prefix:limiter:scope:id, or prefix:#digest of one that is too long. ASCII, without spaces. */
export function recordKey(prefix: string, start: string, id: string): string {
  const key = start + encodeId(id)
  return key.length <= longest ? key : `${prefix}:${digest(new TextEncoder().encode(key))}`
}
