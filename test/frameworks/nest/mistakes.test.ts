import {
  type CanActivate,
  Controller,
  type ExecutionContext,
  Get,
  Inject,
  Injectable,
  Module,
  type ModuleMetadata,
  Scope,
  SetMetadata,
  UseGuards,
} from '@nestjs/common'
import { APP_GUARD } from '@nestjs/core'
import { GrpcStreamCall } from '@nestjs/microservices'
import { byHeader, HeadgateError } from 'headgate'
import { RateLimit, RateLimitCost, RateLimitGuard, RateLimitModule, SkipRateLimit } from 'headgate/nest'
import { describe, expect, test } from 'vitest'
import { headgateWarnings } from '../../support/headgate-warnings.ts'
import { everywhere, start, storeAt } from '../support/nest.ts'

/* Mistakes in the options of the module and of decorators: each is an error at start, or gives one warning. */

/** What a limit of a decorator is told: its policies are one option there. */
const window = /Write (window: '15m'|policies: '100\/15m')\./
const limit = /Write (limit: 100|policies: '100\/15m')\./

const errors: readonly (readonly [string, object, string | RegExp])[] = [
  ['windowMs', { limit: 5, windowMs: 900_000 }, window],
  ['ttl', { limit: 5, ttl: 60_000 }, window],
  ['max', { window: '15m', max: 5 }, limit],
  ['message', { policies: '5/1m', message: 'Slow.' }, 'Write refuse:'],
  ['statusCode', { policies: '5/1m', statusCode: 503 }, 'Write refuse:'],
  ['key', { policies: '5/1m', key: 'ann' }, 'Write keys:'],
  ['blockDuration', { policies: '5/1m', blockDuration: 60 }, 'Write penalty:'],
  ['keys of no policy', { policies: '5/1m', keys: { user: byHeader('x-user') } }, 'no policy has that scope'],
]

describe.each(errors)('%s is an error', (_, options, fix) => {
  test('of the module', () => {
    expect(() => RateLimitModule.forRoot(options as never)).toThrow(HeadgateError)
    expect(() => RateLimitModule.forRoot(options as never)).toThrow(fix)
  })

  test('of a decorator', async () => {
    @Controller()
    class Files {
      @RateLimit(options as never)
      @Get()
      list() {
        return []
      }
    }
    const metadata = { imports: [RateLimitModule.forRoot('9/1h')], controllers: [Files], providers: [everywhere] }
    await expect(start('Express', metadata)).rejects.toThrow(fix)
  })
})

test.each([
  ['HEADGATE_SECONDS', { limit: 5, window: 3600 }],
  ['HEADGATE_SECONDS', { policies: '5/1m', functionTimeout: 5 }],
])('%s is given once for %j', async (code, options) => {
  await headgateWarnings()
  for (let n = 0; n < 3; n++) RateLimitModule.forRoot(options as never)
  expect(await headgateWarnings()).toEqual([expect.stringContaining(code)])
})

test.each([
  ['count', 'failures'],
  ['cost', 2],
  ['settle', true],
  ['delay', { max: '1s' }],
  ['penalty', { after: 5, within: '1h', ban: '1h' }],
])('%s of a module without a limit is an error, because no limit inherits it', (option, value) => {
  const forRoot = (given: unknown) => () => RateLimitModule.forRoot({ limit: false, [option]: given } as never)
  expect(forRoot(value)).toThrow(expect.objectContaining({ code: 'HEADGATE_OPTION' }))
  expect(forRoot(value)).toThrow(`RateLimitModule.forRoot({ limit: false }) has no option "${option}". It takes: keys,`)
})

test('a module without a limit takes all that limits of handlers inherit, and undefined for what they do not', () => {
  const inherited = {
    headers: 'draft-11',
    problem: true,
    enforce: 1,
    storeTimeout: '1s',
    instances: 2,
    skip: () => false,
  }
  RateLimitModule.forRoot({ limit: false, ...inherited, count: undefined, cost: undefined } as never)
})

test('a missing store of a module without a limit gives one warning, because the limits of handlers take it', async () => {
  @Controller()
  class Files {
    @RateLimit('5/1m')
    @Get()
    list() {
      return []
    }
  }
  await headgateWarnings()
  const imports = [RateLimitModule.forRoot({ limit: false, store: undefined } as never)]
  await start('Express', { imports, controllers: [Files], providers: [everywhere] })
  expect(await headgateWarnings()).toEqual([expect.stringContaining('HEADGATE_NO_STORE')])
})

describe('a limit of the module', () => {
  class Pages {
    page() {
      return 'page'
    }

    limited() {
      return 'limited'
    }
  }
  const decorate = (type: typeof Pages, name: 'page' | 'limited', ...decorators: MethodDecorator[]) => {
    const descriptor = { value: () => name, writable: true, configurable: true }
    Object.defineProperty(type.prototype, name, descriptor)
    for (const each of [Get(name), ...decorators]) each(type.prototype, name, descriptor)
  }
  /** A controller with two handlers, of which one has a limit of its own. */
  const pages = (...decorators: MethodDecorator[]) => {
    class Shop extends Pages {}
    decorate(Shop, 'page', ...decorators)
    decorate(Shop, 'limited', RateLimit('5/1m') as MethodDecorator)
    Controller()(Shop)
    return Shop
  }
  const costly = () => {
    class Costly extends Pages {}
    decorate(Costly, 'page')
    decorate(Costly, 'limited', RateLimitCost(5))
    Controller()(Costly)
    return Costly
  }

  @Injectable()
  class Wrapped implements CanActivate {
    constructor(@Inject(RateLimitGuard) private readonly inner: RateLimitGuard) {}

    canActivate(context: ExecutionContext) {
      return this.inner.canActivate(context)
    }
  }

  const withGuard = UseGuards(RateLimitGuard) as MethodDecorator
  const warning = expect.stringMatching(/^HEADGATE_UNGUARDED: .*provide: APP_GUARD, useClass: RateLimitGuard/)

  test.each<[string, Parameters<typeof RateLimitModule.forRoot>[0], ModuleMetadata, boolean]>([
    ['the guard as a provider only', '9/1h', { controllers: [pages()], providers: [RateLimitGuard] }, true],
    ['a cost on one handler only', '9/1h', { controllers: [costly()] }, true],
    ['the guard for all', '9/1h', { controllers: [pages()], providers: [everywhere] }, false],
    ['the guard on a handler', '9/1h', { controllers: [pages(withGuard)] }, false],
    [
      'a guard that calls it',
      '9/1h',
      { controllers: [pages()], providers: [{ provide: APP_GUARD, useClass: Wrapped }] },
      false,
    ],
    ['no limit', { limit: false }, { controllers: [pages()] }, false],
    ['no handler that it could limit', '9/1h', { controllers: [pages(SkipRateLimit() as MethodDecorator)] }, false],
    ['no handlers', '9/1h', {}, false],
  ])('with %s', async (_, limit, metadata, warns) => {
    await headgateWarnings()
    await start('Express', { imports: [RateLimitModule.forRoot(limit)], ...metadata })
    expect(await headgateWarnings()).toEqual(warns ? [warning] : [])
  })

  test('with the guard on the application', async () => {
    await headgateWarnings()
    const metadata = { imports: [RateLimitModule.forRoot('9/1h')], controllers: [pages()] }
    await start('Express', metadata, { prepare: (app) => app.useGlobalGuards(app.get(RateLimitGuard)) })
    expect(await headgateWarnings()).toEqual([])
  })
})

type Class = new () => object

describe('@RateLimit on a method', () => {
  class Files {
    async list() {
      return []
    }
  }
  /** The class with decorators on its method, and on itself. */
  const withMethod = (type: ClassDecorator, ...decorators: MethodDecorator[]) => {
    class Given extends Files {}
    const descriptor = { value: async () => [], writable: true, configurable: true }
    Object.defineProperty(Given.prototype, 'list', descriptor)
    for (const each of decorators) each(Given.prototype, 'list', descriptor)
    type(Given)
    return Given
  }
  const limit = RateLimit('5/1m') as MethodDecorator
  const guard = UseGuards(RateLimitGuard) as MethodDecorator
  const imports = [RateLimitModule.forRoot('9/1h')]

  test.each([
    ['a controller', (given: Class) => ({ controllers: [given] }), Controller()],
    ['a provider', (given: Class) => ({ providers: [given] }), Injectable()],
  ])('that no request reaches is an error: of %s', async (_, metadata, type) => {
    for (const decorators of [[limit], [limit, guard]]) {
      const given = metadata(withMethod(type, ...decorators))
      await expect(start('Express', { imports, ...given })).rejects.toMatchObject({
        code: 'HEADGATE_OPTION',
        message: expect.stringContaining('@RateLimit at Given.list has no effect'),
      })
    }
  })

  test('that code of another package may call, by its own decorator, is none', async () => {
    const others = withMethod(Injectable(), limit, SetMetadata('bot:command', 'list') as MethodDecorator)
    withMethod(Injectable(), limit) // a class of no module
    await start('Express', { imports, providers: [others], controllers: [] })
  })
})

test('two modules of limits on one store are an error that names them', async () => {
  @Controller()
  class Files {
    @RateLimit('5/1m')
    @Get()
    list() {
      return []
    }
  }
  const { store } = storeAt()
  const imports = ['one', 'two'].map((name) => RateLimitModule.forRoot({ name, policies: '9/1h', store }))
  await expect(start('Express', { imports, controllers: [Files], providers: [everywhere] })).rejects.toMatchObject({
    code: 'HEADGATE_DUPLICATE_LIMITER',
    message: expect.stringContaining('RateLimitModule.forRoot'),
  })
})

test('options of a provider that Nest makes for each request are an error at start', async () => {
  @Injectable({ scope: Scope.REQUEST })
  class Tenant {}
  @Module({ providers: [Tenant], exports: [Tenant] })
  class TenantModule {}
  @Controller()
  class Logins {
    @RateLimit('2/1h')
    @Get()
    login() {
      return 'ok'
    }
  }
  const limits = RateLimitModule.forRootAsync({
    imports: [TenantModule],
    inject: [Tenant],
    useFactory: () => ({ limit: false }),
  })
  await expect(start('Express', { imports: [limits], controllers: [Logins] })).rejects.toMatchObject({
    code: 'HEADGATE_OPTION',
    message: expect.stringContaining('scope of a request'),
  })
})

test.each([
  ['of a decorator', { limit: false } as const, [RateLimit('2/1h')]],
  ['of the module', '2/1h' as const, []],
])(
  'a limit %s on a handler of @GrpcStreamCall, which cannot be refused, is an error at start',
  async (_, limit, own) => {
    const feed = (decorators: readonly MethodDecorator[]) => {
      class Feed {
        open() {}
      }
      const open = Object.getOwnPropertyDescriptor(Feed.prototype, 'open') as PropertyDescriptor
      for (const decorate of [GrpcStreamCall('Feed', 'Open'), ...decorators]) decorate(Feed.prototype, 'open', open)
      Controller()(Feed)
      return { imports: [RateLimitModule.forRoot(limit)], controllers: [Feed], providers: [everywhere] }
    }
    await expect(start('Express', feed(own))).rejects.toThrow(
      /^The limit at Feed.open cannot refuse a call: .*SkipRateLimit/,
    )
    await start('Express', feed([SkipRateLimit()]))
  },
)
