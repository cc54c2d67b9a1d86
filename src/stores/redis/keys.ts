/*
 * The Redis key of a limited key's states: prefix:limiter:scope:{id}, or prefix:limiter:{id} for the default scope.
 *
 * The braces are the hash tag of Redis Cluster, so all Redis keys of one id are in one slot. If the prefix has braces, their text is the
 * hash tag, so all keys of the store are in one slot.
 */
import { check, type Reader } from '../../common/index.ts'
import { defaultScope } from '../../policy/index.ts'
import { encodeName, limiterStart } from '../contract/index.ts'

export { encodeId } from '../contract/index.ts'

/** Reads the option `prefix`. */
export const prefixOf: Reader<string> = check(
  (given) => typeof given === 'string' && /^(?=.{1,128}$)[\w./-]*(\{[\w./-]+\}[\w./-]*)?$/.test(given),
  '1 to 128 letters, digits and _ . / -, of which some may be in braces, as a hash tag',
  "'myapp/limits'",
  'headgate',
)

/** The common start of the Redis keys of one scope (kind of key, such as users) of a limiter, up to and including the opening brace. */
export function keyStart(prefix: string, limiter: string, scope: string): string {
  const within = scope === defaultScope ? '' : `${encodeName(scope)}:`
  return `${limiterStart(prefix, limiter)}${within}{`
}

/**
 * The Redis key under which the number of the last report of used units from the sender `by` is stored. The key is in the slot of
 * `stateKey`, and no limiter uses this key.
 */
export function reportKey(prefix: string, stateKey: string, by: string): string {
  return `${limiterStart(prefix, '~reports')}${by}:${stateKey.slice(stateKey.lastIndexOf('{'))}`
}

const slots = 16384

/** The table of CRC16 (XMODEM), for the slots of keys: Redis Cluster specification, appendix A. */
const crcTable = Uint16Array.from({ length: 256 }, (_, byte) => {
  let crc = byte << 8
  for (let bit = 0; bit < 8; bit++) crc = crc & 0x8000 ? (crc << 1) ^ 0x1021 : crc << 1
  return crc
})

/** The slot of a Redis key: the CRC16 of its first hash tag, which contains only ASCII characters. */
export function slotOf(key: string): number {
  let crc = 0
  const start = key.indexOf('{') + 1
  const end = key.indexOf('}', start)
  for (let n = start; n < end; n++) {
    crc = ((crc << 8) ^ (crcTable[((crc >> 8) ^ key.charCodeAt(n)) & 0xff] as number)) & 0xffff
  }
  return crc % slots
}
