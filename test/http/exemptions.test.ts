import { afterEach, beforeEach, expect, test, vi } from 'vitest'
import { rateLimit } from '../../adapters/express.ts'
import { forgetWarnings } from '../../src/common/warn.ts'
import { watchForwarded } from '../../src/http/keys/by-ip.ts'
import { byCookie, byHeader, byIp, byParam, combine, fixedWindow } from '../../src/index.ts'
import { contract, statuses } from '../support/contract.ts'
import { get } from '../support/frameworks.ts'
import { headerOf } from '../support/shapes.ts'

const ann = () => 'ann'
const from = (address: string) => ({ 'x-forwarded-for': address })

const warned = vi.spyOn(process, 'emitWarning')
beforeEach(() => {
  forgetWarnings()
  watchForwarded()
  warned.mockReset().mockImplementation(() => undefined)
})
afterEach(forgetWarnings)

contract((app) => {
  test('a request that skip exempts, sync or async, has no limit and no fields', async () => {
    const isFree = (request: unknown) => headerOf(request, 'x-free') !== undefined
    for (const skip of [isFree, async (request: unknown) => isFree(request)]) {
      const { url } = await app({ limit: 1, window: '1h', skip })
      const free = { 'x-free': 'yes' }
      expect(await statuses(url, [free, {}, free, {}, free])).toEqual([200, 200, 200, 429, 200])
      expect((await get(url, free)).headers).not.toHaveProperty('x-ratelimit-limit')
    }
  })

  test('an error of skip goes to the error handler', async () => {
    for (const skip of [() => JSON.parse('no'), async () => JSON.parse('no')]) {
      const { url, handled } = await app({ limit: 1, window: '1h', skip })
      expect([(await get(url)).status, handled()]).toEqual([500, 0])
    }
  })

  test('allow exempts addresses and ranges, IPv4, IPv6 and mapped', async () => {
    const allow = ['192.0.2.1', '10.0.0.0/8', '2001:db8:1::/48', '::ffff:198.51.100.0/120']
    const { url } = await app({ limit: 1, window: '1h', keys: () => 'all', allow }, { proxies: 1 })
    await get(url, from('203.0.113.1'))
    const inside = ['192.0.2.1', '::ffff:192.0.2.1', '10.255.0.1', '::ffff:a00:1', '2001:DB8:1::7', '198.51.100.9']
    const outside = ['192.0.2.2', '11.0.0.1', '2001:db8:2::1', '::ffff:198.51.101.1', '::1', '10.0.0.1.evil', '']
    expect(await statuses(url, inside.map(from))).toEqual(inside.map(() => 200))
    expect(await statuses(url, outside.map(from))).toEqual(outside.map(() => 429))
  })

  test('an address from a proxy that is no IP address is refused with 403, and shares no quota', async () => {
    const texts = ['unknown', 'unix:', '"192.0.2.7"', '192.0.2.07', '192.0.2.7/24', '10.0.0.1.evil', 'a'.repeat(9999)]
    for (const proxies of [1, 'everybody'] as const) {
      for (const options of [
        {},
        { keys: () => 'all', deny: ['203.0.113.7'] },
        { keys: combine(byIp(), () => 'all') },
      ]) {
        const { url, handled } = await app({ limit: 1, window: '1h', ...options }, { proxies })
        expect(await statuses(url, texts.map(from))).toEqual(texts.map(() => 403))
        expect(handled()).toBe(0)
      }
      const { url } = await app({ limit: 1, window: '1h' }, { proxies })
      expect(await statuses(url, ['192.0.2.7', '192.0.2.7:80', '1.1.1.1,\t192.0.2.7'].map(from))).toEqual([
        200, 429, 429,
      ])
    }
    const warnings = warned.mock.calls.filter(([, options]) => Object(options).code === 'HEADGATE_NO_ADDRESS')
    expect(warnings.map(([text]) => text)).toEqual([expect.stringMatching(/ "unknown".* is no IP address, .* 403\. /)])
  })

  test('deny responds with 403 before anything counts, even to addresses on the allow list', async () => {
    const lists = { allow: ['0.0.0.0/0'], deny: ['203.0.113.0/24', '2001:db8::/32'] }
    const { url, handled } = await app({ limit: 1, window: '1h', ...lists }, { proxies: 1 })
    const denied = ['203.0.113.9', '::ffff:203.0.113.9', '2001:db8::1', '203.0.113.9']
    expect(await statuses(url, denied.map(from))).toEqual([403, 403, 403, 403])
    expect(handled()).toBe(0)
    const { headers, body } = await get(url, { ...from('203.0.113.9'), accept: 'application/json' })
    expect([JSON.parse(body).error, headers['cache-control']]).toEqual(['forbidden', 'no-store'])
    expect(await statuses(url, [from('192.0.2.1'), from('192.0.2.1')])).toEqual([200, 200])
    const problem = await get((await app({ limit: 1, window: '1h', deny: ['127.0.0.1'], problem: true })).url)
    expect([problem.status, JSON.parse(problem.body).status]).toEqual([403, 403])
  })

  test('a forged header does not put an address on a list', async () => {
    const { url } = await app({ limit: 1, window: '1h', allow: ['10.0.0.0/8'] })
    expect(await statuses(url, [from('10.0.0.1'), from('10.0.0.1')])).toEqual([200, 429])
  })

  test('byCookie uses the cookie of the name, and no other', async () => {
    const { url } = await app({ limit: 1, window: '1h', keys: byCookie('sid') })
    const cookies = [
      'sid=a',
      'x=1; sid="a"',
      'sid=b; asid=a',
      'xsid=a',
      'other=sid=a',
      'sid=',
      'sid=__proto__',
      'sid=~x',
    ]
    expect(
      await statuses(
        url,
        cookies.map((cookie) => ({ cookie })),
      ),
    ).toEqual([200, 429, 200, 200, 429, 429, 200, 200])
  })

  test('byParam uses a parameter of the route', async () => {
    const { url } = await app({ limit: 1, window: '1h', keys: byParam('id') })
    const ids = ['1', '2', '1', '__proto__', '%0d%0a', '1%00']
    const seen = []
    for (const id of ids) seen.push((await get(`${url}/users/${id}`)).status)
    expect(seen).toEqual([200, 200, 429, 200, 200, 200])
    expect(await statuses(url, [{}, {}])).toEqual([200, 429])
  })

  test.each([['__proto__'], ['constructor'], ['k'.repeat(10_000)], ['"; drop'], ['a|b\\c'], ['ÿ']])(
    'the key %s is a key like any other',
    async (key) => {
      const { url } = await app({ limit: 1, window: '1h', keys: combine(byHeader('x-key'), byHeader('x-other')) })
      const header = { 'x-key': key }
      expect(await statuses(url, [header, header, { 'x-key': `${key.slice(1)}!` }])).toEqual([200, 429, 200])
    },
  )

  test('IPv6 rotation inside a /56 does not help', async () => {
    const { url } = await app({ limit: 2, window: '1h' }, { proxies: 1 })
    const rotating = Array.from({ length: 5 }, (_, n) => from(`2001:db8:0:1${n.toString(16)}0::${n + 1}`))
    expect(await statuses(url, rotating)).toEqual([200, 200, 429, 429, 429])
  })

  test('trustedProxies is a number of hops, or addresses', async () => {
    for (const trustedProxies of [2, ['127.0.0.1', '10.0.0.0/8']]) {
      const { url } = await app({ limit: 1, window: '1h', keys: byIp({ trustedProxies }) })
      const forged = [1, 2, 3].map((n) => from(`192.0.2.${n}, 203.0.113.7, 10.0.0.1`))
      expect(await statuses(url, [...forged, from('203.0.113.8,10.0.0.2')])).toEqual([200, 429, 429, 200])
    }
    expect(warned).not.toHaveBeenCalled()
  })

  test('trustedProxies refuses a request if a trusted proxy has written an entry that is not an address', async () => {
    const { url } = await app({ limit: 1, window: '1h', keys: byIp({ trustedProxies: ['127.0.0.1', '10.0.0.1'] }) })
    const forged = ['a, 10.0.0.1', 'b, 10.0.0.1', 'unknown,10.0.0.1', ',10.0.0.1'].map(from)
    expect(await statuses(url, forged)).toEqual([403, 403, 403, 200])
    expect(await statuses(url, ['a, 203.0.113.5', 'b,, ,203.0.113.5'].map(from))).toEqual([200, 429])
    const ports = ['203.0.113.7:1', '203.0.113.7:2', '[2001:db8::1]:5', '[2001:db8::2]:6'].map(from)
    expect(await statuses(url, ports)).toEqual([200, 429, 200, 429])
  })

  test('allow, deny and a request without a key use the address behind trustedProxies', async () => {
    const behind = byIp({ trustedProxies: ['127.0.0.0/8', '::1'] })
    const lists = { allow: ['127.0.0.0/8', '10.0.0.0/8'], deny: ['203.0.113.9'] }
    const policies = fixedWindow({ limit: 1, window: '1h' })
    const daily = fixedWindow({ limit: 99, window: '1d', scope: 'address' })
    const fields = ['203.0.113.7', '203.0.113.7', '203.0.113.8', '10.0.0.1', '10.0.0.1', '203.0.113.9'].map(from)
    for (const limit of [
      { policies, keys: behind },
      { policies, keys: combine(behind, byHeader('host')) },
      { policies: [policies, daily], keys: { default: byHeader('x-user'), address: behind } },
    ]) {
      const { url } = await app({ ...limit, ...lists })
      expect(await statuses(url, fields)).toEqual([200, 429, 200, 200, 200, 403])
    }
    expect(warned).not.toHaveBeenCalled()
  })

  test('with byIp() among the keys, allow and deny use the address of the framework', async () => {
    const keys = { default: byIp(), far: byIp({ trustedProxies: 2 }) }
    const far = fixedWindow({ limit: 99, window: '1d', scope: 'far' })
    const limit = { policies: [fixedWindow({ limit: 1, window: '1h' }), far], keys, allow: ['203.0.113.7'] }
    const { url } = await app(limit, { proxies: 1 })
    const fields = ['198.51.100.1, 203.0.113.7', '198.51.100.1, 203.0.113.7', '203.0.113.7, 203.0.113.8'].map(from)
    expect(await statuses(url, [...fields, from('198.51.100.1, 203.0.113.8')])).toEqual([200, 200, 200, 429])
    expect(warned).not.toHaveBeenCalled()
  })

  test.each([
    ['allow', { allow: ['127.0.0.0/8', '::1'] }],
    ['allow, and a key that is no address', { allow: ['127.0.0.0/8', '::1'], keys: ann }],
    ['deny, and a key that is no address', { deny: ['203.0.113.9'], keys: ann }],
  ])('X-Forwarded-For gives a warning if no proxy is trusted, with %s', async (_what, options) => {
    const silent = { ...options, keys: byIp({ warn: false }) }
    await get((await app({ limit: 9, window: '1h', ...silent })).url, from('192.0.2.1'))
    await get((await app({ limit: 9, window: '1h', ...options }, { proxies: 1 })).url, from('192.0.2.1'))
    await get((await app({ limit: 9, window: '1h', keys: ann, skip: () => false })).url, from('192.0.2.1'))
    expect(warned).not.toHaveBeenCalled()
    await get((await app({ limit: 9, window: '1h', ...options })).url, from('192.0.2.1'))
    expect(warned.mock.calls).toEqual([
      [expect.stringContaining('allow and deny'), { type: 'HeadgateWarning', code: 'HEADGATE_FORWARDED' }],
    ])
  })

  test('X-Forwarded-For gives one warning if no proxy is trusted, and none if one is', async () => {
    await statuses((await app('9/1h', { proxies: 1 })).url, [from('192.0.2.1'), {}])
    await statuses((await app({ limit: 9, window: '1h', keys: byIp({ warn: false }) })).url, [from('192.0.2.1')])
    await statuses((await app('9/1h')).url, [{}])
    expect(warned).not.toHaveBeenCalled()
    for (const _ of [1, 2]) await statuses((await app('9/1h')).url, [from('192.0.2.1'), from('192.0.2.2')])
    expect(warned).toHaveBeenCalledTimes(1)
    expect(warned).toHaveBeenCalledWith(expect.stringContaining("app.set('trust proxy', 1)"), {
      type: 'HeadgateWarning',
      code: 'HEADGATE_FORWARDED',
    })
  })
})

test.each([
  ...[
    '10.0.0.0/33',
    '::/129',
    '10.0.0.1:80',
    'localhost',
    '',
    '10.0.0',
    '1.2.3.4/',
    '1.2.3.4/8/8',
    'fe80::1%eth0',
    5,
  ].map((entry) => ({ allow: [entry] })),
  { deny: '10.0.0.0/8' },
  { deny: ['::ffff:10.0.0.0/90'] },
  { skip: true },
])('%j throws at construction', (options) => {
  expect(() => rateLimit('1/1h', options as never)).toThrow(expect.objectContaining({ code: 'HEADGATE_OPTION' }))
})

test.each([
  () => byCookie('a b'),
  () => byCookie('sid='),
  () => byParam(''),
  () => byIp({ trustedProxies: 0 }),
  () => byIp({ trustedProxies: 1.5 }),
  () => byIp({ trustedProxies: ['nobody'] }),
  () => byIp({ trustedProxies: '10.0.0.0/8' as never }),
  () => byIp({ warn: 'no' as never }),
])('%s throws at construction', (make) => {
  expect(make).toThrow(expect.objectContaining({ code: 'HEADGATE_OPTION' }))
})
