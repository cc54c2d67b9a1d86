import express from 'express'
import { parseList } from 'structured-headers'
import request from 'supertest'
import { expect, test, vi } from 'vitest'
import { expressFramework } from '../../adapters/express.ts'
import { fastifyFramework } from '../../adapters/fastify/index.ts'
import { koaFramework } from '../../adapters/koa.ts'
import { withLimiterParts } from '../../src/http/index.ts'
import { createGuard, type Guard } from '../../src/http.ts'
import {
  addressKey,
  fixedWindow,
  type Policy,
  type PolicyOptions,
  type RateLimitArgument,
  RateLimiter,
  slidingLog,
  tokenBucket,
} from '../../src/index.ts'
import { stillStore } from '../support/contract.ts'
import fc from '../support/fast-check.ts'
import { type PlainRequest, PlainResponse, plainFramework } from '../support/plain-framework.ts'

type PlainArgument = RateLimitArgument<PlainRequest, PlainResponse>
type PlainGuard = Guard<PlainRequest, PlainResponse>

/** Sends a request through the guard; the framework's handler answers 200. */
function send(guard: PlainGuard, request: PlainRequest = { address: '192.0.2.1' }): PlainResponse {
  const response = new PlainResponse()
  guard.handle(request, response, (error) => {
    if (error !== undefined) response.statusCode = 500
    response.end('handled')
  })
  return response
}

test('an adapter is a table of functions and a call of the guard', () => {
  const guard = createGuard(plainFramework, { policies: '1/1h fixed-window', store: stillStore().store })
  const request: PlainRequest = { address: '192.0.2.1' }
  expect(send(guard, request)).toMatchObject({ statusCode: 200, body: 'handled' })
  expect(request.decision).toMatchObject({ allowed: true, remaining: 0 })
  const refused = send(guard)
  expect(refused).toMatchObject({ statusCode: 429, headers: { 'Retry-After': '3600', 'X-RateLimit-Remaining': '0' } })
})

test('an adapter may choose defaults that the argument overrides', () => {
  const guard = createGuard(
    plainFramework,
    { policies: '9/1m', store: stillStore().store, headers: 'draft-7' },
    { headers: false, cost: 3 },
  )
  expect(send(guard).headers.RateLimit).toBe('limit=9, remaining=6, reset=120')
  expect(guard.inherited).toMatchObject({ headers: 'draft-7' })
})

test('an argument gets parts for its limiter, unless it has its own, and its guard options can be read', () => {
  const { store } = stillStore()
  const parts = { name: 'place', store }
  const named = (argument: PlainArgument) => {
    const guard = createGuard(plainFramework, withLimiterParts(argument, parts))
    return guard.limiter instanceof RateLimiter
      ? [guard.limiter.name, guard.limiter.policies.map(({ name }) => name)]
      : []
  }
  expect(named('5/1m')).toEqual(['place', ['1m']])
  const own = {
    limit: 5,
    window: '1m',
    name: 'quick',
    enforce: 0,
    keys: () => 'k',
    store: stillStore().store,
  } as const
  expect(named(own)).toEqual(['place', ['quick']])
  const optionsOf = (argument: RateLimitArgument<never, never>, defaults: object) =>
    createGuard(plainFramework as never, argument, defaults).options
  expect(optionsOf(withLimiterParts(own, { ...parts, name: 'other' }) as never, { headers: false })).toEqual({
    headers: false,
    enforce: 0,
    keys: own.keys,
  })
  expect(named({ policies: ['5/1m', '9/1h'], name: 'mine' })).toEqual(['mine', ['1m', '1h']])
  const limiter = new RateLimiter({ policies: '5/1m' })
  for (const given of [limiter, { limiter, cost: 2 }]) expect(withLimiterParts(given, parts)).toBe(given)
  expect(optionsOf(limiter, { cost: 2 })).toEqual({ cost: 2 })
  for (const wrong of [undefined, null, 5]) expect(() => named(wrong as never)).toThrow('rateLimit takes a policy')
})

test('check returns at once if nothing has to wait, and else a promise', async () => {
  const synchronous = createGuard(plainFramework, '1/1h')
  expect(synchronous.check({ address: '::1' }, new PlainResponse())).toBe(true)
  expect(synchronous.check({ address: '::1' }, new PlainResponse())).toBe(false)
  const later = createGuard(plainFramework, { limit: 1, window: '1h', keys: async () => 'k' })
  expect(await later.check({}, new PlainResponse())).toBe(true)
})

test('each adapter exports its table, to build a middleware of your own', async () => {
  const app = express()
  const guard = createGuard(expressFramework, { limit: 1, window: '1h' })
  app.use(async (request, response, next) => {
    if (await guard.check(request, response)) next()
  })
  app.get('/', (_request, response) => void response.send('handled'))
  await request(app).get('/').expect(200, 'handled')
  await request(app).get('/').expect(429)
  expect([koaFramework, fastifyFramework].map(({ route }) => typeof route)).toEqual(['function', 'function'])
})

test('an error reaches the callback, also one that is undefined', async () => {
  const next = vi.fn()
  const failing = [new Error('no key'), undefined].flatMap((error) => [
    () => {
      throw error
    },
    () => Promise.reject(error),
  ])
  for (const keys of failing) createGuard(plainFramework, '1/1h', { keys }).handle({}, new PlainResponse(), next)
  await vi.waitFor(() => expect(next).toHaveBeenCalledTimes(4))
  const messages = next.mock.calls.map(([error]) => error.message).sort()
  expect(messages).toEqual([
    expect.stringContaining('threw undefined'),
    expect.stringContaining('threw undefined'),
    'no key',
    'no key',
  ])
})

test('addressKey gives one key for every form of an address', () => {
  expect(addressKey('::ffff:192.0.2.1', 56)).toBe('192.0.2.1')
  expect(addressKey('2001:db8:1:2ff::1', 64)).toBe('2001:db8:1:2ff::/64')
})

/** Parses a field as any reader of Structured Fields would: by a library that knows nothing of this package. */
function parsed(field: string | undefined): unknown {
  return parseList(field as string).map(([name, parameters]) => ({ name, ...Object.fromEntries(parameters) }))
}

const name = fc.string({
  unit: fc.integer({ min: 0x20, max: 0x7e }).map((code) => String.fromCharCode(code)),
  minLength: 1,
})
const policy = fc.record({
  make: fc.constantFrom<(options: PolicyOptions) => Policy>(fixedWindow, slidingLog, tokenBucket),
  name,
  limit: fc.integer({ min: 1, max: 1000 }),
  window: fc.integer({ min: 1, max: 86_400_000 }),
})

test('the fields of draft-8 and draft-11 are valid Structured Fields, whatever the policies are named', () => {
  const policies = fc.uniqueArray(policy, { minLength: 1, maxLength: 4, selector: ({ name }) => name })
  fc.assert(
    fc.property(policies, fc.constantFrom('draft-8', 'draft-11'), fc.boolean(), (all, dialects, keyed) => {
      const headers = { dialects, ...(keyed && { pk: { salt: 'a secret of ours' } }) } as const
      const made = all.map(({ make, ...options }) => make(options))
      const request: PlainRequest = { address: '192.0.2.1' }
      const fields = send(
        createGuard(plainFramework, { policies: made, headers, store: stillStore().store }),
        request,
      ).headers
      const pk = keyed ? { pk: expect.any(ArrayBuffer) } : {}
      expect(parsed(fields['RateLimit-Policy'])).toEqual(
        made.map(({ name, limit, window }) => ({ name, q: limit, w: Math.ceil(window / 1000), ...pk })),
      )
      const verdicts = request.decision?.policies ?? []
      expect(parsed(fields.RateLimit)).toMatchObject(
        verdicts.map(({ name, remaining }) => ({ name, r: remaining, ...pk })),
      )
    }),
    { numRuns: 300 },
  )
})
