import { connect } from 'node:net'
import { ApolloDriver, type ApolloDriverConfig } from '@nestjs/apollo'
import { Controller, Get, HttpException } from '@nestjs/common'
import { APP_INTERCEPTOR } from '@nestjs/core'
import { Args, GraphQLModule, Query, Resolver } from '@nestjs/graphql'
import {
  type ClientProxy,
  ClientProxyFactory,
  MessagePattern,
  Payload,
  RpcException,
  Transport,
} from '@nestjs/microservices'
import { RateLimiter } from 'headgate'
import { RateLimit, RateLimitInterceptor, RateLimitModule } from 'headgate/nest'
import { lastValueFrom } from 'rxjs'
import { describe, expect, onTestFinished, test, vi } from 'vitest'
import { freePort } from '../../support/ports.ts'
import { everywhere, start } from '../support/nest.ts'

const failuresOnly = { limit: 1, window: '1h', count: 'failures' } as const
const reporting = { provide: APP_INTERCEPTOR, useClass: RateLimitInterceptor }

/** Asks twice for a good result, then twice for a bad one, then once for a good one. */
async function outcomes(ask: (fails: boolean) => Promise<string>) {
  const found: string[] = []
  for (const fails of [false, false, true, true, false]) found.push(await ask(fails))
  return found
}

const expected = ['good', 'good', 'bad', 'refused', 'refused']

describe('count: failures', () => {
  test.each(['Express', 'Fastify'] as const)('of requests on %s, by the status of the response', async (platform) => {
    @RateLimit(failuresOnly)
    @Controller()
    class Pages {
      @Get('good')
      good() {
        return 'good'
      }

      @Get('bad')
      bad() {
        throw new HttpException('bad', 400)
      }
    }
    const { agent } = await start(platform, {
      imports: [RateLimitModule.forRoot({ limit: false })],
      controllers: [Pages],
    })
    const ask = async (fails: boolean) => {
      const { status } = await agent.get(fails ? '/bad' : '/good')
      return status === 429 ? 'refused' : status === 200 ? 'good' : 'bad'
    }
    expect(await outcomes(ask)).toEqual(expected)
  })

  test('of queries, by the errors of their fields', async () => {
    @Resolver()
    class Answers {
      @RateLimit(failuresOnly)
      @Query(() => String)
      answer(@Args('fails', { type: () => Boolean }) fails: boolean) {
        if (fails) throw new Error('bad')
        return 'good'
      }
    }
    const graphql = GraphQLModule.forRoot<ApolloDriverConfig>({
      driver: ApolloDriver,
      autoSchemaFile: true,
      graphiql: false,
    })
    const { agent } = await start('Express', {
      imports: [RateLimitModule.forRoot({ limit: false }), graphql],
      providers: [Answers, reporting],
    })
    const ask = async (fails: boolean) => {
      const { body } = await agent.post('/graphql').send({ query: `{ answer(fails: ${fails}) }` })
      return body.errors?.[0].extensions.code === 'TOO_MANY_REQUESTS' ? 'refused' : (body.data?.answer ?? 'bad')
    }
    expect(await outcomes(ask)).toEqual(expected)
  })

  test('of messages, by their errors', async () => {
    @Controller()
    class Answers {
      @RateLimit(failuresOnly)
      @MessagePattern('answer')
      answer(@Payload() fails: boolean) {
        if (fails) throw new RpcException('bad')
        return 'good'
      }
    }
    const transport = { transport: Transport.TCP as const, options: { host: '127.0.0.1', port: await freePort() } }
    await start(
      'Express',
      { imports: [RateLimitModule.forRoot({ limit: false })], controllers: [Answers], providers: [reporting] },
      {
        async prepare(app) {
          app.connectMicroservice(transport, { inheritAppConfig: true })
          await app.startAllMicroservices()
        },
      },
    )
    const client: ClientProxy = ClientProxyFactory.create(transport)
    onTestFinished(() => void client.close())
    const ask = async (fails: boolean) => {
      const answer = await lastValueFrom(client.send('answer', fails)).catch((error) => error)
      return answer.statusCode === 429 ? 'refused' : (answer.message ?? answer)
    }
    expect(await outcomes(ask)).toEqual(expected)
  })

  test('of messages whose caller has left, by their errors too', async () => {
    let finish: (fails: boolean) => void = () => {}
    let begun = 0
    @Controller()
    class Answers {
      @MessagePattern('answer')
      async answer() {
        begun++
        if (await new Promise<boolean>((resolve) => (finish = resolve))) throw new RpcException('bad')
      }
    }
    const limiter = new RateLimiter({ policies: '9/1h fixed-window' })
    const port = await freePort()
    const options = { host: '127.0.0.1', port }
    await start(
      'Express',
      {
        imports: [RateLimitModule.forRoot({ limiter, count: 'failures' })],
        controllers: [Answers],
        providers: [everywhere, reporting],
      },
      {
        async prepare(app) {
          app.connectMicroservice({ transport: Transport.TCP, options }, { inheritAppConfig: true })
          await app.startAllMicroservices()
        },
      },
    )
    const message = JSON.stringify({ pattern: 'answer', id: '1' })
    for (const [fails, used] of [
      [true, 1],
      [false, 1],
    ] as const) {
      const [before, socket] = [begun, connect(options)]
      socket.write(`${message.length}#${message}`)
      await vi.waitFor(() => expect(begun).toBe(before + 1))
      socket.resetAndDestroy()
      await new Promise((resolve) => socket.once('close', resolve))
      finish(fails)
      await vi.waitFor(async () => expect((await limiter.peek('127.0.0.1')).policies[0]?.used).toBe(used))
    }
  })
})
