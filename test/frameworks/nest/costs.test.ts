import { Controller, type ExecutionContext, Get, Post, UseGuards } from '@nestjs/common'
import { fixedWindow, RateLimiter, type RequestDecision } from 'headgate'
import {
  RateLimit,
  RateLimitCost,
  RateLimitDecision,
  RateLimitGuard,
  RateLimitModule,
  requestOf,
  SkipRateLimit,
} from 'headgate/nest'
import { describe, expect, test } from 'vitest'
import { everywhere, platforms, start, statuses, storeAt } from '../support/nest.ts'

const hourly = fixedWindow({ name: 'hour', limit: 20, window: '1h' })
const keys = () => 'ann'
const pagesOf = (context: ExecutionContext) => Number(requestOf(context)?.headers['x-pages'] ?? 1)

@Controller()
class Pages {
  @RateLimitCost(5)
  @Get('search')
  search(@RateLimitDecision() decision: RequestDecision) {
    return { key: decision.key, remaining: decision.remaining }
  }

  @RateLimitCost(pagesOf)
  @Get('print')
  print() {
    return 'printed'
  }

  @RateLimit({ count: 'failures', cost: 4 })
  @Get('login')
  login() {
    return 'welcome'
  }

  @RateLimit({ settle: true, cost: 9 })
  @Post('complete')
  async complete(@RateLimitDecision() decision: RequestDecision) {
    await decision.settle(2)
  }

  @Get()
  front() {
    return 'front'
  }
}

describe.each(platforms)('a cost under the limit of the module, on %s', (platform) => {
  test('each handler takes its own cost, in one decision', async () => {
    const limiter = new RateLimiter({ policies: hourly, store: storeAt().store })
    let decisions = 0
    const onDecision = () => decisions++
    const { url, agent } = await start(platform, {
      imports: [RateLimitModule.forRoot({ limiter, keys, onDecision })],
      controllers: [Pages],
      providers: [everywhere],
    })
    const used = async () => (await limiter.peek('ann')).policies[0]?.used
    expect((await agent.get('/search')).body).toEqual({ key: 'ann', remaining: 15 })
    expect(await statuses(url, ['/', ['/print', { 'x-pages': '3' }], '/login'])).toEqual([200, 200, 200])
    await expect.poll(used).toBe(9)
    await agent.post('/complete')
    expect(await used()).toBe(11)
    expect(await statuses(url, ['/search', '/search', '/'])).toEqual([200, 429, 200])
    expect([await used(), decisions]).toEqual([17, 8])
  })

  test('under plans, a handler keeps the plan of the call', async () => {
    const plans = { free: fixedWindow({ limit: 4, window: '1h' }), pro: hourly }
    const policies = (context: ExecutionContext) =>
      plans[requestOf(context)?.headers['x-plan'] as keyof typeof plans] ?? 'unlimited'
    const { url } = await start(platform, {
      imports: [RateLimitModule.forRoot({ policies, keys })],
      controllers: [Pages],
      providers: [everywhere],
    })
    const asked = ['free', 'pro', 'none'].map((plan): [string, Record<string, string>] => [
      '/search',
      { 'x-plan': plan },
    ])
    expect(await statuses(url, asked)).toEqual([429, 200, 200])
  })
})

test('a class has a cost for all its handlers; the cost of a handler is the one that counts', async () => {
  @RateLimitCost(3)
  @Controller()
  class Dear {
    @Get('class')
    ofClass(@RateLimitDecision() { remaining }: RequestDecision) {
      return { remaining }
    }

    @RateLimitCost({ hour: 1, day: 0 })
    @Get('handler')
    ofHandler(@RateLimitDecision() { policies }: RequestDecision) {
      return policies.map(({ remaining }) => remaining)
    }

    @RateLimit('1/1h')
    @Get('own')
    own(@RateLimitDecision() { limit }: RequestDecision) {
      return { limit }
    }
  }
  const policies = [hourly, fixedWindow({ name: 'day', limit: 50, window: '1d' })]
  const { agent } = await start('Express', {
    imports: [RateLimitModule.forRoot({ policies, keys, store: storeAt().store })],
    controllers: [Dear],
    providers: [everywhere],
  })
  const get = async (path: string) => (await agent.get(path)).body
  expect(await get('/class')).toEqual({ remaining: 17 })
  expect(await get('/handler')).toEqual([16, 47])
  expect(await get('/own')).toEqual({ limit: 1 })
})

test('a cost works beside a skipped policy, and with a guard on the handler alone', async () => {
  @Controller()
  class Some {
    @SkipRateLimit('day')
    @RateLimitCost({ hour: 6 })
    @UseGuards(RateLimitGuard)
    @Get()
    page(@RateLimitDecision() { policies }: RequestDecision) {
      return policies.map(({ name, remaining }) => `${name} ${remaining}`)
    }
  }
  const policies = [hourly, fixedWindow({ name: 'day', limit: 50, window: '1d' })]
  const { agent } = await start('Express', {
    imports: [RateLimitModule.forRoot({ policies, keys, store: storeAt().store })],
    controllers: [Some],
  })
  expect((await agent.get('/')).body).toEqual(['hour 14'])
})

describe('an application does not start', () => {
  test.each([
    [{ cost: 21 }, 'HEADGATE_COST', 'hour'],
    [{ cost: { minute: 1 } }, 'HEADGATE_COST', 'minute'],
    [{ cots: 5 }, 'HEADGATE_OPTION', 'cots'],
    [{ cost: 5, store: storeAt().store }, 'HEADGATE_OPTION', 'store'],
  ])('with @RateLimit(%j)', async (options, code, part) => {
    @Controller()
    class Wrong {
      @RateLimit(options as never)
      @Get()
      page() {}
    }
    const imports = [RateLimitModule.forRoot({ policies: hourly })]
    const started = start('Express', { imports, controllers: [Wrong], providers: [everywhere] })
    await expect(started).rejects.toMatchObject({ code, message: expect.stringContaining(part) })
    await expect(started).rejects.toThrow('@RateLimit at Wrong.page')
  })

  test('if there is no limit around the handler, or the class skips it', async () => {
    @Controller()
    class Alone {
      @RateLimitCost(5)
      @Get()
      page() {}
    }
    const imports = [RateLimitModule.forRoot({ limit: false })]
    const started = start('Express', { imports, controllers: [Alone], providers: [everywhere] })
    await expect(started).rejects.toThrow('Give it policies')
    SkipRateLimit()(Alone)
    const skipped = start('Express', { imports: [RateLimitModule.forRoot('9/1h')], controllers: [Alone] })
    await expect(skipped).rejects.toThrow('is skipped')
  })

  test.each([0, -1, 1.5, undefined, '5', []])('@RateLimitCost(%j) is an error at once', (cost) => {
    expect(() => RateLimitCost(cost as never)).toThrow(expect.objectContaining({ code: 'HEADGATE_COST' }))
  })
})
