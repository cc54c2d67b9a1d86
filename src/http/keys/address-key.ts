import { invalidOption, ownText } from '../../common/index.ts'
import { isIPv4, maxLength, parseIPv6, withoutPort } from './address.ts'

/**
 * The text that identifies the client behind an address. For IPv4, and for IPv4 inside IPv6, the text is the IPv4 address. For
 * IPv6, the text is the network, such as `2001:db8:0:100::/56`: a subscriber has a complete network, and can send each request
 * from another address in it. A port or a zone is left out. A text that is not an address is returned unchanged.
 * @param ipv6Prefix how many leading bits of an IPv6 address identify one client, 1 to 128. Default 56
 * @throws HeadgateError `HEADGATE_OPTION` if `ipv6Prefix` is no such number
 */
export function addressKey(address: string, ipv6Prefix: number = 56): string {
  if (!(Number.isInteger(ipv6Prefix) && ipv6Prefix >= 1 && ipv6Prefix <= 128))
    throw invalidOption('addressKey: ipv6Prefix', 'a whole number from 1 to 128', ipv6Prefix, 'Write 64.')
  if (address.indexOf(':') === -1) return address
  const text = withoutPort(address)
  if (text.indexOf(':') === -1) return text
  const groups = parseIPv6(text)
  if (groups === undefined) return address
  return isIPv4(groups) ? dotted(groups) : prefixText(groups, ipv6Prefix)
}

export function dotted(groups: readonly number[]): string {
  const high = groups[6] as number
  const low = groups[7] as number
  return `${high >> 8}.${high & 255}.${low >> 8}.${low & 255}`
}

function prefixText(groups: readonly number[], bits: number): string {
  const whole = bits >> 4
  let text = ''
  for (let n = 0; n < whole; n++) text += n === 0 ? hexText(groups[n]) : `:${hexText(groups[n])}`
  const rest = bits & 15
  if (rest > 0) text += `${whole === 0 ? '' : ':'}${hexText((groups[whole] as number) & (0xffff << (16 - rest)))}`
  return bits === 128 ? text : `${text}::/${bits}`
}

function hexText(group: number | undefined): string {
  return (group as number).toString(16)
}

/** How many keys are remembered. This number of keys takes about 5 MB. */
const maxRemembered = 16_384

/**
 * Remembers the keys of IPv6 addresses, because most requests come from a known address. When the Map is full, the Map is cleared.
 * With `lru-cache` instead, fewer keys would be computed again, but each look-up would take 150 ns instead of 70 ns.
 */
export class AddressKeys {
  readonly #keys = new Map<string, string>()
  readonly #keyOf: (address: string) => string

  /** @param keyOf returns the key of an address that contains a colon */
  constructor(keyOf: (address: string) => string) {
    this.#keyOf = keyOf
  }

  of(address: string): string {
    if (address.indexOf(':') === -1) return address
    return this.#keys.get(address) ?? this.#compute(address)
  }

  #compute(address: string): string {
    if (this.#keys.size >= maxRemembered) this.#keys.clear()
    const key = ownText(this.#keyOf(address))
    if (address.length <= maxLength) this.#keys.set(ownText(address), key)
    return key
  }
}
