import { BlockList, isIP } from 'node:net'
import { HeadgateError, shown } from '../../errors.ts'
import { addressKey } from './address.ts'

/** Addresses and CIDR ranges, IPv4 and IPv6; IPv4 mapped into IPv6 is IPv4, on the list and in requests. */
export class AddressList {
  readonly #list = new BlockList()

  /** @throws HeadgateError `HEADGATE_OPTION` for what is neither an address nor a range */
  constructor(entries: readonly string[], option: string) {
    if (!Array.isArray(entries)) throw misuse(option, entries)
    for (const entry of entries) {
      if (typeof entry !== 'string' || !this.#add(entry)) throw misuse(option, entry)
    }
  }

  has(address: string | undefined): boolean {
    if (address === undefined) return false
    const plain = addressKey(address, 128)
    const family = isIP(plain)
    return family !== 0 && this.#list.check(plain, family === 6 ? 'ipv6' : 'ipv4')
  }

  #add(entry: string): boolean {
    const [address = '', bits, ...more] = entry.split('/')
    const written = isIP(address)
    if (written === 0 || address.includes('%') || more.length > 0) return false
    const plain = addressKey(address, 128)
    const family = isIP(plain)
    const width = family === 6 ? 128 : 32
    if (bits !== undefined && !/^\d{1,3}$/.test(bits)) return false
    // A mapped range is told by its IPv6 bits: `::ffff:10.0.0.0/104` is 10.0.0.0/8.
    const prefix = bits === undefined ? width : Number(bits) - (written === 6 && family === 4 ? 96 : 0)
    if (prefix < 0 || prefix > width) return false
    this.#list.addSubnet(plain, prefix, family === 6 ? 'ipv6' : 'ipv4')
    return true
  }
}

function misuse(option: string, entry: unknown): HeadgateError {
  return new HeadgateError(
    'HEADGATE_OPTION',
    `${option} must be a list of addresses and CIDR ranges, got ${shown(entry)}. ` +
      `Write ${option}: ['192.0.2.1', '10.0.0.0/8', '2001:db8::/32'].`,
  )
}
