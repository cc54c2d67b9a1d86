import { Controller, Get } from '@nestjs/common'
import { byHeader, fixedWindow, RateLimiter, type RequestDecision, slidingWindow } from 'headgate'
import {
  RateLimit,
  RateLimitCost,
  RateLimitDecision,
  RateLimitGuard,
  RateLimitModule,
  SkipRateLimit,
} from 'headgate/nest'
import { describe, expect, test } from 'vitest'
import { everywhere, platforms, start, statuses, storeAt } from '../support/nest.ts'

const policies = [
  fixedWindow({ name: 'burst', limit: 1, window: '1s' }),
  fixedWindow({ name: 'daily', limit: 3, window: '1d' }),
]

describe('@SkipRateLimit', () => {
  @Controller()
  class Files {
    @Get()
    list(@RateLimitDecision() decision: RequestDecision) {
      return decision.policies.map(({ name, remaining }) => `${name} ${remaining}`)
    }

    @SkipRateLimit('burst')
    @Get('sync')
    sync(@RateLimitDecision() decision: RequestDecision) {
      return decision.policies.map(({ name, remaining }) => `${name} ${remaining}`)
    }

    @SkipRateLimit('burst', 'daily')
    @Get('open')
    open(@RateLimitDecision() decision: RequestDecision | undefined) {
      return [String(decision)]
    }
  }

  test.each(platforms)('by name leaves the other policies, which share their states, on %s', async (platform) => {
    const { store } = storeAt()
    const { agent } = await start(platform, {
      imports: [RateLimitModule.forRoot({ policies, store })],
      controllers: [Files],
      providers: [everywhere],
    })
    const get = async (path: string) => (await agent.get(path)).body
    expect(await get('/')).toEqual(['burst 0', 'daily 2'])
    expect(await get('/')).toMatchObject({ policy: 'burst' })
    expect(await get('/sync')).toEqual(['daily 1'])
    expect(await get('/sync')).toEqual(['daily 0'])
    expect(await get('/sync')).toMatchObject({ statusCode: 429, policy: 'daily' })
    for (let n = 0; n < 5; n++) expect(await get('/open')).toEqual(['undefined'])
  })

  test('with a penalty, the policies that are left keep it', async () => {
    const { clock, store } = storeAt()
    const penalty = { after: 2, within: '1h', ban: '1h' } as const
    const { url } = await start('Express', {
      imports: [RateLimitModule.forRoot({ policies, store, penalty })],
      controllers: [Files],
      providers: [everywhere],
    })
    expect(await statuses(url, ['/sync', '/sync', '/sync', '/sync', '/sync'])).toEqual([200, 200, 200, 429, 429])
    clock.advance('1d')
    expect(await statuses(url, ['/sync', '/'])).toEqual([200, 200])
  })

  test('on a class exempts its handlers, but not one with a limit of its own', async () => {
    @SkipRateLimit()
    @Controller()
    class Health {
      @Get()
      check() {
        return 'ok'
      }

      @RateLimit('1/1h')
      @Get('deep')
      deep() {
        return 'ok'
      }
    }
    const { url } = await start('Express', {
      imports: [RateLimitModule.forRoot('1/1h')],
      controllers: [Health],
      providers: [everywhere],
    })
    expect(await statuses(url, ['/', '/', '/', '/deep', '/deep'])).toEqual([200, 200, 200, 200, 429])
  })
})

describe('@RateLimit', () => {
  @RateLimit('3/1h fixed-window')
  @Controller('a')
  class Base {
    @Get()
    one(@RateLimitDecision() { remaining }: RequestDecision) {
      return { remaining }
    }

    @Get('two')
    two(@RateLimitDecision() { remaining }: RequestDecision) {
      return { remaining }
    }

    @RateLimit({ policies: '2/1h fixed-window', keys: byHeader('x-user'), settle: true, cost: 2 })
    @Get('own')
    async own(@RateLimitDecision() decision: RequestDecision) {
      await decision.settle(1)
      return { settled: true }
    }
  }

  @Controller('b')
  class Derived extends Base {}

  test.each(platforms)(
    'on a class is one quota for its handlers, and another for each subclass, on %s',
    async (platform) => {
      const { agent } = await start(platform, {
        imports: [RateLimitModule.forRoot({ limit: false })],
        controllers: [Base, Derived],
      })
      const left = async (path: string) => (await agent.get(path)).body.remaining ?? 'refused'
      expect([await left('/a'), await left('/a/two'), await left('/a'), await left('/a/two')]).toEqual([
        2,
        1,
        0,
        'refused',
      ])
      expect([await left('/b'), await left('/b/two')]).toEqual([2, 1])
    },
  )

  test('takes options: keys, a cost, and units that the handler settles', async () => {
    const { url } = await start('Fastify', {
      imports: [RateLimitModule.forRoot({ limit: false })],
      controllers: [Base],
    })
    const own = (user: string): [string, Record<string, string>] => ['/a/own', { 'x-user': user }]
    // The first call has settled one of its two units, so one is left, and a second call of two does not fit.
    expect(await statuses(url, [own('ann'), own('bob'), own('ann')])).toEqual([200, 200, 429])
  })

  test('a limiter that several handlers name is one quota', async () => {
    const limiter = new RateLimiter({ policies: '2/1h fixed-window' })
    @Controller()
    class Logins {
      @RateLimit(limiter)
      @Get('login')
      login() {
        return 'in'
      }

      @RateLimit({ limiter, headers: false })
      @Get('token')
      token() {
        return 'token'
      }
    }
    const { url } = await start('Express', { imports: [RateLimitModule.forRoot('9/1h')], controllers: [Logins] })
    expect(await statuses(url, ['/login', '/token', '/login', '/token'])).toEqual([200, 200, 429, 429])
    expect((await limiter.peek('127.0.0.1')).remaining).toBe(0)
  })

  test('inherits the store, the keys and the form of the module, named after its place', async () => {
    const { store } = storeAt()
    const events: string[] = []
    const { app, url, agent } = await start('Express', {
      imports: [
        RateLimitModule.forRoot({
          policies: slidingWindow({ limit: 9, window: '1h' }),
          store,
          keys: byHeader('x-user'),
          headers: 'draft-8',
          onDecision: ({ limiter, key }) => events.push(`${limiter} ${String(key)}`),
        }),
      ],
      controllers: [Base],
      providers: [everywhere],
    })
    expect(await statuses(url, [['/a', { 'x-user': 'ann' }]])).toEqual([200])
    const { headers } = await agent.get('/a/own').set('x-user', 'bob')
    expect([headers['ratelimit-policy'], headers['x-ratelimit-limit']]).toEqual(['"1h";q=2;w=3600', undefined])
    expect(events).toEqual(['Base ann', 'Base.own bob'])
    // The same store knows both limiters by these names.
    expect(() => new RateLimiter({ name: 'Base.own', policies: '2/1h', store })).toThrow(
      expect.objectContaining({ code: 'HEADGATE_DUPLICATE_LIMITER' }),
    )
    expect((await app.get(RateLimitGuard).limiter?.health())?.state).toBeDefined()
  })
})

describe('misuse stops the start', () => {
  const startWith = async (
    decorate: MethodDecorator[],
    options: Parameters<typeof RateLimitModule.forRoot>[0] = '9/1h',
  ) => {
    @Controller()
    class Wrong {
      @Get()
      page() {
        return 'page'
      }
    }
    const descriptor = Object.getOwnPropertyDescriptor(Wrong.prototype, 'page') as PropertyDescriptor
    for (const each of decorate) each(Wrong.prototype, 'page', descriptor)
    return start('Express', { imports: [RateLimitModule.forRoot(options)], controllers: [Wrong] })
  }

  test.each([
    ['a limit of a handler', [RateLimit('5 a minute')], 'HEADGATE_POLICY', /5 a minute/],
    ['an option', [RateLimit({ limit: 5, window: '1m', key: 'x' } as never)], 'HEADGATE_OPTION', /no option "key"/],
    ['no limit', [RateLimit(undefined as never)], 'HEADGATE_POLICY', /rateLimit takes a policy/],
    ['a name to skip', [SkipRateLimit('burts')], 'HEADGATE_OPTION', /'burts'\) at Wrong.page names no policy.*: 1h\./],
    ['a limit that is skipped', [RateLimit('5/1m'), SkipRateLimit()], 'HEADGATE_OPTION', /Wrong.page is skipped/],
    ['two limits of a handler', [RateLimit('5/1m'), RateLimit('9/1h')], 'HEADGATE_OPTION', /Wrong.page has two of/],
    [
      'a limit and a cost',
      [RateLimit('5/1m'), RateLimitCost(5)],
      'HEADGATE_OPTION',
      /Wrong.page has two of .* cost: 5/,
    ],
  ] as const)('%s', async (_what, decorate, code, message) => {
    await expect(startWith([...decorate])).rejects.toMatchObject({ code, message: expect.stringMatching(message) })
  })

  test('a class with two limits, or with a limit and @SkipRateLimit()', async () => {
    const twice = () => {
      @RateLimit('9/1h')
      @RateLimit('5/1m')
      class Both {}
      return Both
    }
    expect(twice).toThrow(expect.objectContaining({ code: 'HEADGATE_OPTION' }))

    class Pages {
      page() {
        return 'page'
      }
    }
    Get()(Pages.prototype, 'page', Object.getOwnPropertyDescriptor(Pages.prototype, 'page') as PropertyDescriptor)
    @SkipRateLimit()
    class Free extends Pages {}
    @RateLimit('5/1m')
    class Limited extends Pages {}
    const startPages = (base: typeof Pages, decorate: ClassDecorator) => {
      @decorate
      @Controller()
      class Files extends base {}
      return start('Express', {
        imports: [RateLimitModule.forRoot('2/1h')],
        controllers: [Files],
        providers: [everywhere],
      })
    }
    await expect(startPages(Free, RateLimit('1/1h'))).rejects.toThrow(/^Files is skipped/)
    const { url: free } = await startPages(Limited, SkipRateLimit())
    expect(await statuses(free, ['/', '/', '/'])).toEqual([200, 200, 200])
    const { url: stricter } = await startPages(Limited, RateLimit('1/1h'))
    expect(await statuses(stricter, ['/', '/'])).toEqual([200, 429])
  })

  test('of the module, at once', () => {
    const options = (value: unknown) => () => RateLimitModule.forRoot(value as never)
    for (const value of [undefined, null, 5, '5 a minute', {}, { limit: false, keyz: 1 }, { limit: 5 }]) {
      expect(options(value), String(value)).toThrow(
        expect.objectContaining({ code: expect.stringMatching(/^HEADGATE_/) }),
      )
    }
    for (const value of [undefined, {}, { useFactory: 5 }, { useFactory: () => '5/1m', useClass: Object }]) {
      expect(() => RateLimitModule.forRootAsync(value as never)).toThrow(
        expect.objectContaining({ code: 'HEADGATE_OPTION' }),
      )
    }
    expect(() => SkipRateLimit(5 as never)).toThrow(expect.objectContaining({ code: 'HEADGATE_OPTION' }))
  })

  test('two classes of one name need names for their limits', async () => {
    const named = (options: { name?: string }) => {
      class Users {
        page() {
          return 'page'
        }
      }
      Controller(options.name ?? 'other')(Users)
      const descriptor = Object.getOwnPropertyDescriptor(Users.prototype, 'page') as PropertyDescriptor
      Get()(Users.prototype, 'page', descriptor)
      RateLimit({ policies: '1/1h', ...options })(Users.prototype, 'page', descriptor)
      return Users
    }
    const startBoth = (first: { name?: string }) =>
      start('Express', {
        imports: [RateLimitModule.forRoot('9/1h')],
        controllers: [named(first), named({})],
      })
    await expect(startBoth({})).rejects.toMatchObject({
      code: 'HEADGATE_DUPLICATE_LIMITER',
      message: expect.stringMatching(/^@RateLimit at Users\.page: .*name: 'other' }\)\.$/),
    })
    const { url } = await startBoth({ name: 'admin' })
    expect(await statuses(url, ['/admin', '/admin', '/other', '/other'])).toEqual([200, 429, 200, 429])
  })

  test('of policies that a function chooses: no name can be skipped', async () => {
    const plans = { policies: () => '5/1m' }
    await expect(startWith([SkipRateLimit('1m')], plans)).rejects.toThrow(/function of the call/)
  })
})
