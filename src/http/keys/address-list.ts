import { type HeadgateError, invalidOption } from '../../common/index.ts'
import { isAddress, isIPv4, parseAddress } from './address.ts'

/** A range of addresses: all addresses with the same leading bits. */
interface Range {
  readonly groups: readonly number[]
  /** How many leading bits of an address are compared, 0 to 128. IPv4 addresses have the form `::ffff:a.b.c.d`, so 96 to 128 for IPv4. */
  readonly prefix: number
  /** True if the range consists of IPv4 addresses, in IPv4 form or in mapped form (`::ffff:192.0.2.1`). */
  readonly ofIPv4: boolean
}

/**
 * A list of IP addresses and CIDR ranges. A range contains only addresses of its own family: `::/0` contains all IPv6 addresses
 * and no IPv4 address. A mapped address (`::ffff:192.0.2.1`) is IPv4, both in the list and in a request. Any other address has
 * the family in which it is written: an IPv4 client behind a NAT64 (`64:ff9b::/96`) is IPv6.
 */
export class AddressList {
  readonly #ranges: readonly Range[]

  /** @throws HeadgateError `HEADGATE_OPTION` unless each entry is an address or a range @param option the option's name, for messages */
  constructor(entries: readonly string[], option: string) {
    if (!Array.isArray(entries)) throw invalid(option, entries)
    this.#ranges = entries.map((entry: unknown) => {
      const range = typeof entry === 'string' ? parseRange(entry) : undefined
      if (range === undefined) throw invalid(option, entry)
      return range
    })
  }

  /**
   * True if a range of the list is larger than a `/8` of IPv4 or a `/7` of IPv6, the largest private ranges: it then has public addresses.
   */
  get isBroad(): boolean {
    return this.#ranges.some(({ prefix, ofIPv4 }) => prefix < (ofIPv4 ? 104 : 7))
  }

  has(address: string | undefined): boolean {
    const groups = address === undefined ? undefined : parseAddress(address)
    if (groups === undefined) return false
    const ofIPv4 = isIPv4(groups)
    return this.#ranges.some((range) => range.ofIPv4 === ofIPv4 && contains(range, groups))
  }
}

function parseRange(entry: string): Range | undefined {
  const [address = '', bits, ...more] = entry.split('/')
  if (more.length > 0 || !isAddress(address) || (bits !== undefined && !/^\d{1,3}$/.test(bits))) return undefined
  const groups = [...(parseAddress(address) as readonly number[])]
  const isIPv6Text = address.includes(':')
  const prefix = bits === undefined ? 128 : Number(bits) + (isIPv6Text ? 0 : 96)
  // The prefix length of a mapped range counts the bits of IPv6: `::ffff:10.0.0.0/104` is 10.0.0.0/8.
  const ofIPv4 = isIPv4(groups)
  if (prefix > 128 || (ofIPv4 && prefix < 96)) return undefined
  return { groups, prefix, ofIPv4 }
}

function contains({ groups, prefix }: Range, address: readonly number[]): boolean {
  const whole = prefix >> 4
  for (let n = 0; n < whole; n++) if (groups[n] !== address[n]) return false
  const rest = prefix & 15
  return rest === 0 || ((groups[whole] as number) ^ (address[whole] as number)) >> (16 - rest) === 0
}

function invalid(option: string, entry: unknown): HeadgateError {
  const fix = `Write ${option}: ['192.0.2.1', '10.0.0.0/8', '2001:db8::/32'].`
  return invalidOption(option, 'a list of addresses and CIDR ranges', entry, fix)
}
