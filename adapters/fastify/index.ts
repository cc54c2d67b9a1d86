/* Fastify: `headgate/fastify`. A plugin that limits all routes, and lets a route have its own limit. */
import type { FastifyInstance, FastifyPluginCallback, FastifyReply, FastifyRequest, RouteOptions } from 'fastify'
import plugin from 'fastify-plugin'
import { misplaced, text } from '../../src/common/index.ts'
import {
  createGuard,
  type GuardOptions,
  type LimiterOf,
  ownOptions,
  type Policies,
  type RateLimitArgument,
  type RateLimitOptions,
  type RequestDecision,
} from '../../src/http/index.ts'
import type { RateLimiter } from '../../src/limiter/index.ts'
import {
  type Checked,
  checkAlone,
  checkInstance,
  checkRegistered,
  checkRoute,
  checkRouteDefaults,
  checkVersion,
  decorate,
  isChecked,
} from './fastify-checks.ts'
import { limitIn, routesOf } from './fastify-configured-routes.ts'
import { fastifyFramework, patternOfGet } from './fastify-framework.ts'
import { type FastifyGuard, guardOfRoute, RouteGuards } from './fastify-route-guards.ts'

export type { RouteLimit } from './fastify-route-limits.ts'
export { fastifyFramework }

type AnyPolicies = Policies<FastifyRequest, FastifyReply>
type Argument<Given = AnyPolicies, Own = unknown> = RateLimitArgument<FastifyRequest, FastifyReply, Given, Own>
type GivenArgument = Argument<AnyPolicies, Own>
type Options = GuardOptions<FastifyRequest, FastifyReply>
type Own = FastifyOwnOptions
type PluginOptions = RateLimitOptions<FastifyRequest, FastifyReply> & FastifyOwnOptions

/** The options of `rateLimit` that exist only in this adapter. */
interface FastifyOwnOptions {
  /**
   * The property of a route's config that has the limit of the route. Two rate limiters on one server need different
   * properties. Default `'rateLimit'`. Example: `'headgate'`, for `{ config: { headgate: '5/1m sliding-log' } }`.
   */
  configKey?: string | undefined
}

declare module 'fastify' {
  interface HeadgateRouteLimits {
    headgate: Argument
  }
  interface FastifyRequest {
    /** The decision of the rate limiter about this request. Null if no limiter applies to the route. */
    rateLimit: RequestDecision | null
  }
}

/** The plugin that `rateLimit` returns. Its property `limiter` has `peek`, `reset`, `ban` and `health()`. */
export type FastifyRateLimit<Limiter = RateLimiter> = FastifyPluginCallback & {
  readonly limiter: Limiter
  /**
   * The limit as a hook of Fastify, for example as `{ preHandler: limit.hook }` on a route, in `addHook` or in
   * `setNotFoundHandler`. The hook counts each request that reaches it. For the hook alone, the plugin need not be registered.
   */
  readonly hook: (request: FastifyRequest, reply: FastifyReply, done: (error?: Error) => void) => void
}

/**
 * A Fastify plugin. The plugin limits every route of the instance on which you register the plugin, and requests for which there is no
 * route. A route has its own limit with `config: { rateLimit: '5/1m sliding-log' }`, and no limit with `config: { rateLimit: false }`. The decision is
 * on `request.rateLimit`. A refused request gets status 429. An error of a function in the options, such as `keys`, or of a synchronous
 * store goes to the error handler. If an asynchronous store fails, `onStoreError` decides about the request. The limiter is
 * `limit.limiter`: a `PlanLimiter`, with a limiter for each set of policies, if the policies are a function of the request.
 *
 *     const limit = rateLimit('100/15m')
 *     await app.register(limit)
 *     await limit.limiter.reset('203.0.113.7')
 *
 * The function `rateLimit` can itself be registered: `await app.register(rateLimit, { limit: 100, window: '15m' })`. Then pass your own
 * `limiter` in the options, to have a reference to the limiter.
 *
 * @throws HeadgateError if a policy or an option is invalid
 */
export function rateLimit<Given extends AnyPolicies | undefined>(
  limit: Argument<Given, Own>,
  options?: Options & Own,
): FastifyRateLimit<LimiterOf<Given>>
/** If `limit` is false, only routes with `config.rateLimit` are limited. The limits of these routes inherit `options`. */
export function rateLimit(limit: Argument<undefined, Own> | false, options?: Options & Own): FastifyPluginCallback
export function rateLimit(app: FastifyInstance, options: PluginOptions, done: (error?: Error) => void): void
export function rateLimit(
  first: GivenArgument | false | FastifyInstance,
  second?: Options | GivenArgument,
  done?: (error?: Error) => void,
): unknown {
  if (done !== undefined) {
    checkInstance(first)
    const { own, limit } = readOwn(checks, second as GivenArgument, undefined)
    return install(first as FastifyInstance, () => createGuard(fastifyFramework, limit), {}, own, done)
  }
  const { own, limit, options } = readOwn(checks, first as GivenArgument, second as Options & Own)
  if (first === false) checkRouteDefaults(options)
  const guard = first === false ? undefined : createGuard(fastifyFramework, limit, options)
  const makeGuard = (registered: object) => {
    checkRegistered(registered)
    return guard
  }
  const installed = plugin((app, registered, ready) => {
    checkInstance(app)
    install(app, () => makeGuard(registered), options, own, ready)
  }, metadata)
  if (guard === undefined) return installed
  const hook: FastifyRateLimit['hook'] = (request, reply, next) => {
    if (reply.header === undefined) throw misplaced('headgate/fastify')
    void guard.handle(request, reply, next as (error?: unknown) => void)
  }
  return Object.assign(installed, { limiter: guard.limiter, hook })
}

const checks = { configKey: text() }
const readOwn = ownOptions<Own, FastifyRequest, FastifyReply, AnyPolicies>

const metadata = { name: 'headgate' }
// `app.register(rateLimit, options)` uses the function `rateLimit` as a plugin, so the function needs the metadata of a Fastify
// plugin.
plugin(rateLimit as unknown as FastifyPluginCallback, metadata)

/**
 * Adds the limit to an instance of Fastify.
 * @param inherited the options of each route's own limit, where the route sets no other value
 */
function install(
  app: FastifyInstance,
  makeGuard: () => FastifyGuard | undefined,
  inherited: Options | undefined,
  { configKey = 'rateLimit' }: Own,
  done: (error?: Error) => void,
): void {
  try {
    checkVersion(app)
    const guard = makeGuard()
    checkAlone(app, guard)
    const routes = new RouteGuards(guard?.inherited ?? inherited, configKey)
    const declared: RouteOptions[] = []
    const isFirst = app.printRoutes() === '(empty tree)' // Fastify calls onRoute only for later routes
    /**
     * True if one guard decides for every route. In this case, the config of a request's route is not read, because Fastify makes a new
     * object at each read.
     */
    let onlyGlobal = false
    decorate(app)
    app.addHook('onReady', (ready) => {
      try {
        for (const route of routesOf(app)) {
          checkRoute(route, configKey)
          const { config = {} } = route
          if (limitIn(config, configKey) !== undefined) routes.of(config, guard) // throws if the limit is invalid
        }
      } catch (error) {
        ready(error as Error)
        return
      }
      onlyGlobal = isFirst && declared.every(({ config }) => routes.of(config ?? {}, guard) === guard)
      ready()
    })
    app.addHook('onRoute', (route) => {
      checkRoute(route, configKey)
      declared.push(route)
      const own = limitIn(route.config, configKey)
      const ownGuard =
        own !== undefined && own !== false ? routes.declared(own, route.config ?? {}, route.method, route.url) : guard
      // If a plugin with a limiter contains another such plugin, the `onRoute` hook of the inner limiter runs last, so the config has
      // the guard of the inner limiter at the end.
      route.config = { ...route.config, [guardOfRoute]: own === false ? undefined : ownGuard }
      const pattern = routes.patternOfGet(route.method, route.url)
      if (pattern !== route.url) route.config[patternOfGet] = pattern
    })
    app.addHook('onRequest', (request, reply, next) => {
      const checked = request as Checked
      if (checked[isChecked]) return next()
      checked[isChecked] = true
      const chosen = onlyGlobal ? guard : routes.of(request.routeOptions.config, guard)
      if (chosen === undefined) next()
      else void chosen.handle(request, reply, next as (error?: unknown) => void)
    })
    done()
  } catch (error) {
    done(error as Error)
  }
}
