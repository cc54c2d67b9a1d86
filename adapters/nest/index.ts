/* NestJS: `headgate/nest`. The module, the guard, the decorators and the interceptor for Nest. */
import type { IncomingMessage } from 'node:http'
import {
  type DynamicModule,
  type ExecutionContext,
  Inject,
  Module,
  type OnModuleInit,
  type Provider,
  Scope,
} from '@nestjs/common'
import { ApplicationConfig, DiscoveryModule, DiscoveryService, MetadataScanner, ModuleRef } from '@nestjs/core'
import { anything, callback, HeadgateError, readOptions, warnOnce } from '../../src/common/index.ts'
import { callOf, isObject } from './nest-call.ts'
import {
  type Class,
  fieldEnhancers,
  fieldWithoutGuards,
  type Handler,
  isField,
  isGuarded,
  isHandler,
  isIntercepted,
  isLimitedInVain,
  isStreamCall,
  noEffect,
  takesMessages,
  transportOf,
  unrefusable,
  unseenEnd,
} from './nest-enhancers.ts'
import { exceptionClass } from './nest-exceptions.ts'
import { limitsToken, RateLimitGuard } from './nest-guard.ts'
import { checkRxjs } from './nest-interceptor.ts'
import { NestLimits } from './nest-limits.ts'
import type { NestGuardOptions, RateLimitModuleOptions } from './nest-options.ts'

export { RateLimit, RateLimitCost, RateLimitDecision, SkipRateLimit } from './nest-decorators.ts'
export { RateLimitException } from './nest-exceptions.ts'
export { nestFramework } from './nest-framework.ts'
export { RateLimitGuard } from './nest-guard.ts'
export { RateLimitInterceptor } from './nest-interceptor.ts'
export type { NestArgument, NestGuardOptions, RateLimitModuleOptions } from './nest-options.ts'

const readers = {
  imports: anything,
  inject: anything,
  useFactory: callback<RateLimitModuleAsyncOptions['useFactory']>('(config) => config.limit'),
}

/** The options of `forRootAsync`: a function that returns the options of the module, and what to inject into the function. */
export interface RateLimitModuleAsyncOptions {
  /** The modules that export the providers in `inject`. Default: none. Example: `[ConfigModule]`. */
  imports?: NonNullable<DynamicModule['imports']>
  /** The tokens of the providers that are passed to `useFactory`, in order. Default: none. Example: `[ConfigService]`. */
  inject?: readonly unknown[]
  /** Returns the options of the module, or a promise of them. Example: `(config) => config.get('limit')`. */
  // biome-ignore lint/suspicious/noExplicitAny: a provider has any type.
  useFactory: (...injected: any[]) => RateLimitModuleOptions | Promise<RateLimitModuleOptions>
}

/**
 * The module of the limits, for a Nest application on Express or Fastify. The module is global: every module of the application
 * can use the guard and the decorators.
 *
 *     @Module({
 *       imports: [RateLimitModule.forRoot('100/15m')],
 *       providers: [{ provide: APP_GUARD, useClass: RateLimitGuard }],
 *     })
 *     class AppModule {}
 */
export class RateLimitModule implements OnModuleInit {
  readonly #module: ModuleRef
  readonly #discovery: DiscoveryService
  readonly #scanner: MetadataScanner
  readonly #config: ApplicationConfig

  constructor(module: ModuleRef, discovery: DiscoveryService, scanner: MetadataScanner, config: ApplicationConfig) {
    this.#module = module
    this.#discovery = discovery
    this.#scanner = scanner
    this.#config = config
  }

  /**
   * Makes the module with these options.
   * @param options an argument of `rateLimit`, such as `'100/15m'`, or `{ limit: false, store }` if only decorated handlers are
   *   limited. Functions in the options get the execution context.
   * @param more further options, as in `forRoot('100/15m', { keys })`. If both arguments have an option, the first one counts
   * @throws HeadgateError if a policy or an option is invalid
   */
  static forRoot(options: RateLimitModuleOptions, more?: NestGuardOptions): DynamicModule {
    const limits = new NestLimits(options, more)
    let applications = 0
    return moduleWith({ provide: limitsToken, useFactory: () => (applications++ === 0 ? limits : limits.again()) })
  }

  /**
   * Makes the module like `forRoot`, with options that a function returns, for example options with a store on the application's Redis
   * client. If a limit is invalid, the application does not start.
   *
   *     RateLimitModule.forRootAsync({
   *       inject: [ConfigService],
   *       useFactory: (config) => ({ policies: config.get('limits'), store: redisStore({ client }) }),
   *     })
   *
   * @throws HeadgateError `HEADGATE_OPTION` if an option of `forRootAsync` is unknown. The application does not start, with the same code,
   *   if a provider in `inject` has the scope of a request
   */
  static forRootAsync(options: RateLimitModuleAsyncOptions): DynamicModule {
    const { imports = [], inject = [], useFactory } = readOptions('RateLimitModule.forRootAsync', options, readers)
    const make = async (...injected: unknown[]) => new NestLimits(await useFactory(...injected))
    return moduleWith({ provide: limitsToken, inject: [...inject] as never[], useFactory: make }, imports)
  }

  /**
   * Makes the limits of all handlers when the application starts. Throws if a limit is invalid, or is on a method that is no handler, or
   * if the options depend on the request.
   * Throws also if a limit of a message handler has to know when each call ends, and no `RateLimitInterceptor` runs around the handler.
   * After an error, the application does not start. Gives a warning if the module's limit is for handlers without a decorator, and
   * `RateLimitGuard` runs before none of these handlers.
   */
  async onModuleInit(): Promise<void> {
    if (this.#module.introspect(limitsToken).scope !== Scope.DEFAULT) throw perRequest()
    const limits: NestLimits = this.#module.get(limitsToken)
    let unguarded: string | undefined
    let isUsed = limits.root === undefined
    const providers = this.#discovery.getProviders()
    const enhancers = fieldEnhancers(providers)
    for (const { metatype, isNotMetatype } of [...this.#discovery.getControllers(), ...providers]) {
      const prototype: unknown = metatype?.prototype
      if (isNotMetatype || !isObject(prototype)) continue
      for (const name of this.#scanner.getAllMethodNames(prototype)) {
        const [type, handler] = [metatype as Class, prototype[name] as Handler]
        const { guard, own } = limits.find(type, handler)
        const isOfModule = !own && guard?.limiter === limits.root?.limiter
        const place = `${type.name}.${name}`
        if (isLimitedInVain(handler)) throw noEffect(place)
        if (own && guard !== undefined && isField(handler) && enhancers !== undefined) {
          if (!enhancers.includes('guards')) throw fieldWithoutGuards(place)
          this.#checkEnd(limits, type, handler, place, enhancers.includes('interceptors'))
        }
        if (!isHandler(handler)) continue
        const isLimited = isGuarded(this.#config, RateLimitGuard, type, handler)
        if (isLimited && guard !== undefined && isStreamCall(handler)) throw unrefusable(place)
        if (isLimited && takesMessages(handler)) this.#checkEnd(limits, type, handler, place)
        const transport = transportOf(handler)
        if (isLimited && transport !== undefined) await exceptionClass(transport).catch(() => undefined)
        if (isOfModule && isLimited) isUsed = true
        else if (isOfModule) unguarded = place
      }
    }
    if (!isUsed && unguarded !== undefined) warnOfNoGuard(unguarded)
  }

  #checkEnd(limits: NestLimits, type: Class, handler: Handler, place: string, intercepts = true): void {
    const { needsEnd } = limits.find(type, handler)
    if (needsEnd && !(intercepts && isIntercepted(this.#config, type, handler))) throw unseenEnd(place, type.name)
  }
}

Module({})(RateLimitModule)
Inject(ModuleRef)(RateLimitModule, undefined, 0)
Inject(DiscoveryService)(RateLimitModule, undefined, 1)
Inject(MetadataScanner)(RateLimitModule, undefined, 2)
Inject(ApplicationConfig)(RateLimitModule, undefined, 3)

function perRequest(): HeadgateError {
  return new HeadgateError(
    'HEADGATE_OPTION',
    'RateLimitModule.forRootAsync: a provider in inject has the scope of a request. Nest would make new limits for each request, which ' +
      'refuse nothing. Inject providers of the default scope, and read what depends on the request in a function of the options, such as ' +
      'policies: (context) => plans.of(requestOf(context)).',
  )
}

function warnOfNoGuard(place: string): void {
  warnOnce(
    'HEADGATE_UNGUARDED',
    `RateLimitModule has a limit, but no handler without a decorator, such as ${place}, has RateLimitGuard, so the limit ` +
      'does nothing there. Add { provide: APP_GUARD, useClass: RateLimitGuard } to the providers of a module, and ' +
      '@UseGuards(RateLimitGuard) to a gateway, for which Nest 11 runs no global guards. If only handlers with @RateLimit are to be ' +
      'limited, write RateLimitModule.forRoot({ limit: false }).',
    place,
  )
}

function moduleWith(limits: Provider, imports: NonNullable<DynamicModule['imports']> = []): DynamicModule {
  checkRxjs()
  return {
    module: RateLimitModule,
    global: true,
    imports: [...imports, DiscoveryModule],
    providers: [limits, RateLimitGuard],
    exports: [limitsToken, RateLimitGuard],
  }
}

/**
 * The HTTP request of a call, as an object of Express or Fastify. In GraphQL, this is the request in the context. In a gateway on
 * socket.io, this is the request of the handshake. Undefined if the call has no HTTP request.
 *
 *     keys: (context) => requestOf<{ user?: { id: string } }>(context)?.user?.id
 */
export function requestOf<Request = IncomingMessage>(context: ExecutionContext): Request | undefined {
  const { type, http } = callOf(context)
  if (http !== undefined) return http.request as Request
  const client: unknown = type === 'ws' ? context.getArgByIndex(0) : undefined
  return isObject(client) ? (client.request as Request | undefined) : undefined
}
