import { channel } from 'node:diagnostics_channel'
import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest'
import { forgetWarnings } from '../../../src/common/warn.ts'
import { type AddressPlatform, byHeader, byIp, byRoute, combine, type NoAddressEvent } from '../../../src/index.ts'
import {
  type AddressProxy,
  append,
  getFrom,
  platforms,
  type Rewrite,
  startAddressProxy,
} from '../../support/address-proxy.ts'
import { contract } from '../../support/contract.ts'

const warned = vi.spyOn(process, 'emitWarning')
beforeEach(() => {
  forgetWarnings()
  warned.mockReset().mockImplementation(() => undefined)
})
afterEach(forgetWarnings)

const proxies: AddressProxy[] = []
afterEach(async () => {
  await Promise.all(proxies.splice(0).map((proxy) => proxy.close()))
})

/** The port of a proxy before that app. */
async function before(url: string, rewrite: Rewrite): Promise<number> {
  const proxy = await startAddressProxy(portOf(url), rewrite)
  proxies.push(proxy)
  return proxy.port
}

const portOf = (url: string) => Number(new URL(url).port)

/** Every field that a platform may use, as a client forges it: another address each time. */
let forged = 0
function forgery(): string[] {
  const address = `198.51.100.${++forged % 256}`
  const single = [
    'CF-Connecting-IP',
    'X-Vercel-Forwarded-For',
    'X-Real-IP',
    'Fly-Client-IP',
    'X-NF-Client-Connection-IP',
  ]
  const more = ['True-Client-IP', 'X-Azure-ClientIP', 'X-Azure-SocketIP', 'Forwarded']
  return [...[...single, ...more].map((name) => `${name}: ${address}`), `X-Forwarded-For: ${address}, ${address}`]
}

const names = Object.keys(platforms) as AddressPlatform[]
const overwriting = names.filter((name) => !['aws-lambda', 'aws-alb', 'gcp', 'azure'].includes(name))

contract((app) => {
  describe.each(names)('behind %s', (platform) => {
    const keys = byIp({ platform, proxies: ['127.0.0.1'] })

    test('each client has one quota, whatever it forges', async () => {
      const { url, handled } = await app({ limit: 2, window: '1h', keys })
      const port = await before(url, platforms[platform])
      const statuses: number[] = []
      for (const client of ['127.0.0.5', '127.0.0.5', '127.0.0.5', '127.0.0.6', '127.0.0.5']) {
        statuses.push(await getFrom(client, port, forgery()))
      }
      expect(statuses).toEqual([200, 200, 429, 200, 429])
      expect(await getFrom('127.0.0.6', port)).toBe(200)
      expect(handled()).toBe(4)
      expect(warned).not.toHaveBeenCalled()
    })

    test('who connects past the proxy is limited as itself, whatever it forges', async () => {
      const { url } = await app({ limit: 1, window: '1h', keys })
      const port = portOf(url)
      expect(await getFrom('127.0.0.9', port, forgery())).toBe(200)
      expect(await getFrom('127.0.0.9', port, forgery())).toBe(429)
      expect(await getFrom('127.0.0.8', port, forgery())).toBe(200)
      expect(warned).toHaveBeenCalledTimes(1)
      expect(warned).toHaveBeenCalledWith(expect.stringContaining("proxies: ['127.0.0.9']"), {
        type: 'HeadgateWarning',
        code: 'HEADGATE_PLATFORM',
      })
    })

    test('a proxy that tells no client is limited as itself', async () => {
      const { url } = await app({ limit: 1, window: '1h', keys })
      expect(await getFrom('127.0.0.1', portOf(url))).toBe(200)
      expect(await getFrom('127.0.0.1', portOf(url))).toBe(429)
      expect(warned).toHaveBeenCalledTimes(1)
      expect(warned).toHaveBeenCalledWith(expect.stringContaining('127.0.0.1 has no '), expect.anything())
    })
  })

  test.each(overwriting)('a field that %s does not overwrite is refused, and nothing is counted', async (platform) => {
    const events: NoAddressEvent[] = []
    const record = (event: unknown) => void events.push(event as NoAddressEvent)
    channel('headgate:no-address').subscribe(record)
    const { url, handled } = await app({ limit: 1, window: '1h', keys: byIp({ platform, proxies: ['127.0.0.1'] }) })
    const name = {
      vercel: 'x-vercel-forwarded-for',
      fly: 'fly-client-ip',
      netlify: 'x-nf-client-connection-ip',
    } as const
    const field =
      name[platform as 'fly'] ?? (platform === 'railway' || platform === 'nginx' ? 'x-real-ip' : 'cf-connecting-ip')
    const port = await before(url, append(field))
    expect(await getFrom('127.0.0.5', port, [`${field}: 198.51.100.1`])).toBe(403)
    expect(await getFrom('127.0.0.5', port, [`${field}: 198.51.100.2`])).toBe(403)
    channel('headgate:no-address').unsubscribe(record)
    expect(handled()).toBe(0)
    expect(events.map(({ enforced, shared, count }) => ({ enforced, shared, count }))).toEqual([
      { enforced: true, shared: false, count: 1 },
      { enforced: true, shared: false, count: 2 },
    ])
    expect(await getFrom('127.0.0.5', port)).toBe(200)
  })

  test('allow, deny and a missing key mean the client that the platform tells', async () => {
    const options = { limit: 1, window: '1h', allow: ['127.0.0.6'], deny: ['127.0.0.7'] }
    const byIpThere = byIp({ platform: 'nginx', proxies: ['127.0.0.1'] })
    const { url } = await app({ ...options, keys: combine(byIpThere, byHeader('x-api-key')) })
    const port = await before(url, platforms.nginx)
    const statuses = (client: string) => Promise.all([getFrom(client, port), getFrom(client, port)])
    expect((await statuses('127.0.0.5')).sort()).toEqual([200, 429])
    expect(await statuses('127.0.0.6')).toEqual([200, 200])
    expect(await statuses('127.0.0.7')).toEqual([403, 403])
    expect((await statuses('127.0.0.8')).sort()).toEqual([200, 429])
  })

  test('allow and deny mean that client also under plans', async () => {
    const keys = combine(byIp({ platform: 'nginx' }), byRoute())
    const { url } = await app({ policies: () => '1/1h', keys, allow: ['127.0.0.6'], deny: ['127.0.0.7'] })
    const port = await before(url, platforms.nginx)
    const statuses = []
    for (const client of ['127.0.0.5', '127.0.0.5', '127.0.0.6', '127.0.0.6', '127.0.0.7']) {
      statuses.push(await getFrom(client, port))
    }
    expect(statuses).toEqual([200, 429, 200, 200, 403])
  })

  test('without a platform no field is believed', async () => {
    const { url } = await app({ limit: 1, window: '1h', keys: byIp({ warn: false }) })
    expect(await getFrom('127.0.0.5', portOf(url), forgery())).toBe(200)
    expect(await getFrom('127.0.0.5', portOf(url), forgery())).toBe(429)
  })

  test('Cloudflare is believed from its own ranges only', async () => {
    const { url } = await app({ limit: 1, window: '1h', keys: byIp({ platform: 'cloudflare', warn: false }) })
    expect(await getFrom('127.0.0.1', portOf(url), forgery())).toBe(200)
    expect(await getFrom('127.0.0.1', portOf(url), forgery())).toBe(429)
    expect(warned).not.toHaveBeenCalled()
  })
})
