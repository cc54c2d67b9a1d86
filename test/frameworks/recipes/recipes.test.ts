import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { startStandaloneServer } from '@apollo/server/standalone'
import { Controller, Get } from '@nestjs/common'
import { createTRPCClient, httpBatchLink } from '@trpc/client'
import { createHTTPServer } from '@trpc/server/adapters/standalone'
import { parse } from 'graphql'
import request from 'supertest'
import { afterAll, describe, expect, onTestFinished, test } from 'vitest'
import { headgateWarnings } from '../../support/headgate-warnings.ts'
import { server as apollo } from '../.examples/apollo.ts'
import { costOf } from '../.examples/graphql-cost.ts'
import { AppModule } from '../.examples/nest.ts'
import { AppModule as StartModule } from '../.examples/nest-start.ts'
import { type appRouter, createContext, appRouter as router } from '../.examples/trpc.ts'
import { yoga } from '../.examples/yoga.ts'
import { platforms, start } from '../support/nest.ts'

afterAll(async () => expect(await headgateWarnings(), 'no false alarm').toEqual([]))

/* The programs of docs/, over real sockets. */

test.each(platforms)('NestJS on %s', async (platform) => {
  const { agent } = await start(platform, { imports: [AppModule] })
  expect((await agent.get('/')).body).toEqual({ remaining: 99 })
  const logins = []
  for (let n = 0; n < 6; n++) logins.push((await agent.post('/login')).status)
  expect(logins).toEqual([201, 201, 201, 201, 201, 429])
  expect((await agent.get('/health')).headers['x-ratelimit-limit']).toBeUndefined()
  expect((await agent.get('/')).body).toEqual({ remaining: 98 })
})

test('NestJS: the first steps limit every handler', async () => {
  class Front {
    front() {
      return 'hello'
    }
  }
  Get()(Front.prototype, 'front', Object.getOwnPropertyDescriptor(Front.prototype, 'front') ?? {})
  Controller()(Front)
  const { agent } = await start('Express', { imports: [StartModule], controllers: [Front] })
  expect((await agent.get('/')).headers).toMatchObject({ 'x-ratelimit-limit': '100', 'x-ratelimit-remaining': '99' })
})

test('tRPC: the error has the code, the policy and the wait, and each procedure of a batch counts', async () => {
  const server = createHTTPServer({ router, createContext })
  onTestFinished(() => void server.close())
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
  const client = createTRPCClient<typeof appRouter>({ links: [httpBatchLink({ url })] })
  expect(await Promise.all([client.left.query(), client.left.query(), client.health.query()])).toEqual([2, 1, 'ok'])
  expect(await client.left.query()).toBe(0)
  const { data, message } = await client.left.query().catch((error) => error)
  expect(data).toMatchObject({ code: 'TOO_MANY_REQUESTS', httpStatus: 429 })
  expect(data.rateLimit).toEqual({ policy: '1m', retryAfter: expect.any(Number) }) // without the reason of a ban
  expect(message).toMatch(/^Too many requests\. Try again in \d+ seconds\.$/)
  expect(await client.health.query()).toBe('ok')
})

describe('the cost of a GraphQL operation', () => {
  test.each([
    ['{ a }', {}, 1],
    ['{ a b: a c { d } }', {}, 4],
    ['{ list(first: 50) { a b } }', {}, 101],
    ['query ($n: Int) { list(first: $n) { a } }', { n: 20 }, 21],
    ['query ($n: Int = 30) { list(first: $n) { a } }', {}, 31],
    ['query ($n: Int = 30) { list(first: $n) { a } }', { n: 2 }, 3],
    ['{ list(first: -5) { a } }', {}, 2],
    ['{ ...F ...F } fragment F on Query { a list(first: 3) { b } }', {}, 10],
    ['{ ... on Query { a } }', {}, 1],
  ])('%s', (source, variables, cost) => expect(costOf(parse(source), undefined, variables)).toBe(cost))

  test('of fragments that double thirty times is found at once, and is a whole number', () => {
    const fragments = Array.from({ length: 60 }, (_, n) => `fragment F${n} on Query { ...F${n + 1} ...F${n + 1} }`)
    const bomb = parse(`{ ...F0 } ${fragments.join(' ')} fragment F60 on Query { a }`)
    expect(costOf(bomb)).toBe(1_000_000_000)
  })
})

const dear = { query: '{ books(first: 40) { title } }' }
const servers = {
  async 'GraphQL Yoga'() {
    const server = createServer(yoga)
    onTestFinished(() => void server.close())
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
    return `http://127.0.0.1:${(server.address() as AddressInfo).port}`
  },
  async Apollo() {
    const context = async ({ req }: { req: import('node:http').IncomingMessage }) => ({ req })
    const { url } = await startStandaloneServer(apollo, { context, listen: { host: '127.0.0.1', port: 0 } })
    onTestFinished(() => apollo.stop())
    return url.replace(/\/$/, '')
  },
}

test.each(Object.entries(servers))('%s refuses what costs more than is left', async (name, serve) => {
  const agent = request(await serve())
  const post = (body: object) => agent.post(name === 'Apollo' ? '/' : '/graphql').send(body)
  expect((await post(dear)).body.data.books).toHaveLength(40)
  expect((await post(dear)).body.data.books).toHaveLength(40)
  const { status, body } = await post(dear)
  expect([status, body.errors[0].extensions]).toEqual([
    429,
    expect.objectContaining({ code: 'TOO_MANY_REQUESTS', policy: '1m', retryAfter: expect.any(Number) }),
  ])
  expect((await post({ query: '{ books { title } }' })).body.data.books).toHaveLength(1)
})

test('GraphQL Yoga refuses a subscription that costs more than is left, before it starts', async () => {
  const agent = request(await servers['GraphQL Yoga']())
  const subscribe = async (first: number) => {
    const query = `subscription { shelf(first: ${first}) { title } }`
    const { status, text } = await agent.post('/graphql').set('Accept', 'text/event-stream').send({ query })
    const events = [...text.matchAll(/^data: (.+)$/gm)].map(([, event = '']) => JSON.parse(event))
    return { status, events }
  }
  expect(await subscribe(5)).toEqual({ status: 200, events: [{ data: { shelf: Array(5).fill({ title: 'Emma' }) } }] })
  for (let n = 0; n < 2; n++) await subscribe(40)
  const extensions = { code: 'TOO_MANY_REQUESTS', policy: '1m', retryAfter: expect.any(Number) }
  expect(await subscribe(40)).toEqual({
    status: 429,
    events: [{ errors: [{ message: 'Too many requests.', extensions }] }],
  })
  expect((await subscribe(5000)).status).toBe(429)
})
