import { connect } from 'node:net'
import { ApolloDriver, type ApolloDriverConfig } from '@nestjs/apollo'
import { Controller, type INestApplication, type ModuleMetadata, UseGuards } from '@nestjs/common'
import { GraphQLModule, Query, Resolver, Subscription } from '@nestjs/graphql'
import { MercuriusDriver, type MercuriusDriverConfig } from '@nestjs/mercurius'
import { MessagePattern, type MicroserviceOptions, Transport } from '@nestjs/microservices'
import { IoAdapter } from '@nestjs/platform-socket.io'
import { WsAdapter } from '@nestjs/platform-ws'
import { SubscribeMessage, WebSocketGateway } from '@nestjs/websockets'
import { createClient } from 'graphql-ws'
import { RateLimiter } from 'headgate'
import { RateLimitGuard, RateLimitModule } from 'headgate/nest'
import { io } from 'socket.io-client'
import { beforeEach, expect, onTestFinished, test, vi } from 'vitest'
import WebSocket from 'ws'
import { freePort } from '../../support/ports.ts'
import { everywhere, type Platform, start, storeAt } from '../support/nest.ts'

/* `delay` in calls that are not HTTP: if a client disconnects, its calls give their times back, and their handlers do not run. */

let handled = 0
beforeEach(() => {
  handled = 0
})

@Resolver()
class Answers {
  @Query(() => Number)
  answer() {
    return ++handled
  }

  @Subscription(() => Number)
  async *answers() {
    yield { answers: ++handled }
  }
}

@Controller()
class Sums {
  @MessagePattern('answer')
  answer() {
    return ++handled
  }
}

@UseGuards(RateLimitGuard)
@WebSocketGateway()
class Chat {
  @SubscribeMessage('answer')
  answer() {
    return { event: 'answer', data: ++handled }
  }
}

const limiter = () => new RateLimiter({ policies: '1/10m token-bucket', store: storeAt().store })

function serve(
  limit: RateLimiter,
  platform: Platform,
  metadata: ModuleMetadata,
  prepare?: (app: INestApplication) => unknown,
) {
  const imports = [RateLimitModule.forRoot({ limiter: limit, delay: { max: '1h' } }), ...(metadata.imports ?? [])]
  const providers = [everywhere, ...(metadata.providers ?? [])]
  return start(
    platform,
    { ...metadata, imports, providers },
    { forceCloseConnections: true, ...(prepare && { prepare }) },
  )
}

const apollo = GraphQLModule.forRoot<ApolloDriverConfig>({
  ...{ driver: ApolloDriver, autoSchemaFile: true, graphiql: false },
  subscriptions: { 'graphql-ws': true },
})
const mercurius = GraphQLModule.forRoot<MercuriusDriverConfig>({ driver: MercuriusDriver, autoSchemaFile: true })

/** Sends each query in a request of its own. Returns a function that disconnects. */
function queries(url: string, count: number) {
  const leaving = new AbortController()
  const headers = { 'content-type': 'application/json' }
  for (let n = 0; n < count; n++) {
    const request = { method: 'POST', headers, body: '{"query":"{ answer }"}', signal: leaving.signal }
    fetch(`${url}/graphql`, request).catch(() => undefined)
  }
  return () => leaving.abort()
}

/** Starts an application of a transport, makes calls, and returns a function that disconnects their client. */
const transports: Record<string, (limit: RateLimiter, calls: number) => Promise<() => void>> = {
  async 'GraphQL with Apollo on Express'(limit, calls) {
    const { url } = await serve(limit, 'Express', { imports: [apollo], providers: [Answers] })
    return queries(url, calls)
  },
  async 'GraphQL with Mercurius on Fastify'(limit, calls) {
    const { url } = await serve(limit, 'Fastify', { imports: [mercurius], providers: [Answers] })
    return queries(url, calls)
  },
  async 'subscriptions of GraphQL'(limit, calls) {
    const { port } = await serve(limit, 'Express', { imports: [apollo], providers: [Answers] })
    const client = createClient({ url: `ws://127.0.0.1:${port}/graphql`, webSocketImpl: WebSocket, retryAttempts: 0 })
    const sink = { next() {}, error() {}, complete() {} }
    for (let n = 0; n < calls; n++) client.subscribe({ query: 'subscription { answers }' }, sink)
    return () => client.terminate()
  },
  async 'a microservice over TCP'(limit, calls) {
    const options = { host: '127.0.0.1', port: await freePort() }
    await serve(limit, 'Express', { controllers: [Sums] }, async (app) => {
      app.connectMicroservice<MicroserviceOptions>({ transport: Transport.TCP, options }, { inheritAppConfig: true })
      await app.startAllMicroservices()
    })
    const socket = connect(options)
    for (let n = 0; n < calls; n++) {
      const message = JSON.stringify({ pattern: 'answer', data: n, id: `${n}` })
      socket.write(`${message.length}#${message}`)
    }
    return () => socket.destroy()
  },
  async 'a gateway on socket.io'(limit, calls) {
    const { url } = await serve(limit, 'Express', { providers: [Chat] }, (app) =>
      app.useWebSocketAdapter(new IoAdapter(app)),
    )
    const socket = io(url, { transports: ['websocket'], forceNew: true })
    for (let n = 0; n < calls; n++) socket.emit('answer', n)
    return () => socket.disconnect()
  },
  async 'a gateway on ws'(limit, calls) {
    const { port } = await serve(limit, 'Express', { providers: [Chat] }, (app) =>
      app.useWebSocketAdapter(new WsAdapter(app)),
    )
    const socket = new WebSocket(`ws://127.0.0.1:${port}`)
    await new Promise((resolve) => socket.once('open', resolve))
    for (let n = 0; n < calls; n++) socket.send(JSON.stringify({ event: 'answer', data: n }))
    return () => socket.terminate()
  },
}

test.each(Object.keys(transports))(
  'five of six calls wait, and give their times back when their client leaves: %s',
  async (name) => {
    const limit = limiter()
    const used = async () => (await limit.peek('127.0.0.1')).policies[0]?.used
    const leave = await (transports[name] as (typeof transports)[string])(limit, 6)
    onTestFinished(leave)
    await vi.waitFor(async () => expect([handled, await used()]).toEqual([1, 6]), 5000)
    leave()
    await vi.waitFor(async () => expect([handled, await used()]).toEqual([1, 1]), 5000)
  },
)
