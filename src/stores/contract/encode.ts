/*
 * Encodes ids, names and scopes as parts of a key. An encoding contains none of the characters that separate the parts,
 * and two texts never have the same encoding.
 */
import { sha256 } from '#platform'
import { base64 } from '../../common/index.ts'

/** Matches single UTF-16 units, so that lone surrogates differ. An id keeps its colons, because it is the last part. */
const escapedInId = /[^\w.:@-]/
const escapedInName = /[^\w.-]/

/** The most characters of an encoded id, name or scope. A longer encoding is replaced by its digest. */
export const longestEncoding = 128

function encode(text: string, escaped: RegExp): string {
  if (text === '') return '%'
  // Most texts need no escape, and a test takes a tenth of the time of a replacement.
  const encoded = escaped.test(text) ? text.replace(new RegExp(escaped, 'g'), escapeUnit) : text
  return encoded.length <= longestEncoding ? encoded : digest(new TextEncoder().encode(encoded))
}

function escapeUnit(unit: string): string {
  return `%${unit.charCodeAt(0).toString(16).padStart(4, '0')}`
}

/** `#` and SHA-256 in 43 characters. No other encoding begins with `#`. */
export function digest(bytes: Uint8Array): string {
  return `#${base64(sha256(bytes)).replaceAll('+', '-').replaceAll('/', '_').replace('=', '')}`
}

export function encodeId(id: string): string {
  return encode(id, escapedInId)
}

/** The id that was encoded, or the hash of a long id. */
export function decodeId(encoded: string): { key: string } | { hash: string } {
  return encoded.startsWith('#') ? { hash: encoded } : { key: decodeName(encoded) }
}

/** A digest as `digest` makes it. */
const digestForm = /^#[\w-]{43}$/

/**
 * What an operator looks for: a key of any length, or the hash that is shown in place of a long key. Returns the encoding,
 * and what is shown for a key with that encoding.
 */
export function soughtId(keyOrHash: string): { encoded: string; shown: string } {
  const encoded = digestForm.test(keyOrHash) ? keyOrHash : encodeId(keyOrHash)
  return { encoded, shown: encoded.startsWith('#') ? encoded : keyOrHash }
}

/** The name that was encoded. For a long name, its hash. */
export function decodeName(encoded: string): string {
  if (encoded === '%') return ''
  return encoded.replace(/%([0-9a-f]{4})/g, (_, unit: string) => String.fromCharCode(Number.parseInt(unit, 16)))
}

/** Encodes the name of a limiter or a scope. */
export function encodeName(name: string): string {
  return encode(name, escapedInName)
}

/** The prefix of all keys of a limiter. */
export function limiterStart(prefix: string, limiter: string): string {
  return `${prefix}:${encodeName(limiter)}:`
}
