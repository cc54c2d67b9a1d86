import { BlockList, isIP } from 'node:net'
import { describe, expect, test } from 'vitest'
import { isAddress } from '../../../src/http/keys/address.ts'
import { addressKey } from '../../../src/http/keys/address-key.ts'
import { AddressList } from '../../../src/http/keys/address-list.ts'
import { rounds } from '../../support/depth.ts'
import fc from '../../support/fast-check.ts'

/** An address without port and zone. A mapped one is IPv4, one behind a NAT64 stays IPv6. */
function plainOf(address: string): string {
  const key = addressKey(address, 128)
  return isIP(key) === 4 && /^0*64:/.test(address) ? `64:ff9b::${key}` : key
}

/** The address list as node:net decides it, with a list for each family: node:net finds IPv4 in ranges of IPv6 too. */
function listOfNode(entries: readonly string[]): (address: string) => boolean {
  const lists = { ipv4: new BlockList(), ipv6: new BlockList() }
  for (const entry of entries) {
    const [address = '', bits] = entry.split('/')
    const plain = plainOf(address)
    const isIPv6 = isIP(plain) === 6
    const mapped = isIP(address) === 6 && !isIPv6
    const prefix = bits === undefined ? (isIPv6 ? 128 : 32) : Number(bits) - (mapped ? 96 : 0)
    const family = isIPv6 ? 'ipv6' : 'ipv4'
    lists[family].addSubnet(plain, prefix, family)
  }
  return (address) => {
    const plain = plainOf(address)
    const family = isIP(plain) === 6 ? 'ipv6' : 'ipv4'
    return isIP(plain) !== 0 && lists[family].check(plain, family)
  }
}

const octet = fc.oneof(fc.constantFrom(0, 10, 255), fc.nat(255))
const group = fc.oneof(fc.constantFrom(0, 1, 0xffff, 0x64, 0xff9b), fc.nat(0xffff))
const ipv4 = fc.tuple(octet, octet, octet, octet).map((octets) => octets.join('.'))
const ipv6Groups = fc.tuple(group, group, group, group, group, group, group, group)

/** Every way to write eight groups: long, shortened, in capitals, with a dotted tail. */
const ipv6 = fc.tuple(ipv6Groups, fc.nat(3)).map(([groups, form]) => {
  const full = groups.map((each) => each.toString(16))
  const tail = groups.slice(6).flatMap((each) => [each >> 8, each & 255])
  const short = full.join(':').replace(/(^|:)0(:0)+(:|$)/, '::')
  return [full.join(':'), short, short.toUpperCase(), `${full.slice(0, 6).join(':')}:${tail.join('.')}`][form] as string
})
const mapped = fc
  .tuple(fc.constantFrom('::ffff:', '::FFFF:', '0:0:0:0:0:ffff:', '64:ff9b::'), ipv4)
  .map((both) => both.join(''))
const address = fc.oneof(ipv4, ipv6, mapped)

/** Addresses, and texts that are nearly addresses. */
const nearly = fc.oneof(
  address,
  fc.tuple(address, fc.constantFrom('', ':', '::', '.', '.1', ':80', '0', ' ', 'g', '%')).map((both) => both.join('')),
  fc.tuple(fc.constantFrom('0', ':', '1:', '::', '00'), address).map((both) => both.join('')),
  fc.string({ unit: fc.constantFrom('0', '1', '25', '255', '.', ':', '::', 'f', 'ffff', '::ffff:'), maxLength: 12 }),
)

test('isAddress agrees with isIP of node:net', () => {
  fc.assert(
    fc.property(nearly, (text) => {
      fc.pre(!text.includes('%'))
      expect(isAddress(text)).toBe(isIP(text) !== 0)
    }),
    { numRuns: rounds(5000, 20_000) },
  )
})

test.each(['::ffff:192.0.2.1::ffff:192.0.2.1', '::192.0.2.1:198.51.100.1', '::ffff:192.0.2.1:4711'])(
  '%s is no address',
  (text) => expect([isAddress(text), isIP(text)]).toEqual([false, 0]),
)

describe('a list agrees with BlockList of node:net', () => {
  const bits = (text: string, n: number) => (text.includes(':') ? n : n % 33)
  const range = fc
    .tuple(address, fc.option(fc.nat(128)))
    .map(([text, n]) => (n === null ? text : `${text}/${bits(text, n)}`))
    .filter((entry) => {
      const [text = '', n] = entry.split('/')
      const isMapped = text.includes(':') && isIP(plainOf(text)) === 4
      return !isMapped || n === undefined || Number(n) >= 96
    })

  test('for any ranges and any address', () => {
    fc.assert(
      fc.property(fc.array(range, { maxLength: 4 }), nearly, (entries, text) => {
        expect(new AddressList(entries, 'allow').has(text)).toBe(listOfNode(entries)(text))
      }),
      { numRuns: rounds(2500, 10_000) },
    )
  })

  test('for addresses that differ from a range in one bit', () => {
    fc.assert(
      fc.property(ipv6Groups, fc.nat(127), fc.nat(128), (groups, bit, prefix) => {
        const text = (all: readonly number[]) => all.map((each) => each.toString(16)).join(':')
        const other = groups.map((each, n) => (n === bit >> 4 ? each ^ (0x8000 >> (bit & 15)) : each))
        const entry = `${text(groups)}/${prefix}`
        fc.pre(isIP(addressKey(text(groups), 128)) === 6)
        expect(new AddressList([entry], 'allow').has(text(other))).toBe(listOfNode([entry])(text(other)))
      }),
      { numRuns: 2000 },
    )
  })

  test('for every prefix of an IPv4 range', () => {
    for (let prefix = 0; prefix <= 32; prefix++) {
      for (const entry of [`10.20.30.40/${prefix}`, `::ffff:10.20.30.40/${prefix + 96}`]) {
        for (let bit = 0; bit < 32; bit++) {
          const flipped = [10, 20, 30, 40]
            .map((each, n) => (n === bit >> 3 ? each ^ (128 >> (bit & 7)) : each))
            .join('.')
          expect(new AddressList([entry], 'allow').has(flipped), `${flipped} in ${entry}`).toBe(bit >= prefix)
        }
      }
    }
  })
})
