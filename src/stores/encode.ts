/*
 * Ids, names and scopes as parts of a key: whatever is in them, an encoding has none of the characters that mean
 * something between parts, and two texts never share one.
 */
import { sha256 } from '#platform'
import { base64 } from '../base64.ts'

/** Unit by unit (UTF-16), so that lone surrogates stay apart; a colon may stay in an id, where nothing comes after it. */
const escapedInId = /[^\w.:@-]/g
const escapedInName = /[^\w.-]/g

/** Longer ones are hashed: `#` and SHA-256 in 43 characters. */
const longest = 128

function encode(text: string, escaped: RegExp): string {
  if (text === '') return '%'
  const encoded = text.replace(escaped, (unit) => `%${unit.charCodeAt(0).toString(16).padStart(4, '0')}`)
  return encoded.length <= longest ? encoded : digest(new TextEncoder().encode(encoded))
}

/** SHA-256 in 44 characters. An encoded text never begins with `#`. */
export function digest(bytes: Uint8Array): string {
  return `#${base64(sha256(bytes)).replaceAll('+', '-').replaceAll('/', '_').replace('=', '')}`
}

export function encodeId(id: string): string {
  return encode(id, escapedInId)
}

/** Of a limiter or a scope. */
export function encodeName(name: string): string {
  return encode(name, escapedInName)
}
