/*
 * The key of a state in Redis: prefix:limiter:scope:{id}, or prefix:limiter:{id} for the default scope.
 *
 * The braces are the hash tag of Redis Cluster, so all states of one id are in one slot.
 */
import { defaultScope } from '../../policy/index.ts'
import { encodeName, limiterStart } from '../contract/index.ts'

export { encodeId } from '../contract/index.ts'

/** The prefix of the keys of a limiter's scope, up to and including the opening brace. */
export function keyStart(prefix: string, limiter: string, scope: string): string {
  const within = scope === defaultScope ? '' : `${encodeName(scope)}:`
  return `${limiterStart(prefix, limiter)}${within}{`
}

/** The key, in the slot of `stateKey`, of the number of a sender's last report. No user's limiter can have this name. */
export function reportKey(prefix: string, stateKey: string, by: string): string {
  return `${limiterStart(prefix, '~reports')}${by}:${stateKey.slice(stateKey.indexOf('{'))}`
}

const slots = 16384

/** CRC16, XMODEM (Redis Cluster specification, appendix A). */
const crcTable = Uint16Array.from({ length: 256 }, (_, byte) => {
  let crc = byte << 8
  for (let bit = 0; bit < 8; bit++) crc = crc & 0x8000 ? (crc << 1) ^ 0x1021 : crc << 1
  return crc
})

/** The slot of a state's key: the slot of its hash tag, which is ASCII. */
export function slotOf(key: string): number {
  let crc = 0
  for (let n = key.indexOf('{') + 1; n < key.length - 1; n++) {
    crc = ((crc << 8) ^ (crcTable[((crc >> 8) ^ key.charCodeAt(n)) & 0xff] as number)) & 0xffff
  }
  return crc % slots
}
