import { Controller, Get, UseGuards } from '@nestjs/common'
import { byHeader, fixedWindow, type RequestDecision } from 'headgate'
import { RateLimit, RateLimitDecision, RateLimitGuard, RateLimitModule, SkipRateLimit } from 'headgate/nest'
import { describe, expect, test } from 'vitest'
import { everywhere, platforms, start, statuses, storeAt } from '../support/nest.ts'

@Controller()
class Pages {
  @Get()
  page(@RateLimitDecision() decision: RequestDecision | undefined) {
    return { remaining: decision?.remaining ?? null }
  }

  @Get('other')
  other() {
    return 'other'
  }

  @SkipRateLimit()
  @Get('health')
  health(@RateLimitDecision() decision: RequestDecision | undefined) {
    return { limited: decision !== undefined }
  }

  @RateLimit('1/1m fixed-window')
  @Get('login')
  login() {
    return 'in'
  }
}

describe.each(platforms)('on %s', (platform) => {
  test('a client is admitted, refused with true headers, and admitted at Retry-After', async () => {
    const { clock, store } = storeAt()
    const policies = fixedWindow({ limit: 2, window: '1m' })
    const { agent } = await start(platform, {
      imports: [RateLimitModule.forRoot({ policies, store, headers: ['legacy', 'draft-11'] })],
      controllers: [Pages],
      providers: [everywhere],
    })
    const first = await agent.get('/')
    expect([first.status, first.body]).toEqual([200, { remaining: 1 }])
    expect(first.headers).toMatchObject({
      'x-ratelimit-limit': '2',
      'x-ratelimit-remaining': '1',
      ratelimit: '"1m";r=1;t=60',
      'ratelimit-policy': '"1m";q=2;w=60',
    })
    clock.advance('10s')
    expect((await agent.get('/other')).status).toBe(200)
    const refused = await agent.get('/')
    expect(refused.status).toBe(429)
    expect(refused.headers).toMatchObject({
      'retry-after': '50',
      'cache-control': 'no-store',
      'x-ratelimit-remaining': '0',
    })
    expect(refused.headers['content-type']).toMatch(/^application\/json/)
    expect(refused.body).toEqual({
      statusCode: 429,
      error: 'too_many_requests',
      message: 'Too many requests. Try again in 50 seconds.',
      policy: '1m',
      retryAfter: 50,
    })
    clock.advance(49_999)
    expect((await agent.get('/')).status).toBe(429)
    clock.advance(1)
    expect((await agent.get('/')).status).toBe(200)
  })

  test('a route has a limit of its own in place of the global one, and a bare skip skips every policy', async () => {
    const { store } = storeAt()
    const policies = [
      fixedWindow({ name: 'quick', limit: 3, window: '1m' }),
      fixedWindow({ name: 'daily', limit: 5, window: '1d' }),
    ]
    const { url, agent } = await start(platform, {
      imports: [RateLimitModule.forRoot({ policies, store })],
      controllers: [Pages],
      providers: [everywhere],
    })
    expect(await statuses(url, ['/login', '/login', '/', '/', '/', '/', '/login'])).toEqual([
      200, 429, 200, 200, 200, 429, 429,
    ])
    for (let n = 0; n < 10; n++) {
      const { body, headers } = await agent.get('/health')
      expect([body, headers['x-ratelimit-limit']]).toEqual([{ limited: false }, undefined])
    }
  })

  test.each<[string, () => ReturnType<typeof RateLimitModule.forRoot>]>([
    ['beside a text', () => RateLimitModule.forRoot('1/1h', { keys: byHeader('x-user') })],
    ['beside no limit', () => RateLimitModule.forRoot({ limit: false }, { keys: byHeader('x-user') })],
  ])('further options stand in a second argument, %s', async (_which, module) => {
    @Controller()
    class One {
      @RateLimit('1/1h')
      @Get()
      page() {
        return 'page'
      }
    }
    const { agent } = await start(platform, { imports: [module()], controllers: [One], providers: [everywhere] })
    const seen: number[] = []
    for (const user of ['ann', 'bob', 'ann']) seen.push((await agent.get('/').set('x-user', user)).status)
    expect(seen).toEqual([200, 200, 429])
    const wrong = { nonsense: 1 } as never
    expect(() => RateLimitModule.forRoot('1/1h', wrong)).toThrow(/has no option "nonsense"/)
    expect(() => RateLimitModule.forRoot({ limit: false }, wrong)).toThrow(/has no option "nonsense"/)
  })

  test('a guard that is global, on the controller and on the handler counts a request once', async () => {
    @UseGuards(RateLimitGuard)
    @Controller()
    class Guarded {
      @UseGuards(RateLimitGuard, RateLimitGuard)
      @Get()
      page(@RateLimitDecision() { remaining }: RequestDecision) {
        return { remaining }
      }

      @RateLimit('5/1m fixed-window')
      @UseGuards(RateLimitGuard)
      @Get('own')
      own(@RateLimitDecision() { remaining }: RequestDecision) {
        return { remaining }
      }
    }
    const { agent } = await start(platform, {
      imports: [RateLimitModule.forRoot('10/1m fixed-window')],
      controllers: [Guarded],
      providers: [everywhere],
    })
    expect((await agent.get('/')).body).toEqual({ remaining: 9 })
    expect((await agent.get('/')).body).toEqual({ remaining: 8 })
    expect((await agent.get('/own')).body).toEqual({ remaining: 4 })
    expect((await agent.get('/')).body).toEqual({ remaining: 7 })
  })

  test('forged X-Forwarded-For is never believed, and behind one proxy only its own entry', async () => {
    const metadata = { imports: [RateLimitModule.forRoot('1/1m')], controllers: [Pages], providers: [everywhere] }
    const forged = [1, 2, 3].map((n): [string, Record<string, string>] => [
      '/',
      { 'x-forwarded-for': `203.0.113.${n}` },
    ])
    expect(await statuses((await start(platform, metadata)).url, forged)).toEqual([200, 429, 429])
    const proxied = [1, 2].map((n): [string, Record<string, string>] => [
      '/',
      { 'x-forwarded-for': `203.0.113.${n}, 198.51.100.1` },
    ])
    const { url } = await start(platform, metadata, { trustProxy: true })
    expect(await statuses(url, [...proxied, ['/', { 'x-forwarded-for': '198.51.100.2' }]])).toEqual([200, 429, 200])
  })

  test('several policies are one decision: a refusal by one takes nothing from the other', async () => {
    const { clock, store } = storeAt()
    const policies = [
      fixedWindow({ name: 'quick', limit: 1, window: '1s' }),
      fixedWindow({ name: 'daily', limit: 2, window: '1d' }),
    ]
    const { url, agent } = await start(platform, {
      imports: [RateLimitModule.forRoot({ policies, store, headers: 'draft-8' })],
      controllers: [Pages],
      providers: [everywhere],
    })
    expect(await statuses(url, ['/', '/', '/', '/'])).toEqual([200, 429, 429, 429])
    clock.advance('1s')
    expect((await agent.get('/')).headers.ratelimit).toBe('"quick";r=0;t=1, "daily";r=0;t=86399')
  })
})
