import { connect } from 'node:net'
import { Controller, Get, UseGuards } from '@nestjs/common'
import {
  type ClientProxy,
  ClientProxyFactory,
  type CustomTransportStrategy,
  EventPattern,
  MessagePattern,
  type MicroserviceOptions,
  Payload,
  Server,
  Transport,
} from '@nestjs/microservices'
import { fixedWindow, type RequestDecision } from 'headgate'
import {
  RateLimit,
  RateLimitDecision,
  RateLimitGuard,
  RateLimitModule,
  type RateLimitModuleOptions,
  SkipRateLimit,
} from 'headgate/nest'
import { lastValueFrom } from 'rxjs'
import { describe, expect, onTestFinished, test, vi } from 'vitest'
import { freePort } from '../../support/ports.ts'
import { everywhere, platforms, start, storeAt } from '../support/nest.ts'

@Controller()
class Sums {
  @Get()
  page(@RateLimitDecision() decision: RequestDecision | undefined) {
    return { remaining: decision?.remaining ?? null }
  }

  @MessagePattern('sum')
  sum(@Payload() numbers: number[], @RateLimitDecision() decision: RequestDecision | undefined) {
    return { sum: numbers.reduce((sum, each) => sum + each, 0), remaining: decision?.remaining ?? null }
  }

  @RateLimit({ limit: 1, window: '1m', keys: (context) => context.switchToRpc().getData().tenant })
  @MessagePattern('report')
  report() {
    return 'done'
  }

  @UseGuards(RateLimitGuard)
  @MessagePattern('guarded')
  guarded(@RateLimitDecision() decision: RequestDecision) {
    return decision.remaining
  }

  @SkipRateLimit()
  @MessagePattern('health')
  health() {
    return 'ok'
  }
}

/** An application with HTTP and a TCP microservice. */
async function hybrid(
  platform: (typeof platforms)[number],
  limit: RateLimitModuleOptions,
  inheritAppConfig: boolean,
  controllers: (new () => object)[] = [Sums],
) {
  const port = await freePort()
  const transport = { transport: Transport.TCP as const, options: { host: '127.0.0.1', port } }
  const { agent } = await start(
    platform,
    { imports: [RateLimitModule.forRoot(limit)], controllers, providers: [everywhere] },
    {
      async prepare(app) {
        app.connectMicroservice<MicroserviceOptions>(transport, { inheritAppConfig })
        await app.startAllMicroservices()
      },
    },
  )
  const client: ClientProxy = ClientProxyFactory.create(transport)
  onTestFinished(() => void client.close())
  const send = (pattern: string, data: unknown = []) =>
    lastValueFrom(client.send(pattern, data)).catch((error) => error)
  return { agent, send, client, port }
}

describe.each(platforms)('a hybrid application on %s', (platform) => {
  test('messages and requests are limited together by one global guard', async () => {
    const { clock, store } = storeAt()
    const { agent, send } = await hybrid(platform, { policies: fixedWindow({ limit: 3, window: '1m' }), store }, true)
    expect(await send('sum', [1, 2])).toEqual({ sum: 3, remaining: 2 })
    expect((await agent.get('/')).body).toEqual({ remaining: 1 })
    expect(await send('sum', [3])).toEqual({ sum: 3, remaining: 0 })
    clock.advance('10s')
    expect(await send('sum', [4])).toEqual({
      status: 'error',
      statusCode: 429,
      error: 'too_many_requests',
      message: 'Too many requests. Try again in 50 seconds.',
      policy: '1m',
      retryAfter: 50,
    })
    expect((await agent.get('/')).status).toBe(429)
    expect(await send('health')).toBe('ok')
  })

  test('without the global guards, decorated handlers are limited', async () => {
    const { send } = await hybrid(platform, '2/1h fixed-window', false)
    for (let n = 0; n < 4; n++) expect(await send('sum', [n])).toEqual({ sum: n, remaining: null })
    expect([await send('guarded'), await send('guarded')]).toEqual([1, 0])
    expect(await send('guarded')).toMatchObject({ statusCode: 429 })
    const report = (tenant: string) => send('report', { tenant })
    expect([await report('ann'), await report('bob')]).toEqual(['done', 'done'])
    expect(await report('ann')).toMatchObject({ statusCode: 429 })
  })
})

test('every message counts, whatever its form, and refused events end nothing', async () => {
  let handled = 0
  @Controller()
  class Orders {
    @MessagePattern({ cmd: 'order' })
    order() {
      return ++handled
    }
    @EventPattern('paid')
    paid(@Payload() _order: number) {
      handled++
      throw new Error('no such order')
    }
  }
  const { port } = await hybrid('Express', '4/1h fixed-window', true, [Orders])
  const socket = connect({ host: '127.0.0.1', port })
  onTestFinished(() => void socket.destroy())
  let received = ''
  socket.on('data', (data) => {
    received += data
  })
  const pattern = { cmd: 'order' }
  const packets = [
    { pattern, id: '1' },
    { pattern, id: '1' },
    { pattern: JSON.stringify(pattern) },
    { pattern: 'paid', data: 1 },
  ]
  for (const packet of [...packets, ...packets, ...packets, { pattern, id: 'last' }]) {
    const text = JSON.stringify(packet)
    socket.write(`${text.length}#${text}`)
  }
  await vi.waitFor(() => expect(received).toContain('"id":"last"'))
  expect(handled).toBe(4)
  expect(received.match(/"statusCode":429/g)).toHaveLength(5)
})

test('over a transport without addresses, a message without a key is an error, and runs no handler', async () => {
  let handled = 0
  @Controller()
  class Orders {
    @MessagePattern('order')
    order() {
      return ++handled
    }
    @RateLimit({ limit: 1, window: '1h', keys: (context) => String(context.switchToRpc().getData().tenant) })
    @MessagePattern('report')
    report() {
      return ++handled
    }
  }
  const strategy = new Local()
  await start(
    'Express',
    { imports: [RateLimitModule.forRoot('9/1h')], controllers: [Orders], providers: [everywhere] },
    {
      async prepare(app) {
        app.connectMicroservice<MicroserviceOptions>({ strategy }, { inheritAppConfig: true })
        await app.startAllMicroservices()
      },
    },
  )
  expect(await strategy.ask('order', 1)).toMatchObject({ message: 'Internal server error' })
  expect(handled).toBe(0)
  for (const tenant of [false, null, 'ann']) {
    expect([await strategy.ask('report', { tenant }), handled]).toEqual([handled, handled])
    expect(await strategy.ask('report', { tenant })).toMatchObject({ statusCode: 429 })
  }
})

/** A transport in this process, whose calls come from no address. */
class Local extends Server implements CustomTransportStrategy {
  listen(ready: () => void) {
    ready()
  }
  close() {}
  on() {}
  unwrap<T>(): T {
    return undefined as T
  }
  async ask(pattern: string, data: unknown): Promise<unknown> {
    const handler = this.getHandlerByPattern(pattern)
    return lastValueFrom(this.transformToObservable(await handler?.(data, {}))).catch((error) => error)
  }
}

test('two handlers of one event have a decision each', async () => {
  const seen: string[] = []
  @RateLimit('10/1h fixed-window')
  @Controller()
  class Till {
    @EventPattern('order')
    order(@RateLimitDecision() { remaining, limit }: RequestDecision) {
      seen.push(`${remaining} of ${limit}`)
    }
  }
  @RateLimit('100/1h fixed-window')
  @Controller()
  class Audit {
    @EventPattern('order')
    order(@RateLimitDecision() { remaining, limit }: RequestDecision) {
      seen.push(`${remaining} of ${limit}`)
    }
  }
  const { client } = await hybrid('Express', { limit: false }, false, [Till, Audit])
  await lastValueFrom(client.emit('order', 'tea'))
  await vi.waitFor(() => expect(seen.toSorted()).toEqual(['9 of 10', '99 of 100']))
})
