/*
 * The interface of @fastify/rate-limit 11: change the import, and keep the options, the stores and what clients see.
 *
 * What differs, and why:
 *
 * - Counts are kept in a memory store of `cache` keys that protects refused keys from a flood of new ones. With
 *   `continueExceeding`, `exponentialBackoff` and a function as `timeWindow` it is a least-recently-used cache, as in the original.
 * - With `exponentialBackoff`, a window lasts as long as the response says. In the original, it ends after the first
 *   `timeWindow`.
 * - With `redis`, the counts are kept by `redisStore`, in other keys than those of @fastify/rate-limit. A counter
 *   starts anew once. A call takes at most a second. With `continueExceeding`, `exponentialBackoff` and a function as
 *   `timeWindow` they are kept under the same keys. With a store of headgate, the first two options are an error: use a
 *   penalty of headgate instead.
 * - A window lasts from 1 ms to 366 days. A text that is no duration is an error when the plugin is registered. A
 *   function that returns no number is an error of the request.
 * - With `cache: 0`, a million keys are held. A key that is an object is counted as its text.
 * - A request without an address is refused with 403 if its client has left, and shares one count if it came over a unix socket.
 *   There, it is an error.
 * - Promises of `onExceeding`, `onExceeded` and `onBanReach` are awaited, so a rejection is an error of the request. There, it
 *   ends the process.
 * - `store` takes a store of headgate too. If `timeWindow` then returns another length for a key, the key keeps its
 *   hits and its window starts again.
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

/**
 * The plugin of @fastify/rate-limit.
 * @throws TypeError or HeadgateError for an invalid option
 */
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

/** @alias */
export default fastifyRateLimit

/** What `require` returns: the plugin, with the other exports as its properties. */
Object.assign(fastifyRateLimit, { default: fastifyRateLimit, fastifyRateLimit, normalizeIP })

export { fastifyRateLimit as 'module.exports' }
