import { request as send } from 'node:http'
import { expect, test } from 'vitest'
import {
  byHeader,
  byIp,
  byRoute,
  combine,
  fixedWindow,
  memoryStore,
  RateLimiter,
  type Store,
  slidingWindow,
  tokenBucket,
} from '../../src/index.ts'
import { ManualClock } from '../../src/testing/index.ts'
import { asyncStore } from '../support/async-store.ts'
import { contract, midnight, statuses } from '../support/contract.ts'
import { get } from '../support/frameworks.ts'
import { queryOf, respond } from '../support/shapes.ts'

contract((app, lacks) => {
  test('a client is admitted, refused with true headers, and admitted at Retry-After', async () => {
    const clock = new ManualClock(midnight)
    const store = memoryStore({ clock: clock.now })
    const { url, handled, decision } = await app({ policies: fixedWindow({ limit: 2, window: '1m' }), store })
    const seen = async () => {
      const { status, headers } = await get(url)
      const fields = ['limit', 'remaining', 'reset'].map((field) => headers[`x-ratelimit-${field}`])
      return [clock.milliseconds - midnight, status, ...fields, headers['retry-after'] ?? '-'].join(' ')
    }
    const end = String(midnight / 1000 + 60)
    const timeline = [await seen()]
    clock.advance('10s')
    timeline.push(await seen(), await seen())
    expect(decision()).toMatchObject({ allowed: true, remaining: 0, resetAfter: 50_000, policy: '1m', source: 'store' })
    clock.advance(49_999)
    timeline.push(await seen())
    clock.advance(1)
    timeline.push(await seen())
    expect(timeline).toEqual([
      `0 200 2 1 ${end} -`,
      `10000 200 2 0 ${end} -`,
      `10000 429 2 0 ${end} 50`,
      `59999 429 2 0 ${end} 1`,
      `60000 200 2 1 ${Number(end) + 60} -`,
    ])
    expect(handled()).toBe(3)
  })

  test('rateLimit takes a string, { limit, window }, policies, or a limiter', async () => {
    const forms = [
      '1/1m',
      { limit: 1, window: '1m' },
      { policies: ['1/1m', tokenBucket({ name: 'burst', limit: 1, window: '1m' })] },
      new RateLimiter({ policies: '1/1m' }),
      { limiter: new RateLimiter({ policies: '1/1m' }), headers: false },
    ]
    for (const form of forms) {
      const { url } = await app(form)
      expect(await statuses(url, [{}, {}])).toEqual([200, 429])
    }
  })

  test('a refusal is plain text or JSON, as the client accepts, and is not cached', async () => {
    const { url } = await app('1/1h fixed-window')
    await get(url)
    const plain = await get(url)
    expect(plain.headers['content-type']).toBe('text/plain; charset=utf-8')
    expect(plain.headers['cache-control']).toBe('no-store')
    expect(plain.body).toMatch(/^Too many requests\. Try again in \d+ seconds?\.\n$/)
    const parameters = ['application/json; charset=utf-8', 'application/json;odata=verbose;q=0.9, text/plain; q = 0.1']
    for (const accept of ['application/json', 'text/plain;q=0.5, application/json', 'application/*', ...parameters]) {
      const json = await get(url, { accept })
      expect(json.headers['content-type']).toBe('application/json; charset=utf-8')
      const retryAfter = Number(json.headers['retry-after'])
      expect(JSON.parse(json.body)).toMatchObject({ error: 'too_many_requests', policy: '1h', retryAfter })
    }
    for (const accept of ['*/*', 'text/html', 'image/png', 'no;;sense', 'text/plain, application/json;q=0.9']) {
      expect((await get(url, { accept })).headers['content-type']).toBe('text/plain; charset=utf-8')
    }
  })

  test('draft-11 fields beside the legacy ones; or no fields', async () => {
    const clock = new ManualClock(midnight)
    const policies = [
      fixedWindow({ name: 'daily "quota"', limit: 1000, window: '1d' }),
      slidingWindow({ name: 'quick', limit: 5, window: '1500ms' }),
      slidingWindow({ name: 'trial', limit: 1, window: '1s', shadow: true }),
    ]
    const both = await app({ policies, store: memoryStore({ clock: clock.now }), headers: ['legacy', 'draft-11'] })
    const { headers } = await get(both.url)
    expect(headers['ratelimit-policy']).toBe('"daily \\"quota\\"";q=1000;w=86400, "quick";q=5;w=2')
    expect(headers.ratelimit).toBe('"daily \\"quota\\"";r=999;t=86400, "quick";r=4;t=3')
    expect(headers['x-ratelimit-limit']).toBe('5')
    const none = await app({ policies: '1/1m', headers: false })
    const fields = [...Object.keys((await get(none.url)).headers), ...Object.keys((await get(none.url)).headers)]
    expect(fields.filter((field) => field.includes('ratelimit'))).toEqual([])
  })

  test('a bucket has no effective window unless the next token fills it', async () => {
    const clock = new ManualClock(midnight)
    const policies = tokenBucket({ name: 'burst', limit: 6, window: '1m' })
    const { url } = await app({ policies, store: memoryStore({ clock: clock.now }), headers: 'draft-11' })
    expect((await get(url)).headers.ratelimit).toBe('"burst";r=5;t=10')
    expect((await get(url)).headers.ratelimit).toBe('"burst";r=4')
  })

  test('byHeader uses the address without the header, and no client can send that key', async () => {
    const { url } = await app({ limit: 1, window: '1m', keys: byHeader('X-Api-Key') })
    const key = (value: string) => ({ 'x-api-key': value })
    const callers = [
      key('a'),
      key('b'),
      key('a'),
      {},
      key('127.0.0.1'),
      key('~127.0.0.1'),
      {},
      key(''),
      key('__proto__'),
    ]
    expect(await statuses(url, callers)).toEqual([200, 200, 429, 200, 200, 200, 429, 429, 200])
  })

  test('byRoute uses the pattern, not the path', async () => {
    const { url } = await app({ limit: 2, window: '1m', keys: combine(byIp(), byRoute()) })
    expect(await statuses(`${url}/users/1`, [{}])).toEqual([200])
    expect(await statuses(`${url}/users/2`, [{}])).toEqual([200])
    expect(await statuses(`${url}/users/3`, [{}])).toEqual([429])
    expect(await statuses(`${url}/`, [{}])).toEqual([200])
  })

  test('HEAD shares the quota of GET and has no body', async () => {
    const { url } = await app({ limit: 1, window: '1m', keys: byRoute() })
    expect((await get(url, {}, 'HEAD')).status).toBe(200)
    const refused = await get(url, {}, 'HEAD')
    expect([refused.status, refused.body]).toEqual([429, ''])
  })

  test('several scopes decide all or nothing', async () => {
    const policies = [
      fixedWindow({ name: 'address', limit: 3, window: '1h' }),
      fixedWindow({ name: 'user', limit: 1, window: '1h', scope: 'user' }),
    ]
    const { url } = await app({ policies, keys: { user: byHeader('x-user') } })
    const user = (name: string) => ({ 'x-user': name })
    // The second request of ann is refused by her own limit, and takes nothing from the address.
    expect(await statuses(url, [user('ann'), user('ann'), user('bob'), user('cid'), user('dan')])).toEqual([
      200, 429, 200, 200, 429,
    ])
  })

  test('any function is an extractor, sync or async, and gets the framework’s request', async () => {
    for (const keys of [(r: unknown) => queryOf(r, 'who'), async (r: unknown) => queryOf(r, 'who')]) {
      const { url } = await app({ limit: 1, window: '1m', keys })
      const ask = async (who: string) => (await get(`${url}/?who=${who}`)).status
      expect([await ask('ann'), await ask('bob'), await ask('ann')]).toEqual([200, 200, 429])
    }
  })

  test('an error of an extractor goes to the framework’s error handler', async () => {
    const broken = [
      () => {
        throw new Error('no key today')
      },
      async () => {
        throw new Error('no key today')
      },
    ]
    for (const keys of broken) {
      const { url, handled } = await app({ limit: 1, window: '1m', keys })
      expect(await get(url)).toMatchObject({ status: 500, body: 'no key today' })
      expect(handled()).toBe(0)
    }
  })

  test('an extractor that throws undefined, or returns an invalid key, admits no request', async () => {
    const broken = [
      () => {
        throw undefined
      },
      async () => {
        throw undefined
      },
      () => ({ id: 1 }),
      () => Number.NaN,
    ]
    for (const keys of broken) {
      const { url, handled } = await app({ limit: 1, window: '1m', keys })
      expect((await get(url)).status).toBe(500)
      expect(handled()).toBe(0)
    }
  })

  test('an asynchronous store decides too; an error of a synchronous store goes to the error handler', async () => {
    const { url } = await app({ policies: '1/1m', store: asyncStore(memoryStore()) })
    expect(await statuses(url, [{}, {}])).toEqual([200, 429])
    const fails = () => {
      throw new Error('store is down')
    }
    const broken: Store = { synchronous: true, open: () => ({ run: fails }) }
    expect(await get((await app({ policies: '1/1m', store: broken })).url)).toMatchObject({
      status: 500,
      body: 'store is down',
    })
  })

  test('refuse, sync or async, finds the status and the fields set', async () => {
    const refusals = [
      (_decision: unknown, _request: unknown, response: unknown) => respond(response, 'mine'),
      async (_decision: unknown, _request: unknown, response: unknown) => respond(response, 'mine'),
    ]
    for (const refuse of refusals) {
      const { url } = await app({ limit: 1, window: '1m', refuse })
      await get(url)
      const { status, body, headers } = await get(url)
      expect([status, body, headers['retry-after'] !== undefined]).toEqual([429, 'mine', true])
    }
  })

  test('a cost that can never fit has no Retry-After', async () => {
    const limiter = new RateLimiter({ policies: '1/1m' })
    const never: Store = {
      synchronous: true,
      open: () => ({ run: () => ({ ...limiter.consumeSync('k', { cost: 2 }) }) as never }),
    }
    const { status, headers, body } = await get((await app({ policies: '1/1m', store: never })).url)
    expect([status, headers['retry-after']]).toEqual([429, undefined])
    expect(body).toContain('more than is ever admitted')
  })

  if (!lacks('a response before the limiter')) {
    test('a response that has begun is not changed', async () => {
      const { url } = await app({ limit: 1, window: '1m' }, { answerFirst: true })
      for (let n = 0; n < 3; n++) expect(await get(url)).toMatchObject({ status: 200, body: 'first' })
    })
  }

  test('forged X-Forwarded-For is never believed', async () => {
    const forged = [1, 2, 3].map((n) => ({ 'x-forwarded-for': `203.0.113.${n}` }))
    expect(await statuses((await app('1/1m')).url, forged)).toEqual([200, 429, 429])
    // One trusted proxy writes the last entry; whatever stands before it came from the client.
    const behindProxy = [1, 2, 3].map((n) => ({ 'x-forwarded-for': `203.0.113.${n}, 198.51.100.1` }))
    const other = { 'x-forwarded-for': '203.0.113.1, 198.51.100.2' }
    for (const proxies of [1, 'everybody'] as const) {
      const { url } = await app('1/1m', { proxies })
      expect(await statuses(url, [...behindProxy, other])).toEqual([200, 429, 429, 200])
    }
  })

  test('an IPv6 client is its /56, an IPv4 client its address in any form', async () => {
    const { url } = await app('1/1m', { proxies: 1 })
    const from = (address: string) => ({ 'x-forwarded-for': address })
    const callers = [
      '2001:db8:0:100::1',
      '2001:db8:0:1ff::2',
      '2001:db8:0:200::1',
      '192.0.2.1',
      '::ffff:192.0.2.1',
      '::FFFF:c000:201',
    ]
    expect(await statuses(url, callers.map(from))).toEqual([200, 429, 200, 200, 429, 429])
  })

  test('with clients that disconnect, and parallel bursts, the count stays exact', async () => {
    const { url } = await app('100/1h', {})
    await Promise.all(
      Array.from({ length: 20 }, () => {
        return new Promise<void>((resolve) => {
          const request = send(url, { agent: false })
          request.on('error', () => resolve())
          request.on('close', () => resolve())
          request.on('socket', (socket) => socket.on('connect', () => request.destroy()))
          request.end()
        })
      }),
    )
    const used = 99 - Number((await get(url)).headers['x-ratelimit-remaining'])
    const responses = await Promise.all(Array.from({ length: 150 }, () => get(url)))
    expect(responses.filter(({ status }) => status === 200)).toHaveLength(99 - used)
  })
})
