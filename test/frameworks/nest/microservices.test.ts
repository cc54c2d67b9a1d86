import { Controller, Get, UseGuards } from '@nestjs/common'
import {
  type ClientProxy,
  ClientProxyFactory,
  EventPattern,
  MessagePattern,
  type MicroserviceOptions,
  Payload,
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
  return { agent, send, client }
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
