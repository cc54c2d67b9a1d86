import { createServer } from 'node:http'
import Koa from 'koa'
import { expect, test } from 'vitest'
import { rateLimit as forKoa } from '../../adapters/koa.ts'
import { createGuard } from '../../src/http.ts'
import { HeadgateError } from '../../src/index.ts'
import { contract } from '../support/contract.ts'
import { get, serve } from '../support/frameworks.ts'
import { PlainResponse, plainFramework } from '../support/plain-framework.ts'

/** What a framework may read as "go on", as another command of its own, or as nothing at all. */
const notErrors = [undefined, null, false, 0, '', Number.NaN, 'route', 'router', { status: 200 }]

const throwing = (value: unknown) => (): string => {
  throw value
}
const rejecting = (value: unknown) => (): Promise<string> => Promise.reject(value)

/** Each option that is a function a request waits for. Each limit refuses the second request, if it comes so far. */
const options: Record<string, (fails: () => unknown) => object> = {
  'a key extractor': (keys) => ({ policies: '1/1h', keys }),
  skip: (skip) => ({ policies: '1/1h', skip }),
  cost: (cost) => ({ policies: '1/1h', cost }),
  policies: (policies) => ({ policies }),
  refuse: (refuse) => ({ policies: '1/1h', refuse }),
}

contract((app) => {
  test.each(Object.keys(options))(
    'whatever %s throws or rejects with, the error handler gets an Error',
    async (option) => {
      let fails: () => unknown = () => undefined
      const { url, handled } = await app(options[option]?.(() => fails()))
      if (option === 'refuse') await get(url)
      const before = handled()
      for (const value of notErrors) {
        for (const each of [throwing(value), rejecting(value)]) {
          fails = each
          for (const path of ['/', '/users/1']) {
            const { status, body } = await get(url + path)
            expect([status, body.includes('Throw an Error')], String(value)).toEqual([500, true])
          }
          expect(handled()).toBe(before)
        }
      }
    },
  )
})

test('a Koa app without error handling of its own answers 500, whatever is thrown', async () => {
  for (const value of notErrors) {
    for (const keys of [throwing(value), rejecting(value)]) {
      const app = new Koa()
      app.silent = true
      app.use(forKoa({ policies: '1/1h', keys }))
      const { url, close } = await serve(createServer(app.callback()))
      expect((await get(url)).status, String(value)).toBe(500)
      await close()
    }
  }
})

test('a Koa app answers errors whose headers cannot be changed, as without a limit', async () => {
  const coded = (status: number) => Object.assign(new Error('no'), { status, expose: true })
  const getter = () => Object.defineProperty(coded(404), 'headers', { get: () => ({ 'x-own': 'a' }) })
  const readOnly = () => Object.defineProperty(coded(404), 'headers', { value: { 'x-own': 'a' } })
  for (const make of [getter, readOnly, () => Object.preventExtensions(coded(404)), () => coded(404)]) {
    for (const derived of [false, true]) {
      const app = new Koa()
      app.silent = true
      app.use(forKoa({ policies: '9/1h', keys: () => 'ann' }))
      app.use((context) => {
        if (!derived) throw make()
        context.respond = false
        Object.create(context).onerror(make())
      })
      const { url, close } = await serve(createServer(app.callback()))
      const { status, headers } = await get(url)
      const error = make()
      expect([status, headers['x-own']]).toEqual([404, 'headers' in error ? 'a' : undefined])
      if (!('headers' in error) && Object.isExtensible(error)) expect(headers['x-ratelimit-limit']).toBe('9')
      await close()
    }
  }
})

test('a Koa app may wrap onerror behind a limit', async () => {
  const app = new Koa()
  app.silent = true
  const seen: unknown[] = []
  app.use(forKoa({ policies: '9/1h', keys: () => 'ann' }))
  app.use((context, next) => {
    const before = context.onerror
    context.onerror = (error) => {
      if (error) seen.push(error.message)
      return before.call(context, error)
    }
    return next()
  })
  app.use(() => {
    throw new Error('boom')
  })
  const { url } = await serve(createServer(app.callback()))
  const { status, headers } = await get(url)
  expect([status, headers['x-ratelimit-limit'], seen]).toEqual([500, '9', ['boom']])
})

test.each(notErrors)('%j that was thrown is the cause of an error with a code', async (value) => {
  for (const keys of [throwing(value), rejecting(value)]) {
    const guard = createGuard(plainFramework, { policies: '1/1h', keys })
    const error = await new Promise((resolve) => guard.handle({}, new PlainResponse(), resolve))
    expect(error).toBeInstanceOf(HeadgateError)
    expect(error).toMatchObject({ code: 'HEADGATE_THROWN', cause: value })
  }
})

test('an error that was thrown is handed on as it is', async () => {
  const mine = new TypeError('mine')
  for (const keys of [throwing(mine), rejecting(mine)]) {
    const guard = createGuard(plainFramework, { policies: '1/1h', keys })
    expect(await new Promise((resolve) => guard.handle({}, new PlainResponse(), resolve))).toBe(mine)
  }
})
