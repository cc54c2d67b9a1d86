import { digest } from '../contract/index.ts'

/** The longest key that is stored as it is. A longer key is stored as its digest, so that `maxKeys` also bounds the memory. */
export const longestKey = 86

/**
 * The name under which a table stores a key: the key itself, or the digest of a long key. A digest is padded to a
 * length of `longestKey` + 1, so that no digest is equal to a key.
 */
export function keyName(key: string): string {
  return key.length > longestKey ? digest(utf16(key)).padStart(longestKey + 1, '#') : key
}

/** Returns the key to which this name belongs. For a long key, returns only its hash: the digest in the name, without the padding. */
export function keyOfName(name: string): { key: string } | { hash: string } {
  return name.length > longestKey ? { hash: name.slice(name.lastIndexOf('#')) } : { key: name }
}

/** The UTF-16 code units of a key. In UTF-8, all lone surrogates become the same character, so different keys could have the same bytes. */
function utf16(key: string): Uint8Array {
  const units = new Uint16Array(key.length)
  for (let n = 0; n < key.length; n++) units[n] = key.charCodeAt(n) // faster than Uint16Array.from
  return new Uint8Array(units.buffer)
}
