import {
  All,
  type ArgumentsHost,
  type CanActivate,
  Catch,
  Controller,
  type ExceptionFilter,
  type ExecutionContext,
  Get,
  HttpException,
  Inject,
  Injectable,
  Module,
  Param,
  Scope,
  UseFilters,
  UseGuards,
  Version,
  VersioningType,
} from '@nestjs/common'
import { REQUEST } from '@nestjs/core'
import { byIp, byParam, byRoute, combine, fixedWindow, RateLimiter, type RequestDecision } from 'headgate'
import {
  RateLimit,
  RateLimitDecision,
  RateLimitException,
  RateLimitGuard,
  RateLimitModule,
  requestOf,
} from 'headgate/nest'
import { describe, expect, test } from 'vitest'
import { everywhere, platforms, start, statuses, storeAt } from '../support/nest.ts'

@Controller('users')
class Users {
  @Version('1')
  @Get(':id')
  first(@Param('id') id: string) {
    return `1 ${id}`
  }

  @Version('2')
  @Get(':id')
  second(@Param('id') id: string) {
    return `2 ${id}`
  }
}

describe.each(platforms)('an application on %s', (platform) => {
  test('has its options from other providers', async () => {
    class Config {
      readonly limit = fixedWindow({ limit: 2, window: '1h' })
    }
    @Module({ providers: [Config], exports: [Config] })
    class ConfigModule {}
    const { store } = storeAt()
    const { url } = await start(
      platform,
      {
        imports: [
          RateLimitModule.forRootAsync({
            imports: [ConfigModule],
            inject: [Config],
            useFactory: async (config: Config) => ({ policies: config.limit, store, keys: byParam('id') }),
          }),
        ],
        controllers: [Users],
        providers: [everywhere],
      },
      { prepare: (app) => app.enableVersioning({ type: VersioningType.URI }) },
    )
    const user = (id: number) => `/v1/users/${id}`
    expect(await statuses(url, [user(1), user(1), user(1), user(2)])).toEqual([200, 200, 429, 200])
  })

  test('that gets invalid options from a factory does not start', async () => {
    const failing = (useFactory: () => unknown) =>
      start(platform, { imports: [RateLimitModule.forRootAsync({ useFactory: useFactory as never })] })
    await expect(failing(() => undefined)).rejects.toMatchObject({ code: 'HEADGATE_POLICY' })
    await expect(failing(async () => ({ limit: -1, window: '1m' }))).rejects.toMatchObject({ code: 'HEADGATE_LIMIT' })
  })

  test('with a global prefix and versions: byRoute is the whole pattern', async () => {
    const routes: string[] = []
    const { url } = await start(
      platform,
      {
        imports: [
          RateLimitModule.forRoot({
            ...{ limit: 1, window: '1h', keys: combine(byIp(), byRoute()) },
            onDecision: ({ key }) => routes.push(String(key)),
          }),
        ],
        controllers: [Users],
        providers: [everywhere],
      },
      {
        prepare(app) {
          app.setGlobalPrefix('api')
          app.enableVersioning({ type: VersioningType.URI })
        },
      },
    )
    const paths = ['/api/v1/users/1', '/api/v1/users/2', '/api/v2/users/1', '/api/v2/users/3']
    expect(await statuses(url, paths)).toEqual([200, 429, 200, 429])
    expect(new Set(routes.map((key) => key.split('|').at(-1)))).toEqual(
      new Set(['GET /api/v1/users/:id', 'GET /api/v2/users/:id']),
    )
  })

  test('with a route for all methods: byRoute has one quota for it', async () => {
    @Controller('every')
    class Every {
      @All(':x')
      all() {
        return 'all'
      }
    }
    const { url } = await start(platform, {
      imports: [RateLimitModule.forRoot({ limit: 2, window: '1h', keys: combine(byIp(), byRoute()) })],
      controllers: [Every],
      providers: [everywhere],
    })
    const found: number[] = []
    for (const method of ['GET', 'POST', 'PUT', 'PATCH', 'DELETE', 'HEAD']) {
      found.push((await fetch(`${url}/every/${method}`, { method })).status)
    }
    expect(found.map((status) => (status < 300 ? 'ok' : status))).toEqual(['ok', 'ok', 429, 429, 429, 429])
  })

  test('with providers of the request, and a guard that is one of them', async () => {
    @Injectable({ scope: Scope.REQUEST })
    class Tenant {
      readonly name: string
      constructor(@Inject(REQUEST) request: { headers: Record<string, string> }) {
        this.name = request.headers['x-tenant'] ?? ''
      }
    }
    @Controller()
    class Pages {
      readonly #tenant: Tenant
      constructor(@Inject(Tenant) tenant: Tenant) {
        this.#tenant = tenant
      }

      @RateLimit('2/1h fixed-window')
      @Get()
      page(@RateLimitDecision() decision: RequestDecision) {
        return `${this.#tenant.name} ${decision.remaining}`
      }
    }
    const { agent } = await start(platform, {
      imports: [RateLimitModule.forRoot('9/1h')],
      controllers: [Pages],
      providers: [Tenant, everywhere],
    })
    const get = async () => (await agent.get('/').set('x-tenant', 'ann')).text
    expect([await get(), await get()]).toEqual(['ann 1', 'ann 0'])
    expect(await get()).toContain('too_many_requests')
  })

  test('an exception filter gets the decision of a refusal', async () => {
    @Catch(RateLimitException)
    class Busy implements ExceptionFilter {
      catch(refusal: RateLimitException, host: ArgumentsHost) {
        const { retryAfter, policy } = refusal.decision as RequestDecision
        const reply = host.switchToHttp().getResponse<{ status(code: number): { send(body: unknown): void } }>()
        reply.status(refusal.getStatus()).send({ busy: Math.ceil(retryAfter / 1000), policy })
      }
    }
    @UseFilters(Busy)
    @Controller()
    class Pages {
      @Get()
      page() {
        return 'page'
      }
    }
    const { store } = storeAt()
    const { agent } = await start(platform, {
      imports: [RateLimitModule.forRoot({ policies: '1/1m fixed-window', store })],
      controllers: [Pages],
      providers: [everywhere],
    })
    await agent.get('/')
    const { status, body, headers } = await agent.get('/')
    expect([status, body, headers['retry-after']]).toEqual([429, { busy: 60, policy: '1m' }, '60'])
  })

  test('a guard that stands before the limit says who is limited, and what it refuses does not count', async () => {
    class Login implements CanActivate {
      canActivate(context: ExecutionContext) {
        const request = context.switchToHttp().getRequest()
        request.user = request.headers.authorization
        return request.user !== undefined
      }
    }
    @Controller()
    class Pages {
      // Guards run in the order of the lines from below.
      @RateLimit({ limit: 1, window: '1h', keys: (context) => requestOf<{ user: string }>(context)?.user })
      @UseGuards(Login)
      @Get()
      page() {
        return 'page'
      }
    }
    const { url } = await start(platform, { imports: [RateLimitModule.forRoot('9/1h')], controllers: [Pages] })
    const user = (authorization: string): [string, Record<string, string>] => ['/', { authorization }]
    expect(await statuses(url, ['/', '/', user('ann'), user('ann'), user('bob')])).toEqual([403, 403, 200, 429, 200])
  })

  test('refuse gives the body, throws an exception, or responds itself', async () => {
    @Controller()
    class Pages {
      @RateLimit('0/1h', { refuse: ({ policy }) => ({ mine: policy }) })
      @Get('body')
      body() {}

      @RateLimit('0/1h', { refuse: () => 'Slow down' })
      @Get('text')
      text() {}

      @RateLimit('0/1h', {
        refuse() {
          throw new HttpException('gone', 410)
        },
      })
      @Get('thrown')
      thrown() {}

      @RateLimit('0/1h', { refuse: () => new HttpException('busy', 503) })
      @Get('returned')
      returned() {}

      @RateLimit('0/1h', { refuse: (_decision, context) => void context.switchToHttp().getResponse().send('sent') })
      @Get('sent')
      sent() {}

      @RateLimit('0/1h', { refuse: async () => undefined })
      @Get('nothing')
      nothing() {}

      @RateLimit('0/1h', { refuse: () => false })
      @Get('none')
      none() {}
    }
    const { agent } = await start(platform, {
      imports: [RateLimitModule.forRoot({ limit: false })],
      controllers: [Pages],
    })
    const get = async (path: string) => {
      const { status, text } = await agent.get(path)
      return [status, text]
    }
    expect(await get('/body')).toEqual([429, '{"statusCode":429,"mine":"1h"}'])
    expect(await get('/text')).toEqual([429, '{"statusCode":429,"message":"Slow down"}'])
    expect(await get('/thrown')).toEqual([410, '{"statusCode":410,"message":"gone"}'])
    expect(await get('/returned')).toEqual([503, '{"statusCode":503,"message":"busy"}'])
    expect(await get('/sent')).toEqual([429, 'sent'])
    expect(await get('/nothing')).toEqual([429, '{"statusCode":429,"message":"Too many requests."}'])
    expect(await get('/none')).toEqual([429, expect.stringContaining('"error":"too_many_requests"')])
  })

  test('that starts twice has states of its own each time, unless the module has a store', async () => {
    const { store } = storeAt()
    const limiter = new RateLimiter({ policies: '1/1h' })
    const found: number[][] = []
    for (const limit of ['1/1h', { policies: '1/1h', store, name: 'shared' }, { limiter }]) {
      const imports = [RateLimitModule.forRoot(limit as string)]
      const metadata = { imports, controllers: [Users], providers: [everywhere] }
      const versions = { prepare: (app: { enableVersioning(): unknown }) => app.enableVersioning() }
      const path = '/v1/users/1'
      const first = await statuses((await start(platform, metadata, versions)).url, [path, path])
      found.push([...first, ...(await statuses((await start(platform, metadata, versions)).url, [path]))])
    }
    expect(found).toEqual([
      [200, 429, 200],
      [200, 429, 429],
      [200, 429, 429],
    ])
  })
})

test('calls of a transport without addresses need keys: an error says so', async () => {
  const { app } = await start('Express', { imports: [RateLimitModule.forRoot('5/1h')], controllers: [Users] })
  const guard = app.get(RateLimitGuard)
  const context = (data: unknown) =>
    ({
      getType: () => 'rpc',
      getArgs: () => [data, { getTopic: () => 'orders' }],
      getClass: () => Users,
      getHandler: () => Users.prototype.first,
    }) as unknown as ExecutionContext
  expect(() => guard.canActivate(context({ tenant: 'ann' }))).toThrow(
    expect.objectContaining({ code: 'HEADGATE_KEY', message: expect.stringContaining('Give the limit keys') }),
  )
})
