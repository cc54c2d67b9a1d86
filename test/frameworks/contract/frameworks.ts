import type { Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import {
  type ArgumentsHost,
  Catch,
  Controller,
  type ExecutionContext,
  Get,
  HttpException,
  Module,
  Req,
  Res,
} from '@nestjs/common'
import { APP_GUARD, BaseExceptionFilter, NestFactory } from '@nestjs/core'
import { ExpressAdapter, type NestExpressApplication } from '@nestjs/platform-express'
import { FastifyAdapter, type NestFastifyApplication } from '@nestjs/platform-fastify'
import { RateLimitCost, RateLimitDecision, RateLimitGuard, RateLimitModule } from '../../../adapters/nest/index.ts'
import { addressSource, readsAddress } from '../../../src/http/keys/address-source.ts'
import type { RequestDecision } from '../../../src/index.ts'
import { type App, type AppOptions, upgrading } from '../../support/frameworks.ts'

export type { App, AppOptions, Received } from '../../support/frameworks.ts'
export { get, serve } from '../../support/frameworks.ts'

/** What the contract suite of the adapters runs on here, in place of the small frameworks. */
export const frameworks: Record<string, (options: AppOptions) => Promise<App>> = {
  'Nest on Express': startExpress,
  'Nest on Fastify': startFastify,
}

/** Answers 500 with the error's message, as text. Refusals are answered as Nest does. */
@Catch()
class Errors extends BaseExceptionFilter {
  override catch(error: Error, host: ArgumentsHost) {
    if (error instanceof HttpException) super.catch(error, host)
    else host.switchToHttp().getResponse<Loose>().status(500).send(error.message)
  }
}

interface Loose {
  url: string
  status(status: number): { send(body: string): unknown }
}

type Anything = Record<string, unknown>

/**
 * The options of a test, whose functions read the request of any framework: they get the execution context with the
 * properties of the request, or of the response where they get that.
 */
function adapted(options: unknown): unknown {
  if (typeof options === 'function') {
    const adaptedFunction = (...args: unknown[]) => options(...args.map(opened(args)))
    return readsAddress(adaptedFunction, addressSource(options as never))
  }
  if (typeof options !== 'object' || options === null || Object.getPrototypeOf(options) !== Object.prototype)
    return options
  const { store, limiter, ...functions } = options as Anything
  const mapped = Object.entries(functions).map(([name, value]) => [name, Array.isArray(value) ? value : adapted(value)])
  return {
    ...Object.fromEntries(mapped),
    ...('store' in options ? { store } : {}),
    ...('limiter' in options ? { limiter } : {}),
  }
}

function opened(args: readonly unknown[]) {
  const first = args.findIndex(isContext)
  return (value: unknown, index: number): unknown => {
    if (isContext(value)) return withProperties(value, index === first ? 'getRequest' : 'getResponse')
    if (typeof value !== 'object' || value === null || !('request' in value) || !isContext(value.request)) return value
    const request = withProperties(value.request, 'getRequest')
    return { ...value, request, response: withProperties(value.request, 'getResponse') }
  }
}

function isContext(value: unknown): value is ExecutionContext {
  return typeof value === 'object' && value !== null && 'switchToHttp' in value
}

function withProperties(context: ExecutionContext, of: 'getRequest' | 'getResponse'): unknown {
  const own = context.switchToHttp()[of]<Anything>()
  return new Proxy(context, {
    get(target, name) {
      if (Reflect.has(target, name)) return Reflect.get(target, name)
      const value = Reflect.get(own, name)
      return typeof value === 'function' ? value.bind(own) : value
    },
    set: (_target, name, value) => Reflect.set(own, name, value),
  })
}

/** A route of Nest says its cost in a decorator: the last cost of the chain that other frameworks run. */
function costOfSearch({ search }: AppOptions): number {
  const costs: unknown[] = [1]
  search?.('', (units) => String(costs.push(units)))
  return adapted(costs.at(-1)) as number
}

function moduleFor(options: AppOptions) {
  const { limit, handle = () => 200 } = options
  let handled = 0
  let decision: RequestDecision | undefined
  const record = (found: RequestDecision | undefined) => {
    handled++
    decision = found
  }

  @Controller()
  class Pages {
    @Get('users/:id')
    user(@RateLimitDecision() found: RequestDecision | undefined) {
      record(found)
      return 'user'
    }

    @Get()
    async page(@Req() request: Loose, @Res() response: Loose, @RateLimitDecision() found: RequestDecision | undefined) {
      record(found)
      const status = await handle(found, request.url)
      response.status(status).send('ok')
    }

    @RateLimitCost(costOfSearch(options))
    @Get('search')
    search(@Req() request: Loose, @Res() response: Loose, @RateLimitDecision() found: RequestDecision | undefined) {
      return this.page(request, response, found)
    }
  }

  @Module({
    imports: [RateLimitModule.forRoot(adapted(limit) as string)],
    controllers: [Pages],
    providers: [{ provide: APP_GUARD, useClass: RateLimitGuard }],
  })
  class AppModule {}
  return { AppModule, recorded: { handled: () => handled, decision: () => decision } }
}

async function listen(
  app: NestExpressApplication | NestFastifyApplication,
  recorded: Pick<App, 'handled' | 'decision'>,
): Promise<App> {
  app.useGlobalFilters(new Errors(app.getHttpAdapter()))
  await app.listen(0, '127.0.0.1')
  const server: Server = upgrading(app.getHttpServer())
  return {
    ...recorded,
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    limiter: app.get(RateLimitGuard).limiter as App['limiter'],
    connections: () => new Promise((resolve) => server.getConnections((_error, count) => resolve(count))),
    close: () => app.close(),
  }
}

const silent = { logger: false, abortOnError: false, forceCloseConnections: true } as const

async function startExpress(options: AppOptions): Promise<App> {
  const { AppModule, recorded } = moduleFor(options)
  const { proxies, answerFirst } = options
  const app = await NestFactory.create<NestExpressApplication>(AppModule, new ExpressAdapter(), silent)
  if (proxies !== undefined) app.set('trust proxy', proxies === 'everybody' ? true : proxies)
  if (answerFirst) {
    app.use((_request: unknown, response: { end(body: string): void }, next: () => void) => {
      response.end('first')
      next()
    })
  }
  return listen(app, recorded)
}

async function startFastify(options: AppOptions): Promise<App> {
  const { AppModule, recorded } = moduleFor(options)
  const { proxies, answerFirst } = options
  const trustProxy = proxies === 'everybody' ? true : proxies === undefined ? false : '127.0.0.1'
  const adapter = new FastifyAdapter({ trustProxy })
  if (answerFirst) {
    adapter.getInstance().addHook('onRequest', (_request, reply, next) => {
      reply.hijack()
      reply.raw.end('first')
      next()
    })
  }
  return listen(await NestFactory.create<NestFastifyApplication>(AppModule, adapter, silent), recorded)
}
