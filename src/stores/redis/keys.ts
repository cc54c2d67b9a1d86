/*
 * The key of a state: prefix:limiter:scope:{id}.
 *
 * The braces are Redis Cluster's hash tag, so all states of one id live in one slot. Whatever is in an id, a limiter's
 * name or a scope, its encoding has none of the characters that mean something here, and two texts never share one.
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
  return encoded.length <= longest ? encoded : `#${createHash('sha256').update(encoded).digest('base64url')}`
}

export function encodeId(id: string): string {
  return encode(id, escapedInId)
}

/** What stands before an id's encoding: ends with the opening brace. */
export function keyStart(prefix: string, limiter: string, scope: string): string {
  return `${prefix}:${encode(limiter, escapedInName)}:${encode(scope, escapedInName)}:{`
}

const slots = 16384

/** CRC16 as XMODEM has it (Redis Cluster specification, appendix A). */
const crcTable = Uint16Array.from({ length: 256 }, (_, byte) => {
  let crc = byte << 8
  for (let bit = 0; bit < 8; bit++) crc = crc & 0x8000 ? (crc << 1) ^ 0x1021 : crc << 1
  return crc
})

/** The Cluster slot of a key of ours, by its hash tag, which is ASCII. */
export function slotOf(key: string): number {
  let crc = 0
  for (let n = key.indexOf('{') + 1; n < key.length - 1; n++) {
    crc = ((crc << 8) ^ (crcTable[((crc >> 8) ^ key.charCodeAt(n)) & 0xff] as number)) & 0xffff
  }
  return crc % slots
}
