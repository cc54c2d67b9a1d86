import { describe, expect, onTestFinished, test, vi } from 'vitest'
import { type LambdaEvent, lambdaAddress, lambdaRequest, lambdaResult, rateLimit } from '../../adapters/fetch.ts'
import { forgetWarnings } from '../../src/common/warn.ts'
import { byIp, concurrency, fixedWindow, memoryStore } from '../../src/index.ts'
import { faultyStore } from '../../src/testing/index.ts'
import { stillStore } from '../support/contract.ts'
import fc from '../support/fast-check.ts'

/** What a client sends, as each service of AWS passes it on. */
interface Sent {
  readonly method?: string
  readonly path?: string
  readonly query?: string
  readonly fields?: readonly (readonly [string, string])[]
  readonly cookies?: readonly string[]
  readonly body?: string
  readonly base64?: boolean
}

const sourceIp = '192.0.2.1'

/** The values of each name. An own member, also for a name such as `__proto__`. */
function valuesByName(fields: readonly (readonly [string, string])[]): [string, string[]][] {
  const names = [...new Set(fields.map(([name]) => name))]
  return names.map((name) => [name, fields.filter(([each]) => each === name).map(([, value]) => value)])
}

const services: Record<string, (sent: Sent) => LambdaEvent> = {
  'a Function URL': ({ method = 'GET', path = '/', query = '', fields = [], cookies, body, base64 }) => ({
    rawPath: path,
    rawQueryString: query,
    headers: Object.fromEntries(valuesByName(fields).map(([name, values]) => [name.toLowerCase(), values.join(',')])),
    cookies,
    body,
    isBase64Encoded: base64,
    requestContext: { domainName: 'x.lambda-url.eu-west-1.on.aws', http: { method, sourceIp } },
  }),
  'an HTTP API': (sent) => ({
    ...(services['a Function URL'] as (sent: Sent) => LambdaEvent)(sent),
    requestContext: {
      domainName: 'x.execute-api.eu-west-1.amazonaws.com',
      http: { method: sent.method ?? 'GET', sourceIp },
    },
  }),
  'a REST API': ({ method = 'GET', path = '/', query = '', fields = [], cookies = [], body, base64 }) => {
    const all = valuesByName(cookies.length === 0 ? fields : [...fields, ['Cookie', cookies.join('; ')]])
    return {
      path,
      httpMethod: method,
      headers: Object.fromEntries(all.map(([name, values]) => [name, values.at(-1)])),
      multiValueHeaders: Object.fromEntries(all),
      multiValueQueryStringParameters: Object.fromEntries(valuesByName([...new URLSearchParams(query)])),
      body: body ?? null,
      isBase64Encoded: base64 ?? false,
      requestContext: { domainName: 'api.example', identity: { sourceIp } },
    }
  },
  'a load balancer': ({ method = 'GET', path = '/', fields = [], cookies = [], body = '', base64 }) => ({
    path,
    httpMethod: method,
    headers: Object.fromEntries([
      ...valuesByName([...fields, ['cookie', cookies.join('; ')]]).map(([name, values]) => [name, values.at(-1)]),
      ['x-forwarded-for', sourceIp],
    ]),
    body,
    isBase64Encoded: base64 ?? false,
    requestContext: {},
  }),
}

/** How an event tells whose it is. */
const byEvent = { address: (_request: Request, event: LambdaEvent) => lambdaAddress(event) }
const byField = { keys: byIp({ platform: 'aws-alb', warn: false }) }

/** A limiter of one event an hour, and a handler behind it that sends the body back. */
function start(service: string, policies = fixedWindow({ limit: 1, window: '1h' })) {
  const handler = vi.fn(async (request: Request, _event: LambdaEvent) => new Response(await request.text()))
  const options = { policies, store: stillStore().store }
  const limit = rateLimit<LambdaEvent>(options, service === 'a load balancer' ? byField : byEvent)
  const limited = limit.wrap(handler)
  const call = async (event: LambdaEvent) => lambdaResult(await limited(lambdaRequest(event), event), event)
  const byHand = async (event: LambdaEvent) => {
    const result = await limit(lambdaRequest(event), event)
    return result.response ? lambdaResult(result.response, event) : { statusCode: 200, headers: result.headers }
  }
  return { handler, limit, call, byHand }
}

const wide = 'caf\u0113 \u{1f600}'

/** Valid requests, with something that a Request cannot hold. */
const held: [string, Sent][] = [
  ['nothing odd', {}],
  ['a value beyond Latin-1', { fields: [['x-a', wide]] }],
  ['NUL in a value', { fields: [['x-a', 'a\0b']] }],
  ['a line break in a value', { fields: [['x-a', 'a\r\nx-b: c']] }],
  ['a line feed in a value', { fields: [['x-a', 'a\nb']] }],
  ['half of a pair in a value', { fields: [['x-a', '\ud800']] }],
  ['a control character in a value', { fields: [['x-a', 'a\x01b']] }],
  ['an empty name', { fields: [['', 'a']] }],
  ['a name with a space', { fields: [['x a', 'a']] }],
  ['a name with a colon', { fields: [[':path', '/']] }],
  ['a name beyond ASCII', { fields: [['x-ä', 'a']] }],
  ['a name with a line break', { fields: [['x-a\r\nx-b', 'a']] }],
  ['the name __proto__', { fields: [['__proto__', 'a']] }],
  ['the name constructor', { fields: [['constructor', 'a']] }],
  ['the same name twice, one beyond Latin-1', { fields: [['x-a', 'a'], ['x-a', wide]] }], // biome-ignore format: one line a shape
  ['names in capitals and small letters', { fields: [['X-A', 'a'], ['x-a', 'b']] }], // biome-ignore format: one line a shape
  ['a cookie beyond Latin-1', { cookies: ['a=1', `b=${wide}`] }],
  ['a cookie with a line break', { cookies: ['a=1\r\nx: y'] }],
  ['an empty cookie', { cookies: [''] }],
  ['a user in Host', { fields: [['Host', 'a:b@x']] }],
  ['a path in Host', { fields: [['Host', 'x/y?z#h']] }],
  ['a space in Host', { fields: [['Host', 'a b']] }],
  ['an empty Host', { fields: [['Host', '']] }],
  ['Host beyond Latin-1', { fields: [['Host', wide]] }],
  ['brackets in Host', { fields: [['Host', '[::1']] }],
  ['a wrong port in Host', { fields: [['Host', 'x:99999']] }],
  ['two Hosts', { fields: [['Host', 'x'], ['Host', 'y']] }], // biome-ignore format: one line a shape
  ['two slashes', { path: '//evil/x' }],
  ['a whole URL as path', { path: 'https://a:b@evil/' }],
  ['a path beyond ASCII', { path: `/${wide}\ud800` }],
  ['a wrong escape in the path', { path: '/%zz%' }],
  ['an empty path', { path: '' }],
  ['a line break in the path', { path: '/a\r\nb' }],
  ['the path *', { method: 'OPTIONS', path: '*' }],
  ['a wrong escape in the query', { query: '%zz&%&=&a=%ff' }],
  ['a query beyond ASCII', { query: `?#${wide}\ud800` }],
  ['a method of small letters', { method: 'get', body: 'a' }],
  ['HEAD with a body', { method: 'HEAD', body: 'a' }],
  ['an unknown method', { method: 'PROPFIND', body: 'a' }],
  ['a body beyond Latin-1', { method: 'POST', body: `${wide}\ud800` }],
  ['an empty body of base64', { method: 'POST', body: '', base64: true }],
  ['base64 without padding', { method: 'POST', body: 'YQ', base64: true }],
  ['GET with bad base64', { method: 'GET', body: '!', base64: true }],
  ['a wrong length', { method: 'POST', body: 'a', fields: [['content-length', '-5']] }],
  ['transfer-encoding', { method: 'POST', body: 'a', fields: [['transfer-encoding', 'x']] }],
  ['a wrong content type', { method: 'POST', body: 'a', fields: [['content-type', `multipart/${wide}`]] }],
  ['a very long value', { fields: [['x-a', 'a'.repeat(100_000)]] }],
]

/** What no Request can be. */
const invalid: [string, Sent][] = [
  ['TRACE', { method: 'TRACE' }],
  ['trace', { method: 'trace' }],
  ['TRACK', { method: 'TRACK' }],
  ['CONNECT', { method: 'CONNECT', path: 'x:443' }],
  ['CONNECT with a body', { method: 'CONNECT', body: 'a' }],
  ['an empty method', { method: '' }],
  ['a method with a space', { method: 'GET /' }],
  ['a method beyond Latin-1', { method: 'GÉT\u0113' }],
  ['bad base64', { method: 'POST', body: '!!!', base64: true }],
  ['base64 of the wrong length', { method: 'POST', body: 'YWJjZ', base64: true }],
  ['base64 beyond Latin-1', { method: 'PUT', body: wide, base64: true }],
]

describe.each(Object.entries(services))('an event of %s', (service, eventOf) => {
  test.each(held)('counts and reaches the handler: %s', async (_what, sent) => {
    const { handler, limit, call, byHand } = start(service)
    const event = eventOf(sent)
    expect(await call(event)).toMatchObject({ statusCode: 200, headers: { 'x-ratelimit-remaining': '0' } })
    expect(await limit.limiter.peek(sourceIp)).toMatchObject({ allowed: false })
    expect([(await call(event)).statusCode, (await byHand(event)).statusCode]).toEqual([429, 429])
    expect(handler).toHaveBeenCalledTimes(1)
  })

  test.each(invalid)('counts and is answered with 400: %s', async (_what, sent) => {
    const event = eventOf(sent)
    for (const way of ['call', 'byHand'] as const) {
      const { handler, limit, [way]: call } = start(service)
      expect(await call(event)).toMatchObject({
        statusCode: 400,
        headers: { 'x-ratelimit-remaining': '0' },
        body: '',
      })
      expect(await limit.limiter.peek(sourceIp)).toMatchObject({ allowed: false })
      expect((await call(event)).statusCode).toBe(429)
      expect(handler).not.toHaveBeenCalled()
    }
  })

  test('frees its unit in flight when it is answered with 400', async () => {
    const { call, byHand, limit } = start(service, concurrency({ limit: 1 }))
    const event = eventOf({ method: 'TRACE' })
    for (let n = 0; n < 3; n++) {
      expect([(await call(event)).statusCode, (await byHand(event)).statusCode]).toEqual([400, 400])
    }
    expect(await limit.limiter.peek(sourceIp)).toMatchObject({ remaining: 1 })
  })

  test('with any text gives a status, never an error', async () => {
    const text = fc.string({ unit: 'binary', maxLength: 12 })
    const sometimes = <T>(odd: fc.Arbitrary<T>, ...usual: T[]) => fc.oneof(odd, fc.constantFrom(...usual))
    const sent = fc.record({
      method: sometimes(text, 'GET', 'POST', 'TRACE', 'CONNECT', 'HEAD'),
      path: text,
      query: text,
      fields: fc.array(fc.tuple(sometimes(text, 'host', 'Host', 'cookie', 'x-forwarded-for'), text), { maxLength: 4 }),
      cookies: fc.array(text, { maxLength: 3 }),
      body: text,
      base64: fc.boolean(),
    })
    const { call, byHand } = start(service, fixedWindow({ limit: 1_000_000, window: '1h' }))
    await fc.assert(
      fc.asyncProperty(sent, async (each) => {
        expect([200, 400]).toContain((await call(eventOf(each))).statusCode)
        expect([200, 400]).toContain((await byHand(eventOf(each))).statusCode)
      }),
      { numRuns: 500 },
    )
  })
})

describe('a Request of an event', () => {
  const { 'a Function URL': functionUrl, 'a REST API': restApi } = services as Record<
    'a Function URL' | 'a REST API',
    (sent: Sent) => LambdaEvent
  >

  test('keeps what it can hold', () => {
    const event = functionUrl({ fields: [['x-bad', wide], ['x-good', 'caf\u00e9']], cookies: ['a=1', `b=${wide}`, 'c=3'] }) // biome-ignore format: one event
    const { headers } = lambdaRequest(event)
    expect([...headers]).toEqual([
      ['cookie', 'a=1; c=3'],
      ['x-good', 'caf\u00e9'],
    ])
  })

  test('keeps the valid values of a name that also has an invalid one', () => {
    const { headers } = lambdaRequest(restApi({ fields: [['x-a', 'a'], ['x-a', wide], ['x-a', 'b']] })) // biome-ignore format: one event
    expect(headers.get('x-a')).toBe('a, b')
  })

  test.each([
    ['api.example', 'api.example'],
    ['api.example:8443', 'api.example:8443'],
    ['[2001:db8::1]:8443', '[2001:db8::1]:8443'],
    ['a:b@x', 'x.lambda-url.eu-west-1.on.aws'],
    ['x/y', 'x.lambda-url.eu-west-1.on.aws'],
    ['x?y', 'x.lambda-url.eu-west-1.on.aws'],
    ['x#y', 'x.lambda-url.eu-west-1.on.aws'],
    ['a b', 'x.lambda-url.eu-west-1.on.aws'],
  ])('with Host %s is of %s', (host, expected) => {
    expect(new URL(lambdaRequest(functionUrl({ fields: [['host', host]], path: '/p' })).url).host).toBe(expected)
  })
})

describe('a payload that is no request', () => {
  test.each([
    null,
    undefined,
    5,
    'text',
    [],
    {},
    { headers: null, requestContext: null, rawPath: 5, body: 5, cookies: 5 },
    { rawPath: { toString: 5 }, rawQueryString: { toString: 5 } },
    {
      httpMethod: { toString: 5 },
      body: 'x',
      rawQueryString: null,
      requestContext: { http: { sourceIp: { toString: 5 } } },
    },
    { path: { toString: 5 }, multiValueQueryStringParameters: { a: [{ toString: 5 }] } },
  ])('%j has no address, and is no error', async (payload) => {
    const { call, byHand, handler } = start('a Function URL')
    const event = payload as unknown as LambdaEvent
    expect([(await call(event)).statusCode, (await byHand(event)).statusCode]).toEqual([403, 403])
    expect(lambdaRequest(event).method).toBe('GET')
    expect(handler).not.toHaveBeenCalled()
  })
})

describe('a body', () => {
  const [letters, bytes] = [new TextEncoder().encode('\ufeffcafé'), Uint8Array.of(0, 255, 254, 233)]
  test.each([
    ['bytes without a type', new Response(bytes), bytes],
    [
      'bytes that are called text',
      new Response(bytes, { headers: { 'content-type': 'text/plain; charset=latin1' } }),
      bytes,
    ],
    ['bytes of a binary type', new Response(letters, { headers: { 'content-type': 'image/png' } }), letters],
    ['a text without a type', new Response(letters), '\ufeffcafé'],
    ['a text', new Response('\ufeffcafé'), '\ufeffcafé'],
    ['nothing', new Response(null), ''],
  ])('reaches the client unchanged: %s', async (_what, response, sent) => {
    const { body, isBase64Encoded } = await lambdaResult(response)
    expect([body, isBase64Encoded]).toEqual(
      typeof sent === 'string' ? [sent, false] : [Buffer.from(sent).toString('base64'), true],
    )
  })
})

test('a body that breaks rejects only after the store knows of the end', async () => {
  const store = faultyStore(memoryStore())
  const limit = rateLimit({ policies: ['9/1h', '2 at once'], keys: () => 'k', store })
  const broken = () => new ReadableStream({ pull: () => Promise.reject(new Error('broken on purpose')) })
  const limited = limit.wrap(() => new Response(broken()))
  const response = await limited(lambdaRequest({}))
  store.fail({ kind: 'delay', by: '30ms' })
  await expect(lambdaResult(response)).rejects.toThrow('on purpose')
  store.heal()
  expect((await limit.limiter.peek('k')).policies.map(({ used }) => used)).toEqual([1, 0])
})

test('a count that never answers does not keep a result for ever, and no later one', async () => {
  let calls = 0
  const count = () => (calls++ === 0 ? new Promise<boolean>(() => {}) : false)
  const limit = rateLimit({ policies: '9/1h', keys: () => 'k', count })
  const limited = limit.wrap(() => new Response('hello'))
  for (let n = 0; n < 3; n++) expect((await lambdaResult(await limited(lambdaRequest({})))).statusCode).toBe(200)
  expect((await limit.limiter.peek('k')).policies[0]?.used).toBe(1)
})

test("the platform 'aws-lambda' with the address of the event gives no warning, and one for a forged field", async () => {
  forgetWarnings()
  const warned = vi.spyOn(process, 'emitWarning').mockImplementation(() => undefined)
  onTestFinished(() => {
    warned.mockRestore()
    forgetWarnings()
  })
  const limit = rateLimit<LambdaEvent>({ policies: '9/1h', keys: byIp({ platform: 'aws-lambda' }) }, byEvent)
  const eventOf = services['an HTTP API'] as (sent: Sent) => LambdaEvent
  for (const field of [sourceIp, `203.0.113.7, ${sourceIp}`, `${sourceIp}, 10.0.0.1`]) {
    const event = eventOf({ fields: [['x-forwarded-for', field]] })
    await limit(lambdaRequest(event), event)
  }
  expect([await limit.limiter.peek(sourceIp), warned.mock.calls]).toMatchObject([{ remaining: 6 }, []])
  const forged = eventOf({ fields: [['x-forwarded-for', '203.0.113.7']] })
  await limit(lambdaRequest(forged), forged)
  expect([await limit.limiter.peek(sourceIp), warned.mock.calls.length]).toMatchObject([{ remaining: 5 }, 1])
})
