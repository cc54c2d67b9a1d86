/*
 * Ids, names and scopes as parts of a key: whatever is in them, an encoding has none of the characters that mean
 * something between parts, and two texts never share one.
 */
import { createHash } from 'node:crypto'

/** Unit by unit (UTF-16), so that lone surrogates stay apart; a colon may stay in an id, where nothing comes after it. */
const escapedInId = /[^\w.:@-]/g
const escapedInName = /[^\w.-]/g

/** Longer ones are hashed: `#` and SHA-256 in 43 characters. */
const longest = 128

function encode(text: string, escaped: RegExp): string {
  if (text === '') return '%'
  const encoded = text.replace(escaped, (unit) => `%${unit.charCodeAt(0).toString(16).padStart(4, '0')}`)
  return encoded.length <= longest ? encoded : digest(encoded)
}

/** 44 characters; none that is no digest begins so. @param text in ASCII */
export function digest(text: string): string {
  return `#${createHash('sha256').update(text).digest('base64url')}`
}

export function encodeId(id: string): string {
  return encode(id, escapedInId)
}

/** Of a limiter or a scope. */
export function encodeName(name: string): string {
  return encode(name, escapedInName)
}
