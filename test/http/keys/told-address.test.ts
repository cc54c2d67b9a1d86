import { once } from 'node:events'
import { mkdtempSync, rmSync } from 'node:fs'
import { type Server, request as send } from 'node:http'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createAdaptorServer } from '@hono/node-server'
import { H3 } from 'h3'
import { Hono } from 'hono'
import { afterEach, beforeEach, describe, expect, onTestFinished, test, vi } from 'vitest'
import { rateLimit as forFetch } from '../../../adapters/fetch.ts'
import { rateLimit as forH3 } from '../../../adapters/h3.ts'
import { rateLimit as forHono } from '../../../adapters/hono.ts'
import { forgetWarnings } from '../../../src/common/warn.ts'
import { byHeader, byIp, combine } from '../../../src/index.ts'

const warned = vi.spyOn(process, 'emitWarning')
beforeEach(() => {
  forgetWarnings()
  warned.mockReset().mockImplementation(() => undefined)
})
afterEach(forgetWarnings)

type Send = (headers?: Record<string, string>) => Promise<{ status: number; error?: unknown }>
type Options = Record<string, unknown>

async function answered(response: Promise<Response>, error: () => unknown): ReturnType<Send> {
  const { status } = await response
  return { status, error: error() }
}

/** Each door with a function that finds its client's address. */
const doors: Record<string, (tell: () => unknown, options: Options) => Send> = {
  fetch(tell, options) {
    const limited = forFetch(options as never, { address: tell as never }).wrap(() => new Response('ok'))
    return async (headers = {}) => {
      try {
        return await answered(limited(new Request('http://a/', { headers })), () => undefined)
      } catch (error) {
        return { status: 500, error }
      }
    }
  },
  'fetch by hand'(tell, options) {
    const limit = forFetch(options as never, { address: tell as never })
    return async (headers = {}) => {
      try {
        const { response, apply } = await limit(new Request('http://a/', { headers }))
        return { status: (response ?? apply(new Response('ok'))).status }
      } catch (error) {
        return { status: 500, error }
      }
    }
  },
  'Hono by address': (tell, options) => hono({ ...options, address: tell }),
  'Hono by connInfo': (tell, options) => hono({ ...options, connInfo: () => infoOf(tell()) }),
  'h3 by address': (tell, options) => h3({ ...options, address: tell }),
  'h3 by ip': (tell, options) => h3(options, tell),
}

/** What `getConnInfo` of a runtime would return, had it found this. */
function infoOf(told: unknown): unknown {
  return told instanceof Promise ? told.then((address) => ({ remote: { address } })) : { remote: { address: told } }
}

function hono(options: Options): Send {
  const app = new Hono()
  let thrown: unknown
  app.onError((error, context) => {
    thrown = error
    return context.text('', 500)
  })
  app.get('/', forHono(options as never), (context) => context.text('ok'))
  return (headers = {}) => answered(Promise.resolve(app.request('/', { headers })), () => thrown)
}

function h3(options: Options, ip?: () => unknown): Send {
  let thrown: unknown
  const onError = (error: Error) => {
    thrown = error.cause ?? error
    return new Response('', { status: 500 })
  }
  const app = new H3({ silent: true, onError })
  app.use(forH3(options as never))
  app.get('/', () => 'ok')
  return (headers = {}) => {
    const request = Object.assign(new Request('http://a/', { headers }), ip && { ip: ip() as string })
    return answered(Promise.resolve(app.fetch(request)), () => thrown)
  }
}

const noAddresses = [
  '| |x|unknown|~|undefined|localhost|\u{1f600}|16909060|1.2.3|1.2.3.4.5|1.2.3.256|01.2.3.4|0x1.2.3.4|1\u0665.2.3.4|1.2.3.4/24',
  '1.2.3.4, 5.6.7.8|1.2.3.4:1, 5.6.7.8:2|1.2.3.4 | 1.2.3.4|1.2.3.4\n|1.2.3.4:|1.2.3.4:x|1.2.3.4:1:2|1.2.3.4%eth0|[1.2.3.4]',
  '[1.2.3.4]:80|2001:db8::1::|2001:db8|:|::%|::1%a, 1.2.3.4|fe80::1%a b|[::1|::1]|[::1]:|[::1]x|[::1]:80, [::2]:80|::1 ',
  `[::1], 1.2.3.4|::ffff:1.2.3|::ffff:1.2.3.4.5|::1%${'a'.repeat(100)}|${'1'.repeat(70)}`,
].flatMap((line) => line.split('|'))

/** The range of one client, and all forms of its address. */
const addresses: [string, ...string[]][] = [
  ['1.2.3.4', '1.2.3.4:80', '1.2.3.4:65535', '::ffff:1.2.3.4', '::FFFF:102:304', '[::ffff:1.2.3.4]:80', '::ffff:1.2.3.4%eth0', '::ffff:1.2.3.4:80'], // biome-ignore format: one client
  ['::/56', '::1', '[::1]', '[::1]:80', '0:0:0:0:0:0:0:1', '::1%lo', '[::1%lo0]:443'],
  ['fe80::/56', 'fe80::1', 'FE80::1%eth0', 'fe80::1%5', 'fe80::1%br-4.100', '[fe80::1%25en0]:1'],
  ['2001:db8:0:100::/56', '2001:db8:0:1aa::1', '2001:DB8:0:01ff:0:0:0:2', '[2001:db8:0:1aa::3]:443'],
]

describe.each(Object.entries(doors))('%s', (_door, open) => {
  test.each(noAddresses)('%j is no address: 403, with and without deny, and one warning', async (told) => {
    const keys = combine(byIp(), () => 'all')
    for (const options of [{}, { deny: ['203.0.113.7'] }, { allow: ['203.0.113.7'] }, { keys }]) {
      const send = open(() => told, { limit: 9, window: '1h', ...options })
      for (let n = 0; n < 2; n++) expect((await send()).status).toBe(403)
    }
    expect(warned.mock.calls.map(([, options]) => (options as { code?: string }).code)).toEqual(['HEADGATE_NO_ADDRESS'])
    expect(warned).toHaveBeenCalledWith(expect.stringContaining('no IP address'), expect.anything())
  })

  test('a different text for each request brings no request in', async () => {
    let n = 0
    const send = open(() => `client-${n++}`, { limit: 1, window: '1h' })
    for (let round = 0; round < 5; round++) expect((await send()).status).toBe(403)
    expect(warned).toHaveBeenCalledTimes(1)
  })

  test('a request with a key is limited by it, unless a deny list asks for the address', async () => {
    const keys = byHeader('x-key')
    const send = open(() => '', { limit: 1, window: '1h', keys })
    expect([(await send({ 'x-key': 'a' })).status, (await send({ 'x-key': 'a' })).status]).toEqual([200, 429])
    expect([(await send({ 'x-key': '~' })).status, (await send()).status]).toEqual([200, 403])
    const denying = open(() => '', { limit: 1, window: '1h', keys, deny: ['203.0.113.7'] })
    expect((await denying({ 'x-key': 'a' })).status).toBe(403)
  })

  test.each(addresses)('%s has one quota and is denied in every form', async (range, ...forms) => {
    for (const form of forms) {
      let told = forms[0] as string
      const send = open(() => told, { limit: 1, window: '1h' })
      expect((await send()).status).toBe(200)
      told = form
      expect([form, (await send()).status]).toEqual([form, 429])
      const denied = open(() => told, { limit: 1, window: '1h', deny: [range] })
      expect([form, (await denied()).status]).toEqual([form, 403])
    }
    expect(warned).not.toHaveBeenCalled()
  })

  test.each([
    ['a promise', () => Promise.resolve('192.0.2.1'), 'got a promise. Await it'],
    ['a promise that rejects', () => Promise.reject(new Error('no')), 'got a promise. Await it'],
    ['an object', () => ({ address: '192.0.2.1' }), 'got an object.'],
    ['a number', () => 7, 'got 7.'],
  ])('%s is an error with the fix', async (_what, tell, message) => {
    for (const options of [{}, { deny: ['203.0.113.7'] }]) {
      const { status, error } = await open(tell, { limit: 1, window: '1h', ...options })()
      expect(status).toBe(500)
      expect(error).toMatchObject({
        name: 'HeadgateError',
        code: 'HEADGATE_OPTION',
        message: expect.stringContaining(message),
      })
    }
  })

  test.each([[undefined], [null]])('%s is no address, with the warning that nothing was returned', async (told) => {
    const send = open(() => told, { limit: 9, window: '1h' })
    expect([(await send()).status, (await send()).status]).toEqual([403, 403])
    expect(warned.mock.calls).toEqual([[expect.stringContaining('returned nothing'), expect.anything()]])
  })

  test('behind trusted proxies, a peer that is no address has forwarded nothing', async () => {
    const options = { limit: 9, window: '1h', keys: byIp({ trustedProxies: 1 }) }
    expect((await open(() => 'x', options)({ 'x-forwarded-for': '192.0.2.1' })).status).toBe(403)
    expect((await open(() => '10.0.0.1', options)({ 'x-forwarded-for': '192.0.2.1' })).status).toBe(200)
  })
})

describe('over a unix socket', () => {
  const listen = async (fetch: unknown) => {
    const folder = mkdtempSync(join(tmpdir(), 'headgate-'))
    const server = createAdaptorServer({ fetch: fetch as never, overrideGlobalObjects: false }) as Server
    const path = join(folder, 's')
    server.listen(path)
    await once(server, 'listening')
    onTestFinished(() => {
      server.close()
      server.closeAllConnections()
      rmSync(folder, { recursive: true, force: true })
    })
    return (): Promise<number | undefined> =>
      new Promise((resolve, reject) => {
        const request = send({ socketPath: path, agent: false }, (response) => resolve(response.resume().statusCode))
        request.on('error', reject).end()
      })
  }
  const statuses = async (options: object) => {
    const app = new Hono()
    app.get('/', forHono('1/1h', options), (context) => context.text('ok'))
    const get = await listen(app.fetch)
    return [await get(), await get()]
  }

  test('a text that is no address is refused, and a function that returns nothing leaves all clients one limit', async () => {
    expect(await statuses({ address: () => '' })).toEqual([403, 403])
    expect(await statuses({ connInfo: () => ({ remote: { address: 'x' } }) })).toEqual([403, 403])
    expect(await statuses({ address: () => undefined })).toEqual([200, 429])
    expect(await statuses({ connInfo: () => ({ remote: {} }) })).toEqual([200, 429])
  })
})
