import { expect, test } from 'vitest'
import { AddressList } from '../../../src/http/keys/address-list.ts'
import { byIp } from '../../../src/index.ts'
import { contract, statuses } from '../../support/contract.ts'

const from = (address: string) => ({ 'x-forwarded-for': address })

/** An address of each family and form. */
const addresses = ['192.0.2.1', '::ffff:192.0.2.1', '2001:db8::1', '64:ff9b::192.0.2.1', '::1', '::192.0.2.1']

test.each([
  { entry: '0.0.0.0/0', has: ['192.0.2.1', '::ffff:192.0.2.1'] },
  { entry: '192.0.2.0/24', has: ['192.0.2.1', '::ffff:192.0.2.1'] },
  { entry: '::ffff:0:0/96', has: ['192.0.2.1', '::ffff:192.0.2.1'] },
  { entry: '::ffff:192.0.2.0/120', has: ['192.0.2.1', '::ffff:192.0.2.1'] },
  { entry: '::/0', has: ['2001:db8::1', '64:ff9b::192.0.2.1', '::1', '::192.0.2.1'] },
  { entry: '::/64', has: ['::1', '::192.0.2.1'] },
  { entry: '::/80', has: ['::1', '::192.0.2.1'] },
  { entry: '::/96', has: ['::1', '::192.0.2.1'] },
  { entry: '64:ff9b::/96', has: ['64:ff9b::192.0.2.1'] },
  { entry: '64:ff9b::/32', has: ['64:ff9b::192.0.2.1'] },
  { entry: '64:ff9b::c000:201', has: ['64:ff9b::192.0.2.1'] },
])('$entry has the addresses of its own family only', ({ entry, has }) => {
  const list = new AddressList([entry], 'deny')
  expect(addresses.filter((address) => list.has(address))).toEqual(has)
})

test('a mapped range needs the 96 bits that say so', () => {
  expect(() => new AddressList(['::ffff:0:0/95'], 'deny')).toThrow(expect.objectContaining({ code: 'HEADGATE_OPTION' }))
})

contract((app) => {
  test('no range of IPv6 exempts or denies IPv4', async () => {
    for (const entry of ['::/0', '64:ff9b::/96']) {
      const denying = await app({ limit: 9, window: '1h', deny: [entry] }, { proxies: 1 })
      const callers = ['192.0.2.1', '::ffff:192.0.2.1', '64:ff9b::192.0.2.1'].map(from)
      expect(await statuses(denying.url, callers)).toEqual([200, 200, 403])
      const allowing = await app({ limit: 1, window: '1h', keys: () => 'all', allow: [entry] }, { proxies: 1 })
      expect(await statuses(allowing.url, [callers[0] ?? {}, ...callers])).toEqual([200, 429, 429, 200])
    }
  })

  test('no range of IPv6 makes an IPv4 peer a trusted proxy', async () => {
    const { url } = await app({ limit: 1, window: '1h', keys: byIp({ trustedProxies: ['fc00::/7', '64:ff9b::/96'] }) })
    expect(await statuses(url, [from('192.0.2.1'), from('192.0.2.2')])).toEqual([200, 429])
  })
})
