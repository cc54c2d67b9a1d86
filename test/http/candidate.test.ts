/* A middleware whose limits have a candidate: responses are those of the current policies, whatever the candidate decides. */
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { afterEach, expect, test } from 'vitest'
import { rateLimit } from '../../adapters/node.ts'
import { concurrency, fixedWindow, memoryStore, RateLimiter } from '../../src/index.ts'
import { policiesFrom } from '../../src/policy-file/index.ts'
import { ManualClock } from '../../src/testing/index.ts'

const servers: ReturnType<typeof createServer>[] = []
afterEach(() => {
  for (const server of servers.splice(0)) server.close()
})

type Argument = Parameters<typeof rateLimit>[0]

async function served(argument: object, handle: (request: object) => unknown = () => {}) {
  const limit = rateLimit({ keys: () => 'ann', headers: 'draft-8', ...argument } as unknown as Argument)
  const server = createServer(async (request, response) => {
    await limit(request, response, async () => {
      response.statusCode = request.url === '/failed' ? 401 : 200
      await handle(request)
      response.end('ok')
    })
  })
  servers.push(server)
  await new Promise<void>((listening) => server.listen(0, '127.0.0.1', listening))
  const { port } = server.address() as AddressInfo
  const get = async (path = '/') => {
    const { status, headers } = await fetch(`http://127.0.0.1:${port}${path}`)
    return [status, headers.get('ratelimit-policy')]
  }
  return { limiter: limit.limiter as RateLimiter, get }
}

const hour = (limit: number) => fixedWindow({ name: 'hour', limit, window: '1h' })
const usedBy = async (limiter: RateLimiter | undefined) => (await limiter?.usage('ann'))?.policies[0]?.used

test('options with policies, and options with a limit and a window', async () => {
  for (const argument of [{ policies: hour(2) }, { limit: 2, window: '1h', name: 'hour' }]) {
    const { limiter, get } = await served({ ...argument, candidate: '1/1h' })
    expect([await get(), await get(), await get()].map(([status]) => status)).toEqual([200, 200, 429])
    expect(limiter.health().candidate).toEqual({ compared: 3, newlyRefused: 1, noLongerRefused: 0, undecided: 0 })
  }
})

test('a limiter that the application has made, with fields and units in flight of the current policies', async () => {
  const policies = [hour(3), concurrency({ name: 'at-once', limit: 9, lease: '1m' })]
  const limiter = new RateLimiter({ name: 'api', policies, candidate: { policies: hour(1) }, store: memoryStore() })
  const { get } = await served({ limiter })
  expect([(await get())[0], (await get())[0]]).toEqual([200, 200])
  expect(await get()).toEqual([200, expect.stringMatching(/^"hour";q=3;w=3600/)])
  expect(limiter.health().candidate).toMatchObject({ compared: 3, newlyRefused: 2 })
  expect(limiter.load.inFlight).toBe(0)
})

test('settle corrects the candidate too', async () => {
  const handle = async (request: object) =>
    (Reflect.get(request, 'rateLimit') as { settle(units: object): Promise<void> }).settle({ hour: 4 })
  const { limiter, get } = await served(
    { policies: hour(100), candidate: hour(50), cost: { hour: 10 }, settle: true },
    handle,
  )
  await get()
  expect([await usedBy(limiter), await usedBy(limiter.candidate)]).toEqual([4, 4])
})

test('count: only the failures count for both', async () => {
  const { limiter, get } = await served({ policies: hour(100), candidate: hour(50), count: 'failures' })
  for (const path of ['/', '/failed', '/']) await get(path)
  await expect.poll(async () => [await usedBy(limiter), await usedBy(limiter.candidate)]).toEqual([1, 1])
})

test('a penalty of the candidate alone begins as it would alone', async () => {
  const candidate = { policies: hour(2), penalty: { on: 'spent', ban: '3h' } } as const
  const policies = [hour(9), concurrency({ name: 'at-once', limit: 9, lease: '1m' })]
  const { limiter, get } = await served({ policies, candidate, store: memoryStore({ clock: new ManualClock().now }) })
  for (let call = 0; call < 2; call++) await get()
  await expect.poll(async () => (await limiter.candidate?.peek('ann'))?.retryAfter).toBe(3 * 3_600_000)
  expect((await get())[0]).toBe(200)
  const counts = { ...candidate, penalty: { after: 2, within: '1m', ban: '1h' } }
  const wrong = () => rateLimit({ policies: '9/1h', candidate: counts, count: 'failures' })
  expect(wrong).toThrow(expect.objectContaining({ code: 'HEADGATE_PENALTY' }))
})

test('a function returns the plan with its candidate, as from a policy file', async () => {
  const limits = policiesFrom({
    limiters: {
      api: {
        policies: '3/1h',
        candidate: { policies: ['1/1h'] },
        plans: { pro: { policies: '5/1h', candidate: '3/1h' } },
      },
    },
  })
  let plan: string | undefined
  const { limiter, get } = await served({ policies: () => limits.plan('api', plan) })
  await get()
  await get()
  plan = 'pro'
  for (let call = 0; call < 3; call++) expect((await get())[0]).toBe(200)
  expect(limiter.health().candidate).toEqual({ compared: 5, newlyRefused: 2, noLongerRefused: 0, undecided: 0 })
  await limiter.reset('ann')
  expect(await usedBy(limiter.withPlan(limits.plan('api')).candidate)).toBe(0)
  expect(() => rateLimit({ policies: () => '1/1h', candidate: '1/1h' })).toThrow(
    expect.objectContaining({
      code: 'HEADGATE_CANDIDATE',
      message: expect.stringContaining('Return { policies, candidate }'),
    }),
  )
})
