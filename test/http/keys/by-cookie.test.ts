import { IncomingMessage, ServerResponse } from 'node:http'
import { createRequire } from 'node:module'
import { Socket } from 'node:net'
import { RequestCookies } from '@edge-runtime/cookies'
import { parse } from 'cookie'
import { Context } from 'hono'
import { getCookie } from 'hono/cookie'
import Koa from 'koa'
import { describe, expect, test } from 'vitest'
import { expressFramework } from '../../../adapters/express.ts'
import { honoFramework } from '../../../adapters/hono-framework.ts'
import { koaFramework } from '../../../adapters/koa.ts'
import { fetchFramework } from '../../../adapters/web/index.ts'
import { byCookie } from '../../../src/index.ts'
import { contract, statuses } from '../../support/contract.ts'
import { rounds } from '../../support/depth.ts'
import { type Random, seededRandom } from '../../support/seeded-random.ts'

const limit = { limit: 5, window: '1h', keys: byCookie('session') }

contract((app) => {
  test.each([
    ['a name that only looks the same', (n: number) => `\xa0session=junk${n}; session=VALID`],
    ['a piece without a value', (n: number) => `session${n}; session=VALID`],
    ['a name that begins the same', (n: number) => `session${'x'.repeat(n + 1)}=junk${n}; session=VALID`],
    ['other cookies', (n: number) => `a=${n}; session=VALID; session=junk${n}`],
    ['quotes', (n: number) => (n % 2 === 0 ? 'session="VALID"' : 'session=VALID')],
    ['separators without a cookie', (n: number) => `${';'.repeat(n)} session=VALID`],
  ])('one session has one quota, whatever the header holds: %s', async (_what, cookie) => {
    const { url } = await app(limit)
    const all = await statuses(
      url,
      Array.from({ length: 50 }, (_, n) => ({ cookie: cookie(n) })),
    )
    expect(all.filter((status) => status === 200)).toHaveLength(5)
  })
})

/** Builds a Cookie header out of what parsers disagree about. */
function hostileHeader(random: Random): string {
  // biome-ignore format: a list of letters
  const pieces = [
    'session', 'session', 'session', '=', '=', '=', ';', ';', '; ', ' ', '\t', '\xa0', '\xff', '"', '"', '%41', '%', '%2', '%22', '%zz',
    'VALID', 'A', '__proto__', 'sessionX', 'Session', ',', '\\', '$Version=1', '\x0b', '\x7f', '==', ' session = A', '\tsession=A', '"A";',
  ]
  let header = ''
  for (let n = random(14); n >= 0; n--) header += pieces[random(pieces.length)]
  return header
}

const headers = (() => {
  const random = seededRandom(15)
  return Array.from({ length: rounds(5000, 100_000) }, () => hostileHeader(random))
})()

/** What applications read: the package of Express 4 and 5, that of SvelteKit, the newest one, and Koa's own. */
const express = createRequire(import.meta.resolve('express'))('cookie') as { parse: typeof parse }
const { parse: parseInSvelteKit } = createRequire(import.meta.url)('cookie-of-sveltekit') as { parse: typeof parse }
const koa = new Koa()

function koaContext(cookie: string): Koa.Context {
  const request = new IncomingMessage(new Socket())
  request.headers.cookie = cookie
  return koa.createContext(request, new ServerResponse(request))
}

function honoContext(cookie: string): Context {
  return new Context(new Request('http://a', { headers: { cookie: sendable(cookie) } }))
}

/** A NextRequest has these cookies. */
function nextRequest(cookie: string): Request & { readonly cookies: RequestCookies } {
  const request = new Request('http://a', { headers: { cookie: sendable(cookie) } })
  return Object.assign(request, { cookies: new RequestCookies(request.headers) })
}

/** The context of a fetch handler of SvelteKit. */
function svelteKitEvent(header: string): { cookies: { get(name: string): string | undefined } } {
  return { cookies: { get: (name) => parseInSvelteKit(header)[name] } }
}

/** Without the characters that a header field cannot have. */
const sendable = (header: string) => header.replaceAll('\x0b', '').replaceAll('\x7f', '')

const key = byCookie('session')
const readers: Record<string, { read: (header: string) => string | undefined; key: (header: string) => unknown }> = {
  'getCookie of Hono': {
    read: (header) => getCookie(honoContext(header), 'session'),
    key: (header) => key(honoContext(header), honoFramework() as never),
  },
  'cookies of a NextRequest': {
    read: (header) => nextRequest(header).cookies.get('session')?.value,
    key: (header) => key({ request: nextRequest(header) }, fetchFramework() as never),
  },
  'cookies of an event of SvelteKit': {
    read: (header) => parseInSvelteKit(header).session,
    key: (header) =>
      key({ request: new Request('http://a'), context: svelteKitEvent(header) }, fetchFramework() as never),
  },
  'cookies of Koa': {
    read: (header) => koaContext(header).cookies.get('session'),
    key: (header) => key(koaContext(header), koaFramework as never),
  },
}

// cookie-parser makes one text of many spellings.
test('with cookie-parser, the key is what it has read: also of JSON and of a signed cookie', () => {
  const cookieParser = createRequire(import.meta.url)('cookie-parser') as (
    secret: string,
  ) => (...args: unknown[]) => void
  const { sign } = createRequire(import.meta.resolve('cookie-parser'))('cookie-signature') as {
    sign(value: string, secret: string): string
  }
  const sent = (session: string) => {
    const request = { headers: { cookie: `session=${session}` } }
    cookieParser('secret')(request, {}, () => undefined)
    return key(request, expressFramework as never)
  }
  expect(['VALID', 'j:"VALID"', 'j:%20"VALID"', 'j:"V\\u0041LID"'].map(sent)).toEqual(Array(4).fill('VALID'))
  expect(sent(encodeURIComponent(`s:${sign('VALID', 'secret')}`))).toBe('VALID')
  expect(sent(encodeURIComponent('s:VALID.forged'))).toBeUndefined()
  expect(sent('j:{"a":1}')).toBeUndefined()
  expect(['42', 'j:42', 'j:["42"]'].map(sent)).toEqual(['42', '42', '42'])
  const odd = ['j:[{"toString":1,"valueOf":1}]', `j:${'['.repeat(7000)}${']'.repeat(7000)}`, 'j:true']
  expect(odd.map(sent)).toEqual([undefined, undefined, undefined])
})

test('in another fetch handler, a cookie that was sent twice is no cookie, because applications read one or the other', () => {
  const sent = (cookie: string) =>
    key({ request: new Request('http://a', { headers: { cookie } }) }, fetchFramework() as never)
  expect(sent('a=1; session=VALID')).toBe('VALID')
  expect(sent('session=VALID; sessions=2')).toBe('VALID')
  for (const twice of [
    'session=1; session=2',
    'session =1;session=2',
    '\xa0session=1; session=2',
    'session=2; session=',
  ]) {
    expect(sent(twice)).toBeUndefined()
  }
  // Elysia decodes the value of a cookie once more.
  expect(['session=%56ALID', 'session=100%25'].map(sent)).toEqual(['VALID', '100%'])
  expect(['session=%2556ALID', 'session=VALI%2544', 'session=%25ff'].map(sent)).toEqual([
    undefined,
    undefined,
    undefined,
  ])
})

test.each<[string, (header: string) => unknown]>([
  ['Express', (cookie) => key({ headers: { cookie } }, expressFramework as never)],
  [
    'another fetch handler',
    (cookie) => key({ request: new Request('http://a', { headers: { cookie } }) }, fetchFramework() as never),
  ],
])('in %s, a cookie is what each package reads, or no cookie', (_name, keyOf) => {
  const more = ['session="VALIDx', 'session=VALID\xa0', 'session=\xa0"VALID"', 'session="', '\xa0session=1; session=2']
  let found = 0
  for (const header of [...headers, ...more].map(sendable)) {
    const own = keyOf(header)
    if (!own) continue
    found++
    const read = [parse, express.parse, parseInSvelteKit].map((each) => withoutQuotes(each(header).session))
    if (read.some((each) => each !== own)) expect({ header, read }).toEqual({ header, read: [own, own, own] })
  }
  expect(found).toBeGreaterThan(headers.length / 100)
})

/** The quotes around a value are no part of it: some readers remove them, and others do not. */
const withoutQuotes = (value: string | undefined) => value?.replace(/^"+|"+$/g, '')

describe.each(Object.entries(readers))('%s', (_name, reader) => {
  test('the key is what the application reads, for any hostile headers', () => {
    let found = 0
    for (const header of headers) {
      const read = reader.read(header)
      if (read) found++
      if (reader.key(header) !== withoutQuotes(read)) {
        expect({ header, key: reader.key(header) }).toEqual({ header, key: withoutQuotes(read) })
      }
    }
    expect(found).toBeGreaterThan(headers.length / 100)
  })
})

test('a header of nothing but quotes takes no time', () => {
  const started = process.hrtime.bigint()
  const cookie = `session=${'"'.repeat(1_000_000)}x${'"'.repeat(1_000_000)}`
  expect(key({ headers: { cookie } }, expressFramework as never)).toBe('x')
  expect(Number(process.hrtime.bigint() - started) / 1e6).toBeLessThan(1000)
})

test('a cookie that is named like a member of every object is not found in a request without it', () => {
  for (const name of ['__proto__', 'constructor', 'toString']) {
    expect(byCookie(name)({ headers: { cookie: 'a=b' } }, expressFramework as never)).toBeUndefined()
    expect(byCookie(name)({ headers: { cookie: `${name}=b` } }, expressFramework as never)).toBe('b')
  }
})
