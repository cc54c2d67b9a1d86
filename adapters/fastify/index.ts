/* Fastify: `headgate/fastify`. A plugin that limits all routes, and lets a route have its own limit. */
import type { FastifyInstance, FastifyPluginCallback, FastifyReply, FastifyRequest, RouteOptions } from 'fastify'
import plugin from 'fastify-plugin'
import { misplaced, text } from '../../src/common/index.ts'
import {
  type Cost,
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
  warnOfOwnStores,
} from './fastify-checks.ts'
import { limitIn, routesOf } from './fastify-configured-routes.ts'
import { fastifyFramework, patternOfGet } from './fastify-framework.ts'
import { type FastifyGuard, RouteGuards } from './fastify-route-guards.ts'

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
    headgate: Argument | Options
  }
  interface FastifyRequest {
    /** The decision of the last rate limiter that this request passed. Null on a route without a limiter. */
    rateLimit: RequestDecision
  }
}

/** The plugin that `rateLimit` returns. Its property `limiter` has `peek`, `reset`, `ban` and `health()`. */
export type FastifyRateLimit<Limiter = RateLimiter> = FastifyPluginCallback & {
  readonly limiter: Limiter
  /**
   * The limit as a hook of Fastify, for example as `{ preHandler: limit.hook }` on a route, in `addHook` or in
   * `setNotFoundHandler`. The hook counts each request that reaches the hook. To use only the hook, you need not register the plugin.
   */
  readonly hook: Hook
  /**
   * The limit as a hook, for a route with another cost. The cost is a number, a record with a number for each policy, a list of records, or
   * a function of the request, as in the option `cost`. If the limit has already counted the request, as with `app.register(limit)`, the
   * units of the first decision are given back. A second decision then takes the cost of the route, or refuses the request and takes
   * nothing. If a request passes several such hooks, the last hook sets the cost.
   * Example: `{ preHandler: limit.cost(({ body }) => body.pages) }`.
   * @throws HeadgateError `HEADGATE_COST` if the cost is invalid, or if every request would be refused
   */
  cost(cost: Cost<FastifyRequest, FastifyReply>): Hook
}

type Hook = (request: FastifyRequest, reply: FastifyReply, done: (error?: Error) => void) => void

/**
 * A Fastify plugin. The plugin limits every route of the instance on which you register the plugin, and requests for which there is no
 * route. A route has its own limit with `config: { rateLimit: '5/1m sliding-log' }`, another cost with
 * `config: { rateLimit: { cost: 5 } }`, and no limit with `config: { rateLimit: false }`. The decision is on `request.rateLimit`. A refused
 * request gets status 429. An error of a synchronous store, or of a function in the options such as `keys`, goes to the error handler. If
 * an asynchronous store fails, `onStoreError` decides about the request. The limiter is `limit.limiter`. If the policies are a function of
 * the request, `limit.limiter` is a `PlanLimiter`, with a limiter for each set of policies.
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
  const cost = (units: Cost<FastifyRequest, FastifyReply>) => hookOf(guard.withCost(units))
  return Object.assign(installed, { limiter: guard.limiter, hook: hookOf(guard), cost })
}

function hookOf(guard: Pick<FastifyGuard, 'handle'>): Hook {
  return (request, reply, next) => {
    if (reply.header === undefined) throw misplaced('headgate/fastify')
    void guard.handle(request, reply, next as (error?: unknown) => void)
  }
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
    const routes = new RouteGuards(guard, guard?.inherited ?? inherited, configKey)
    const declared: RouteOptions[] = []
    const isFirst = app.printRoutes() === '(empty tree)' // Fastify calls onRoute only for routes that are declared later
    /**
     * True if one guard decides for every route. The config of a request's route is then not read, because Fastify makes a new config
     * object at each read.
     */
    let onlyGlobal = false
    decorate(app)
    app.addHook('onReady', (ready) => {
      try {
        const limited = routesOf(app).filter((route) => {
          checkRoute(route, configKey)
          return limitIn(route.config, configKey) !== undefined
        })
        // This also makes each limit, and so throws if a limit is invalid. A HEAD route has the limit of its GET route.
        const apart = limited.filter(({ config = {}, method }) => routes.countsApart(config) && method !== 'HEAD')
        warnOfOwnStores(apart, guard?.limiter.store, configKey)
      } catch (error) {
        ready(error as Error)
        return
      }
      onlyGlobal = isFirst && declared.every(({ config }) => routes.of(config ?? {}) === guard)
      ready()
    })
    app.addHook('onRoute', (route) => {
      checkRoute(route, configKey)
      declared.push(route)
      // If a plugin with a limiter contains another such plugin, the `onRoute` hook of the inner limiter runs last, so the config has
      // the guard of the inner limiter at the end.
      route.config = { ...route.config, ...routes.declared(route.config ?? {}, route.method, route.url) }
      const pattern = routes.patternOfGet(route.method, route.url)
      if (pattern !== route.url) route.config[patternOfGet] = pattern
    })
    app.addHook('onRequest', (request, reply, next) => {
      const checked = request as Checked
      if (checked[isChecked]) return next()
      checked[isChecked] = true
      const chosen = onlyGlobal ? guard : routes.of(request.routeOptions.config)
      if (chosen === undefined) next()
      else void chosen.handle(request, reply, next as (error?: unknown) => void)
    })
    done()
  } catch (error) {
    done(error as Error)
  }
}
