import { digest } from '../contract/index.ts'

/** The longest key that is kept as it is. Of longer keys the digest is kept, so that `maxKeys` also limits the bytes. */
export const longestKey = 86

/**
 * The name under which a table keeps a key: the key itself, or the digest of a long one. A digest is padded to one
 * character more than any key that is kept as it is, so the two never collide.
 */
export function keyName(key: string): string {
  return key.length > longestKey ? digest(utf16(key)).padStart(longestKey + 1, '#') : key
}

/** The key that has this name. For the name of a long key, its hash. */
export function keyOfName(name: string): { key: string } | { hash: string } {
  return name.length > longestKey ? { hash: name.slice(name.lastIndexOf('#')) } : { key: name }
}

/** The UTF-16 units of a key. In UTF-8 all lone surrogates would become the same character. */
function utf16(key: string): Uint8Array {
  const units = new Uint16Array(key.length)
  for (let n = 0; n < key.length; n++) units[n] = key.charCodeAt(n) // much faster than Uint16Array.from
  return new Uint8Array(units.buffer)
}
