/* A middleware under overrides: the fields and the body of a response are those of the policies that decided. */
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { afterEach, expect, test } from 'vitest'
import { rateLimit } from '../../adapters/node.ts'
import { concurrency, fixedWindow, type PlanLimiter, type PolicyLike, policy } from '../../src/index.ts'

const servers: ReturnType<typeof createServer>[] = []
afterEach(() => {
  for (const server of servers.splice(0)) server.close()
})

async function served(policies: unknown, more: object = {}) {
  const limit = rateLimit({
    policies: policies as PolicyLike,
    keys: (request) => String(request.headers['x-key']),
    headers: 'draft-8',
    ...more,
  })
  const server = createServer((request, response) => void limit(request, response, () => response.end('ok')))
  servers.push(server)
  await new Promise<void>((listening) => server.listen(0, '127.0.0.1', listening))
  const { port } = server.address() as AddressInfo
  const get = async (key: string) => {
    const response = await fetch(`http://127.0.0.1:${port}/`, { headers: { 'x-key': key, accept: 'application/json' } })
    const { headers, status } = response
    return {
      status,
      policy: headers.get('ratelimit-policy'),
      left: headers.get('ratelimit'),
      body: await response.text(),
    }
  }
  return { limiter: limit.limiter, get }
}

const plan = () => [fixedWindow({ name: 'month', limit: 10, window: '30d' }), policy('100/1h', { name: 'hour' })]

test('the fields have the limits of the override', async () => {
  const { limiter, get } = await served(plan())
  await limiter.override('ann', { policy: 'month', limit: 50 })
  expect((await get('bob')).policy).toBe('"month";q=10;w=2592000, "hour";q=100;w=3600')
  expect((await get('ann')).policy).toBe('"month";q=50;w=2592000, "hour";q=100;w=3600')
})

test('the limiter of plans takes a policy that no plan has had so far, and asks for the plan if it needs a window', async () => {
  const { limiter } = await served(() => plan())
  expect(await limiter.override('*', { policy: 'month', limit: 50 })).toMatchObject({ effective: false })
  const until = 'window'
  await expect(limiter.override('ann', { policy: 'month', limit: 5, until })).rejects.toMatchObject({
    code: 'HEADGATE_OVERRIDE',
    message: expect.stringContaining('limit.limiter.withPlan(plan).override(...)'),
  })
  const ofPlan = (limiter as unknown as PlanLimiter).withPlan(plan())
  expect(await ofPlan.override('ann', { policy: 'month', limit: 5, until })).toMatchObject({ effective: true })
})

test('a response shows the numbers of an override, but not its reason and its target', async () => {
  const { limiter, get } = await served(plan())
  await limiter.override({ prefix: 'trial-' }, { policy: 'month', limit: 1, until: '2h', reason: 'abuse' })
  await get('trial-ann')
  const { status, ...shown } = await get('trial-ann')
  expect([status, shown.policy]).toEqual([429, '"month";q=1;w=2592000, "hour";q=100;w=3600'])
  for (const hidden of ['abuse', 'trial']) expect(JSON.stringify(shown)).not.toContain(hidden)
})

test('a bucket whose next unit is its last one tells its time in every refusal', async () => {
  const { limiter, get } = await served('10/1h token-bucket', { headers: 'draft-11' })
  await limiter.override('*', { scale: 0.1, until: '1m' })
  const answers = []
  for (let n = 0; n < 40; n++) answers.push((await get('ann')).left)
  expect(answers.filter((left) => !left?.startsWith('"1h";r=0;t='))).toEqual([])
})

test.each(['draft-6', 'draft-8', 'legacy'])('policies with other names, with fields of %s', async (headers) => {
  const { limiter, get } = await served(plan(), { headers })
  await limiter.override('ann', { policies: policy('1/1m', { name: 'm', label: 'minute' }) })
  expect((await get('ann')).status).toBe(200)
  const { status, policy: fields, body } = await get('ann')
  expect(status).toBe(429)
  expect(JSON.parse(body)).toMatchObject({ policy: 'minute' })
  if (headers === 'draft-8') expect(fields).toBe('"minute";q=1;w=60')
  expect((await get('bob')).status).toBe(200)
})

test('a plan of the request, units in flight, a cost for each policy and a setting that corrects it', async () => {
  const policies = [...plan(), concurrency({ name: 'at-once', limit: 2, lease: '1m' })]
  const { limiter, get } = await served(() => policies, { cost: { month: 1, hour: 2, 'at-once': 1 }, settle: true })
  await get('ann')
  await limiter.override('ann', { policy: 'at-once', limit: 1 })
  await limiter.override('bob', { policies: '1/1m' })
  expect((await get('ann')).policy).toContain('"at-once";q=1')
  expect([(await get('bob')).status, (await get('bob')).status, (await get('ann')).status]).toEqual([200, 429, 200])
  expect(limiter.health()).not.toHaveProperty('overridesUnreadSince')
})

test('a refusal tells the wait of the policies that apply when the override has ended', async () => {
  const { limiter, get } = await served('10/1h sliding-log')
  await limiter.consume('ann', { cost: 10 })
  await limiter.override('ann', { policies: policy('1/1m', { name: 'm', label: 'minute' }), until: '30s' })
  expect((await get('ann')).status).toBe(200)
  const { status, body } = await get('ann')
  expect([status, JSON.parse(body).policy]).toEqual([429, 'minute'])
  expect(JSON.parse(body).retryAfter).toBeGreaterThan(3500)
})
