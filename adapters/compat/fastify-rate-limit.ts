/*
 * The interface of @fastify/rate-limit 11: change the import, and keep the options and the stores. Clients get the same responses.
 *
 * What differs, and why:
 *
 * - Hits are counted in a memory store for at most `cache` keys. When the store is full, a new key does not replace a key that is being
 *   refused. With `continueExceeding`, `exponentialBackoff` or a function as `timeWindow`, the store is a least-recently-used cache, as
 *   in the original.
 * - With `exponentialBackoff`, a window lasts until the reset time in the response. In the original, the window ends after the first
 *   `timeWindow`.
 * - With `redis`, hits are counted under the keys of the original. A call of Redis fails after a second. With a store of headgate,
 *   `continueExceeding` and `exponentialBackoff` are an error: use a penalty of headgate instead.
 * - A window lasts from 1 ms to 366 days, except with `redis`.
 * - If `timeWindow` is a text that is no duration, registering the plugin fails. If `timeWindow` is a
 *   function that returns no duration, the request fails.
 * - With `cache: 0`, the memory store holds a million keys. An object that `keyGenerator` returns is converted to text.
 * - A request without an address is refused with status 403 if its client has disconnected. All requests over a unix socket share one
 *   count. In the original, a request without an address fails.
 * - Promises of `onExceeding`, `onExceeded` and `onBanReach` are awaited, so the request fails if a promise rejects. In the original, the
 *   rejection ends the process.
 * - `store` may also be a store of headgate. If `timeWindow` is a function and returns another length for a key, the key's hits then
 *   still count, and a new window starts.
 */
import type {
  ContextConfigDefault,
  FastifyInstance,
  FastifySchema,
  preHandlerAsyncHookHandler,
  RouteGenericInterface,
  RouteOptions,
} from 'fastify'
import plugin from 'fastify-plugin'
import { apply, countingOf, hookOf, type Limit, merged, normalizeIP, settingsOf } from './fastify/index.ts'
import type {
  CreateRateLimitOptions,
  RateLimitCheck,
  RateLimitHook,
  RateLimitOptions,
  RateLimitPluginOptions,
} from './fastify/types.ts'

export type {
  CreateRateLimitOptions,
  errorResponseBuilderContext,
  FastifyRateLimitOptions,
  FastifyRateLimitStore,
  FastifyRateLimitStoreCtor,
  RateLimitHook,
  RateLimitOptions,
  RateLimitPluginOptions,
} from './fastify/types.ts'
export { normalizeIP }

declare module 'fastify' {
  interface HeadgateRouteLimits {
    compat: RateLimitOptions
  }
  interface FastifyInstance<RawServer, RawRequest, RawReply, Logger, TypeProvider> {
    createRateLimit(options?: CreateRateLimitOptions): RateLimitCheck
    rateLimit<
      RouteGeneric extends RouteGenericInterface = RouteGenericInterface,
      ContextConfig = ContextConfigDefault,
      SchemaCompiler extends FastifySchema = FastifySchema,
    >(
      options?: RateLimitOptions,
    ): preHandlerAsyncHookHandler<
      RawServer,
      RawRequest,
      RawReply,
      RouteGeneric,
      ContextConfig,
      SchemaCompiler,
      TypeProvider,
      Logger
    >
  }
}

function addHook(route: RouteOptions, name: RateLimitHook, handler: ReturnType<typeof hookOf>): void {
  const before = route[name] as unknown
  Object.assign(route, { [name]: [...[before ?? []].flat(), handler] })
}

/** The plugin with the options of @fastify/rate-limit. @throws TypeError or HeadgateError if an option is invalid */
export async function fastifyRateLimit(app: FastifyInstance, options: RateLimitPluginOptions): Promise<void> {
  const settings = settingsOf(options)
  const ran = Symbol('headgate.ran')
  const counting = await countingOf(settings)
  const limit: Limit = { settings, counting: counting(settings) }
  const nested = (own: RateLimitOptions | undefined, route: Partial<RouteOptions>): Limit => {
    if (typeof own !== 'object') return limit
    const mine = merged(settings, own, route)
    return { settings: mine, counting: counting(mine) }
  }
  app.decorateRequest(ran as never, false as never)
  if (!app.hasDecorator('createRateLimit')) {
    app.decorate('createRateLimit', (own?: CreateRateLimitOptions): RateLimitCheck => {
      const created = nested(own, {})
      return (request, call) => apply(created, request, call?.increment !== false)
    })
  }
  if (!app.hasDecorator('rateLimit')) {
    app.decorate('rateLimit', ((own?: RateLimitOptions) =>
      hookOf(nested(own, {}), ran)) as FastifyInstance['rateLimit'])
  }
  app.addHook('onRoute', (route) => {
    const own = (route.config as { rateLimit?: RateLimitOptions | false | null } | undefined)?.rateLimit
    if (own === undefined || own === null) {
      if (options.global !== false) addHook(route, settings.hook, hookOf(limit, ran))
    } else if (typeof own === 'object') {
      const mine = nested(own, route)
      addHook(route, mine.settings.hook, hookOf(mine, ran))
    } else if (own !== false) throw new Error('Unknown value for route rate-limit configuration')
  })
}

plugin(fastifyRateLimit, { fastify: '>=4', name: '@fastify/rate-limit' })

/** The plugin is also the default export, as in @fastify/rate-limit. @alias */
export default fastifyRateLimit

/** `require` of this module returns the plugin. The other exports are properties of the plugin. */
Object.assign(fastifyRateLimit, { default: fastifyRateLimit, fastifyRateLimit, normalizeIP })

export { fastifyRateLimit as 'module.exports' }
