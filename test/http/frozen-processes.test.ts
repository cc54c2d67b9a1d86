import { describe, expect, onTestFinished, test, vi } from 'vitest'
import { lambdaRequest, lambdaResult, rateLimit } from '../../adapters/fetch.ts'
import { concurrency, fixedWindow, RateLimiter } from '../../src/index.ts'
import { MapDatabase } from '../support/map-store.ts'

/* Platforms that freeze a process after the response: the store knows before that the request has ended. */

/** A limit, and what its store knew when the platform froze the process. */
function limited() {
  const policies = [fixedWindow({ name: 'hour', limit: 9, window: '1h' }), concurrency({ name: 'busy', limit: 9 })]
  const [database, frozen] = [new MapDatabase(), new MapDatabase()]
  const limit = rateLimit({ name: 'api', policies, store: database.store(), keys: () => 'k', count: 'failures' })
  const used = async () => {
    for (const [key, row] of database.texts) frozen.texts.set(key, row)
    const limiter = new RateLimiter({ name: 'api', policies, store: frozen.store() })
    return (await limiter.peek('k')).policies.map((policy) => policy.used)
  }
  return { limit, used }
}

describe('the result of AWS Lambda comes after the store knows the end', () => {
  test.each([
    ['a text', () => new Response('hello'), [0, 0]],
    ['nothing', () => new Response(null, { status: 204 }), [0, 0]],
    ['a failure', () => new Response('no', { status: 401 }), [1, 0]],
  ])('a Response: %s', async (_what, respond, used) => {
    const { limit, used: seen } = limited()
    await lambdaResult(await limit.wrap(respond)(lambdaRequest({})))
    expect(await seen()).toEqual(used)
  })

  test('an error of the handler', async () => {
    const { limit, used } = limited()
    const failing = limit.wrap(() => {
      throw new Error('no')
    })
    await expect(failing(lambdaRequest({}))).rejects.toThrow('no')
    expect(await used()).toEqual([1, 0])
  })

  test('a result of its own, after the end', async () => {
    const { limit, used } = limited()
    const { end } = await limit(lambdaRequest({}))
    await end(200)
    expect(await used()).toEqual([0, 0])
  })
})

describe.each([
  ['Next.js', Symbol.for('@next/request-context')],
  ['Vercel', Symbol.for('@vercel/request-context')],
  ['Netlify', 'Netlify'],
])('a function of %s', (_host, name) => {
  const globals = globalThis as unknown as Record<PropertyKey, unknown>
  function host(waitUntil: (work: Promise<unknown>) => void) {
    onTestFinished(() => void delete globals[name])
    globals[name] = { get: () => ({ waitUntil }), context: { waitUntil } }
  }

  test('lives until the store knows that a request has ended', async () => {
    const kept: Promise<unknown>[] = []
    host((work) => kept.push(work))
    const { limit, used } = limited()
    await (await limit.wrap(() => new Response('hello'))(new Request('http://x/'))).text()
    await Promise.all(kept)
    expect(await used()).toEqual([0, 0])
  })

  test('that takes no more work does no harm', async () => {
    host(() => {
      throw new Error('the request has ended')
    })
    const limit = rateLimit({ policies: '9/1h', keys: () => 'k', count: 'failures' })
    expect(await (await limit.wrap(() => new Response('hello'))(new Request('http://x/'))).text()).toBe('hello')
    await vi.waitFor(async () => expect((await limit.limiter.peek('k')).remaining).toBe(9))
  })
})
