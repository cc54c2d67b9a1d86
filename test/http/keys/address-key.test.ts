import { BlockList } from 'node:net'
import { describe, expect, test } from 'vitest'
import { addressKey } from '../../../src/http/keys/address-key.ts'
import fc from '../../support/fast-check.ts'

test.each([
  ['192.0.2.1', '192.0.2.1'],
  ['192.0.2.1:4711', '192.0.2.1'],
  ['::ffff:192.0.2.1', '192.0.2.1'],
  ['::FFFF:c000:201', '192.0.2.1'],
  ['0:0:0:0:0:ffff:192.0.2.1', '192.0.2.1'],
  ['::ffff:192.0.2.1%eth0', '192.0.2.1'],
  ['[::ffff:192.0.2.1]:4711', '192.0.2.1'],
  ['::1', '0:0:0:0::/56'],
  ['::', '0:0:0:0::/56'],
  ['2001:db8::', '2001:db8:0:0::/56'],
  ['2001:db8:1:2ff:3:4:5:6', '2001:db8:1:200::/56'],
  ['2001:DB8:1:200::9', '2001:db8:1:200::/56'],
  ['[2001:db8:1:200::9]:443', '2001:db8:1:200::/56'],
  ['fe80::1%eth0', 'fe80:0:0:0::/56'],
  ['1:2:3:4:5:6:7::', '1:2:3:0::/56'],
  ['::ffff:0:192.0.2.1', '0:0:0:0::/56'],
  ['64:ff9b::192.0.2.1', '192.0.2.1'],
  ['::ffff:192.0.2.1:4711', '192.0.2.1'],
])('the key of %s is %s', (address, key) => {
  expect(addressKey(address, 56)).toBe(key)
})

test.each([
  '',
  'unknown',
  '[::1',
  ':',
  ':::',
  '1::2::3',
  '1:2:3:4:5:6:7:8:9',
  '1:2:3:4:5:6:7',
  '12345::',
  '1:2:3:4:5:6:7:',
  ':1:2:3:4:5:6:7',
  '::256.1.1.1',
  '::1.2.3',
  '1:2:3:4:5:6:7:1.2.3.4',
  'g::1',
  '1::2 ',
  '::1.2.3.4.5',
])('%j is not an address and stays unchanged', (text) => {
  expect(addressKey(text, 56)).toBe(text)
})

describe('IPv6 keys depend on bits, not on text', () => {
  const group = fc.integer({ min: 0, max: 0xffff })
  const address = fc.tuple(group, group, group, group, group, group, group, group)
  /** One address in several forms: shortened or not, in capitals, with leading zeros. */
  const forms = (groups: readonly number[]) => {
    const full = groups.map((each) => each.toString(16))
    const short = full.join(':').replace(/(^|:)0(:0)+(:|$)/, '::')
    return [full.join(':'), short, short.toUpperCase(), full.map((each) => each.padStart(4, '0')).join(':')]
  }

  test('every form of an address gives one key', () => {
    fc.assert(
      fc.property(address, fc.integer({ min: 1, max: 128 }), (groups, prefix) => {
        const keys = forms(groups).map((form) => addressKey(form, prefix))
        expect(new Set(keys).size).toBe(1)
      }),
    )
  })

  test('two addresses share a key if and only if BlockList of node:net finds them in one prefix', () => {
    fc.assert(
      fc.property(address, address, fc.integer({ min: 1, max: 128 }), fc.nat(8), (a, b, prefix, shared) => {
        const one = [...a]
        const other = [...a.slice(0, shared), ...b.slice(shared)]
        fc.pre(one[5] !== 0xffff && other[5] !== 0xffff)
        const [first, second] = [one, other].map((groups) => groups.map((each) => each.toString(16)).join(':')) as [
          string,
          string,
        ]
        const subnet = new BlockList()
        subnet.addSubnet(first, prefix, 'ipv6')
        expect(addressKey(first, prefix) === addressKey(second, prefix)).toBe(subnet.check(second, 'ipv6'))
      }),
      { numRuns: 500 },
    )
  })
})

test('a prefix that is no number of bits is an error, and no prefix is that of byIp', () => {
  expect(addressKey('2001:db8:1:2:3::1')).toBe('2001:db8:1:0::/56')
  for (const prefix of [0, 129, 1.5, Number.NaN, null, '64']) {
    expect(() => addressKey('192.0.2.1', prefix as never)).toThrow(expect.objectContaining({ code: 'HEADGATE_OPTION' }))
  }
})
