import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest'
import { forgetWarnings } from '../../../src/common/warn.ts'
import { createGuard, type Framework } from '../../../src/http.ts'
import {
  type AddressPlatform,
  type ByIpOptions,
  byIp,
  byRoute,
  combine,
  HeadgateError,
  type RequestView,
} from '../../../src/index.ts'
import { type PlainRequest, PlainResponse, plainFramework } from '../../support/plain-framework.ts'

const warned = vi.spyOn(process, 'emitWarning')
beforeEach(() => {
  forgetWarnings()
  warned.mockReset().mockImplementation(() => undefined)
})
afterEach(forgetWarnings)

type Fields = Record<string, string>
type Door = Partial<Pick<RequestView<unknown>, 'address' | 'peer' | 'unaddressed'>>

/** The key of a request with these fields, at a door with these functions. */
function keyAt(door: Door, options: ByIpOptions, fields: Fields): unknown {
  const base = {
    address: () => undefined,
    peer: () => null,
    trustsProxy: () => false,
    param: () => undefined,
    route: () => 'GET /',
  }
  return byIp(options)({}, { ...base, ...door, header: (_request, name) => fields[name] })
}

const from = (peer: string): Door => ({ address: () => peer, peer: () => peer })
const worker: Door = {}

/** A proxy of each platform, its field, and the value of the field for a client. */
const single: [AddressPlatform, string, string][] = [
  ['cloudflare', '173.245.48.1', 'cf-connecting-ip'],
  ['vercel', '127.0.0.1', 'x-vercel-forwarded-for'],
  ['vercel', '127.0.0.1', 'x-real-ip'],
  ['fly', '172.16.0.1', 'fly-client-ip'],
  ['render', '10.21.157.68', 'cf-connecting-ip'],
  ['railway', '100.64.0.2', 'x-real-ip'],
  ['netlify', '127.0.0.1', 'x-nf-client-connection-ip'],
  ['nginx', '::1', 'x-real-ip'],
]
const lists: [AddressPlatform, string, string][] = [
  ['aws-lambda', '127.0.0.1', ''],
  ['aws-alb', '10.0.1.7', ''],
  ['gcp', '35.191.0.1', ', 203.0.113.80'],
  ['azure', '169.254.130.1', ''],
]

const clients: [string, string][] = [
  ['192.0.2.1', '192.0.2.1'],
  ['::ffff:192.0.2.1', '192.0.2.1'],
  ['::ffff:c000:201', '192.0.2.1'],
  ['64:ff9b::c000:201', '192.0.2.1'],
  ['2001:DB8:1:2ff::1', '2001:db8:1:200::/56'],
  ['2001:db8:1:200:1:2:3:4', '2001:db8:1:200::/56'],
]

/** What is no address, or not one, for every platform. */
const hostile = [
  '',
  ' ',
  'unknown',
  '_hidden',
  'localhost',
  '192.0.2',
  '192.0.2.1.1',
  '192.0.2.256',
  '192.0.2.01',
  '0xc0000201',
  '3221225985',
  '192.0.2.1%eth0',
  'fe80::1%eth0',
  '[fe80::1%eth0]:80',
  '2001:db8::1::',
  '2001:db8:1',
  ':::',
  '192.0.2.1/32',
  '192.0.2.1;',
  '"192.0.2.1"',
  'for=192.0.2.1',
  'http://192.0.2.1',
  '192.0.2.1 192.0.2.2',
  '192.0.2.1\u0000',
  '１９２.0.2.1',
  '__proto__',
  '192.0.2.1:',
  '192.0.2.1:x',
  '192.0.2.1:123456',
  '[192.0.2.1]',
  '[2001:db8::1',
  '2001:db8::1]',
  '[2001:db8::1]x',
  '[2001:db8::1]:x',
  '[]:80',
  `${'0'.repeat(50)}::1`,
  '1'.repeat(100_000),
  ':'.repeat(100_000),
]

/** Ports and brackets, which only a list may have. */
const withPort: [string, string][] = [
  ['192.0.2.1:80', '192.0.2.1'],
  ['192.0.2.1:65535', '192.0.2.1'],
  ['[2001:db8::1]:443', '2001:db8:0:0::/56'],
  ['[2001:db8::1]', '2001:db8:0:0::/56'],
  ['[::ffff:192.0.2.1]:443', '192.0.2.1'],
]

describe.each(single)('%s from %s by %s', (platform, peer, name) => {
  const key = (value: string) => keyAt(from(peer), { platform }, { [name]: value })

  test.each(clients)('%s is the client %s', (text, expected) => {
    expect(key(text)).toBe(expected)
    expect(keyAt(worker, { platform }, { [name]: text })).toBe(expected)
  })

  test.each([...hostile, ...withPort.map(([text]) => text)].map((text) => [text]))('%j gives no address', (text) => {
    expect(key(text)).toBeUndefined()
    expect(keyAt(worker, { platform }, { [name]: text })).toBeUndefined()
  })

  test('a list gives no address, however long', () => {
    for (const many of [2, 3, 10_000]) expect(key(Array(many).fill('192.0.2.1').join(', '))).toBeUndefined()
    for (const text of ['192.0.2.1,', ',192.0.2.1', ', ']) expect(key(text)).toBeUndefined()
  })
})

describe.each(lists)('%s from %s', (platform, peer, after) => {
  const key = (value: string) => keyAt(from(peer), { platform }, { 'x-forwarded-for': `${value}${after}` })

  test.each([...clients, ...withPort])('%s is the client %s, whatever stands before it', (text, expected) => {
    expect(key(text)).toBe(expected)
    for (const before of [...hostile, '203.0.113.7', Array(10_000).fill('203.0.113.7').join(',')]) {
      expect(key(`${before},${text}`)).toBe(expected)
      expect(key(`${before} ,\t${text} `)).toBe(expected)
    }
  })

  test.each(hostile.map((text) => [text]))('%j in its place gives no address', (text) => {
    expect(key(text)).toBeUndefined()
    expect(key(`192.0.2.1, ${text}`)).toBeUndefined()
    expect(key(`192.0.2.1, 192.0.2.2,${text}`)).toBeUndefined()
  })
})

test('gcp needs the entry of the load balancer after the client', () => {
  const gcp = (list: string) => keyAt(from('130.211.3.255'), { platform: 'gcp' }, { 'x-forwarded-for': list })
  expect(['192.0.2.1', '', ',', ', 203.0.113.80', '192.0.2.1, 203.0.113.80'].map(gcp)).toEqual([
    ...[undefined, undefined, undefined, undefined],
    '192.0.2.1',
  ])
})

describe('the peer', () => {
  const fields = Object.fromEntries(
    [...single.map(([, , name]) => name), 'x-forwarded-for'].map((name) => [name, '192.0.2.1']),
  )
  const all = [...new Set([...single, ...lists].map(([platform]) => platform))]

  test.each(all)('%s: a stranger is limited as itself', (platform) => {
    for (const stranger of [
      '203.0.113.9',
      '8.8.8.8',
      '::ffff:203.0.113.9',
      '172.32.0.1',
      '100.128.0.1',
      '35.190.255.255',
    ]) {
      const expected = stranger.replace('::ffff:', '')
      expect(keyAt(from(stranger), { platform, warn: false }, fields)).toBe(expected)
    }
    expect(keyAt(from('2001:db8::9'), { platform, warn: false }, fields)).toBe('2001:db8:0:0::/56')
  })

  test.each([
    ['cloudflare', '173.245.47.255', '173.245.48.0', '173.245.63.255', '173.245.64.0'],
    ['cloudflare', '104.15.255.255', '104.16.0.0', '104.27.255.255', '104.28.0.0'],
    ['cloudflare', '2400:caff:ffff::1', '2400:cb00::', '2400:cb00:ffff::1', '2400:cb01::'],
    ['cloudflare', '2a06:98bf::1', '2a06:98c0::', '2a06:98c7:ffff::', '2a06:98c8::'],
    ['nginx', '9.255.255.255', '10.0.0.0', '10.255.255.255', '11.0.0.0'],
    ['railway', '100.63.255.255', '100.64.0.0', '100.127.255.255', '100.128.0.0'],
    ['fly', 'fbff:ffff::', 'fdaa::', 'fdff:ffff::', 'fe00::'],
  ] as const)('%s: the range ends where it is published to end', (platform, below, first, last, above) => {
    const believed = (peer: string) => keyAt(from(peer), { platform, warn: false }, fields) === '192.0.2.1'
    expect([below, first, last, above].map(believed)).toEqual([false, true, true, false])
  })

  test('a mapped or zoned peer is the address it maps', () => {
    for (const peer of ['::ffff:10.0.0.1', '::ffff:a00:1', 'fe80::1%eth0']) {
      expect(keyAt(from(peer), { platform: 'nginx' }, fields)).toBe('192.0.2.1')
    }
  })

  test('each request is judged by its own peer, whoever came before', () => {
    const extractor = byIp({ platform: 'nginx', warn: false })
    const key = (peer: string) => {
      const view = { ...from(peer), header: () => '192.0.2.1' } as unknown as RequestView<unknown>
      return extractor({}, view)
    }
    const peers = ['10.0.0.1', '203.0.113.9', '10.0.0.1', '10.0.0.2', '203.0.113.9', '203.0.113.9', '10.0.0.2']
    expect(peers.map(key)).toEqual(peers.map((peer) => (peer === '203.0.113.9' ? peer : '192.0.2.1')))
  })

  test('proxies replaces the ranges', () => {
    const options: ByIpOptions = { platform: 'cloudflare', proxies: ['203.0.113.0/24'], warn: false }
    expect(keyAt(from('203.0.113.9'), options, fields)).toBe('192.0.2.1')
    expect(keyAt(from('173.245.48.1'), options, fields)).toBe('173.245.48.1')
  })

  test('a client that has left has no address, and a unix socket is the nearest proxy', () => {
    const left: Door = { peer: () => undefined, unaddressed: () => false }
    const unix: Door = { peer: () => undefined, unaddressed: () => true }
    for (const platform of all.filter((name) => name !== 'gcp')) {
      expect(keyAt(left, { platform }, fields)).toBeUndefined()
      expect(keyAt({ peer: () => undefined }, { platform }, fields)).toBeUndefined()
      expect(keyAt(unix, { platform }, fields)).toBe('192.0.2.1')
    }
  })

  test('a door without peers has no address without the field; aws-lambda takes that of the event', () => {
    for (const platform of all) expect(keyAt(worker, { platform }, {})).toBeUndefined()
    const event: Door = { address: () => '198.51.100.7' }
    expect(keyAt(event, { platform: 'aws-lambda' }, fields)).toBe('198.51.100.7')
    expect(keyAt(event, { platform: 'netlify' }, fields)).toBe('192.0.2.1')
  })
})

test.each([
  [{ platform: 'heroku' }, "one of 'cloudflare', 'vercel'"],
  [{ platform: 'constructor' }, 'Write byIp({ trustedProxies: 1 }) behind any other proxy.'],
  [{ platform: 'nginx', trustedProxies: 1 }, 'Leave trustedProxies out'],
  [{ platform: 'nginx', proxies: [] }, 'proxies is empty'],
  [{ platform: 'nginx', proxies: ['nobody'] }, "Write proxies: ['192.0.2.1'"],
  [{ proxies: ['10.0.0.0/8'] }, 'proxies belongs to platform'],
  [{ proxies: ['10.0.0.0/8'], trustedProxies: 1 }, 'proxies belongs to platform'],
])('%j is an error with the fix', (options, message) => {
  expect(() => byIp(options as ByIpOptions)).toThrow(HeadgateError)
  expect(() => byIp(options as ByIpOptions)).toThrow(message)
})

test('each fault gives one warning, and warn: false none', () => {
  const faults = (options: ByIpOptions) => {
    const extractor = byIp(options)
    const view = (peer: string, fields: Fields) =>
      ({ ...from(peer), header: (_request: unknown, name: string) => fields[name] }) as RequestView<unknown>
    for (let n = 0; n < 3; n++) {
      extractor({}, view('203.0.113.9', { 'x-real-ip': '192.0.2.1' }))
      extractor({}, view('10.0.0.1', {}))
      extractor({}, view('10.0.0.1', { 'x-real-ip': 'a, b' }))
    }
    return warned.mock.calls.length
  }
  expect(faults({ platform: 'nginx', warn: false })).toBe(0)
  expect(faults({ platform: 'nginx' })).toBe(3)
})

test('a framework without addresses needs a platform, in keys of any form', () => {
  const limit = (keys: unknown) =>
    createGuard({ ...workers, addressless: 'address: () => ...' }, { limit: 1, window: '1h', keys: keys as never })
  const there = byIp({ platform: 'vercel' })
  for (const keys of [there, combine(there, byRoute()), combine(byRoute(), combine(there)), { default: there }])
    limit(keys)
  const none = [
    undefined,
    byIp(),
    byIp({ trustedProxies: 1 }),
    combine(byIp({ trustedProxies: 1 })),
    { default: byIp() },
    {},
  ]
  for (const keys of none) expect(() => limit(keys)).toThrow("needs the client's address")
})

/** The framework of a runtime that shows no address. */
const workers: Framework<PlainRequest, PlainResponse> = {
  ...plainFramework,
  address: () => undefined,
  peer: () => null,
}

describe('a framework without peers', () => {
  const send = async (keys: unknown, headers: Fields, options = {}) => {
    const guard = createGuard(workers, { limit: 1, window: '1h', keys: keys as never, ...options })
    const statuses = []
    for (let n = 0; n < 2; n++) {
      const response = new PlainResponse()
      await guard.check({ headers }, response)
      statuses.push(response.statusCode)
    }
    return statuses
  }

  test('the declared field is the address, also for deny', async () => {
    const keys = byIp({ platform: 'cloudflare' })
    expect(await send(keys, { 'cf-connecting-ip': '192.0.2.1' })).toEqual([200, 429])
    expect(await send(keys, { 'cf-connecting-ip': '192.0.2.1' }, { deny: ['192.0.2.0/24'] })).toEqual([403, 403])
    expect(await send(keys, { 'cf-connecting-ip': '192.0.2.1' }, { deny: ['198.51.100.1'] })).toEqual([200, 429])
  })

  test('without the field, a request is refused rather than counted with others', async () => {
    expect(await send(byIp({ platform: 'cloudflare' }), { 'x-forwarded-for': '192.0.2.1' })).toEqual([403, 403])
    expect(await send(combine(byIp({ platform: 'fly' }), byRoute()), {})).toEqual([403, 403])
    expect(await send(byIp(), { 'cf-connecting-ip': '192.0.2.1' })).toEqual([403, 403])
  })
})
