/* NestJS: `headgate/nest`. The module with the guard, the decorators and the interceptor. */
import type { IncomingMessage } from 'node:http'
import {
  type DynamicModule,
  type ExecutionContext,
  Inject,
  Module,
  type OnModuleInit,
  type Provider,
} from '@nestjs/common'
import { ApplicationConfig, DiscoveryModule, DiscoveryService, MetadataScanner } from '@nestjs/core'
import { anything, callback, readOptions } from '../../src/common/index.ts'
import { callOf, isObject } from './nest-call.ts'
import { isGuarded, isIntercepted, takesMessages, unseenEnd } from './nest-enhancers.ts'
import { limitsToken, RateLimitGuard } from './nest-guard.ts'
import { checkRxjs } from './nest-interceptor.ts'
import { NestLimits } from './nest-limits.ts'
import type { RateLimitModuleOptions } from './nest-options.ts'

export { RateLimit, RateLimitDecision, SkipRateLimit } from './nest-decorators.ts'
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

/** Options of `forRootAsync`: how the module's options are made from other providers. */
export interface RateLimitModuleAsyncOptions {
  /** Modules whose providers are injected. Default: none. Example: `[ConfigModule]`. */
  imports?: NonNullable<DynamicModule['imports']>
  /** The tokens of the arguments of `useFactory`, in order. Default: none. Example: `[ConfigService]`. */
  inject?: readonly unknown[]
  /** Returns the options, or a promise of them. Example: `(config) => config.get('limit')`. */
  // biome-ignore lint/suspicious/noExplicitAny: what is injected has any type.
  useFactory: (...injected: any[]) => RateLimitModuleOptions | Promise<RateLimitModuleOptions>
}

/**
 * Limits for a Nest application on Express or Fastify. Every module of the application can use the guard and the
 * decorators.
 *
 *     @Module({
 *       imports: [RateLimitModule.forRoot('100/15m')],
 *       providers: [{ provide: APP_GUARD, useClass: RateLimitGuard }],
 *     })
 *     class AppModule {}
 */
export class RateLimitModule implements OnModuleInit {
  readonly #limits: NestLimits
  readonly #discovery: DiscoveryService
  readonly #scanner: MetadataScanner
  readonly #config: ApplicationConfig

  constructor(limits: NestLimits, discovery: DiscoveryService, scanner: MetadataScanner, config: ApplicationConfig) {
    this.#limits = limits
    this.#discovery = discovery
    this.#scanner = scanner
    this.#config = config
  }

  /**
   * @param options an argument of `rateLimit`, such as `'100/15m'`, or `{ limit: false, store }` if only decorated
   *   handlers are limited. Functions in the options get the execution context.
   * @throws HeadgateError if a policy or an option is invalid
   */
  static forRoot(options: RateLimitModuleOptions): DynamicModule {
    const limits = new NestLimits(options)
    let applications = 0
    return moduleWith({ provide: limitsToken, useFactory: () => (applications++ === 0 ? limits : limits.again()) })
  }

  /**
   * `forRoot` with options from other providers, such as a store on the application's Redis client.
   *
   *     RateLimitModule.forRootAsync({
   *       inject: [ConfigService],
   *       useFactory: (config) => ({ policies: config.get('limits'), store: redisStore({ client }) }),
   *     })
   *
   * @throws HeadgateError `HEADGATE_OPTION` for an unknown option. An invalid limit stops the start of the application.
   */
  static forRootAsync(options: RateLimitModuleAsyncOptions): DynamicModule {
    const { imports = [], inject = [], useFactory } = readOptions('RateLimitModule.forRootAsync', options, readers)
    const make = async (...injected: unknown[]) => new NestLimits(await useFactory(...injected))
    return moduleWith({ provide: limitsToken, inject: [...inject] as never[], useFactory: make }, imports)
  }

  /**
   * Makes the limit of every handler. An invalid limit stops the start of the application, and so does a limit that
   * would never see the end of a message.
   */
  onModuleInit(): void {
    for (const { metatype, isNotMetatype } of [
      ...this.#discovery.getControllers(),
      ...this.#discovery.getProviders(),
    ]) {
      const prototype: unknown = metatype?.prototype
      if (isNotMetatype || !isObject(prototype)) continue
      for (const name of this.#scanner.getAllMethodNames(prototype)) {
        this.#check(metatype as never, prototype[name] as never, name)
      }
    }
  }

  #check(type: new (...args: never[]) => object, handler: (...args: never[]) => unknown, name: string): void {
    const { needsEnd } = this.#limits.find(type, handler)
    if (!needsEnd || !takesMessages(handler) || isIntercepted(this.#config, type, handler)) return
    if (isGuarded(this.#config, RateLimitGuard, type, handler)) throw unseenEnd(`${type.name}.${name}`, type.name)
  }
}

Module({})(RateLimitModule)
Inject(limitsToken)(RateLimitModule, undefined, 0)
Inject(DiscoveryService)(RateLimitModule, undefined, 1)
Inject(MetadataScanner)(RateLimitModule, undefined, 2)
Inject(ApplicationConfig)(RateLimitModule, undefined, 3)

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
 * The HTTP request that a call came with, of the platform's own type. In GraphQL it is the request in the context; in a
 * gateway on socket.io it is the request of the handshake. Undefined if there is no request.
 *
 *     keys: (context) => requestOf<{ user?: { id: string } }>(context)?.user?.id
 */
export function requestOf<Request = IncomingMessage>(context: ExecutionContext): Request | undefined {
  const { type, http } = callOf(context)
  if (http !== undefined) return http.request as Request
  const client: unknown = type === 'ws' ? context.getArgByIndex(0) : undefined
  return isObject(client) ? (client.request as Request | undefined) : undefined
}
