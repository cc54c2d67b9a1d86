/*
 * Encodes ids, names and scopes as parts of a key in the store. An encoding contains no character that separates the
 * parts, and two different texts have different encodings.
 */
import { sha256 } from '#platform'
import { base64 } from '../../common/index.ts'

/** A UTF-16 unit that is escaped in an id. A colon is not escaped, because the id is the last part of a key. */
const escapedInId = /[^\w.:@-]/
const escapedInName = /[^\w.-]/

/** The largest length of an encoded id, name or scope (kind of key), in characters. A longer encoding is replaced by its digest. */
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

/** The SHA-256 of the bytes as `#` and 43 characters. No other encoding begins with `#`. */
export function digest(bytes: Uint8Array): string {
  return `#${base64(sha256(bytes)).replaceAll('+', '-').replaceAll('/', '_').replace('=', '')}`
}

export function encodeId(id: string): string {
  return encode(id, escapedInId)
}

/**
 * Decodes an encoded id. The result has the id as `key`. If the encoding is a digest, the id is unknown, and the result has the
 * digest as `hash`.
 */
export function decodeId(encoded: string): { key: string } | { hash: string } {
  return encoded.startsWith('#') ? { hash: encoded } : { key: decodeName(encoded) }
}

/** The form of a text that `digest` returns. */
const digestForm = /^#[\w-]{43}$/

/**
 * Encodes the text of a search: a key, or the hash that is shown in place of a long key. Returns the encoding, and the text that is shown
 * for a key with this encoding.
 */
export function soughtId(keyOrHash: string): { encoded: string; shown: string } {
  const encoded = digestForm.test(keyOrHash) ? keyOrHash : encodeId(keyOrHash)
  return { encoded, shown: encoded.startsWith('#') ? encoded : keyOrHash }
}

/** Decodes an encoded name. For a long name, returns the digest that replaced the name. */
export function decodeName(encoded: string): string {
  if (encoded === '%') return ''
  return encoded.replace(/%([0-9a-f]{4})/g, (_, unit: string) => String.fromCharCode(Number.parseInt(unit, 16)))
}

/** Encodes the name of a limiter or a scope (kind of key). */
export function encodeName(name: string): string {
  return encode(name, escapedInName)
}

/** The text with which all keys of a limiter begin. */
export function limiterStart(prefix: string, limiter: string): string {
  return `${prefix}:${encodeName(limiter)}:`
}
