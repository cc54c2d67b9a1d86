import type {
  FastifyContextConfig,
  FastifyInstance,
  FastifyPluginCallback,
  FastifyReply,
  FastifyRequest,
  RouteOptions,
} from 'fastify'
import plugin from 'fastify-plugin'
import {
  type AnyGuard,
  createGuard,
  type GuardOptions,
  type PlanLimiter,
  type PlanOptions,
  type PolicyArgument,
  type RateLimitArgument,
  type RateLimiter,
  type RateLimitOptions,
  type RequestDecision,
  routeName,
} from '../src/http/index.ts'
import { checkRegistered, checkRouteDefaults, decorate } from './fastify-checks.ts'
import { limitedRoutesOf, routeMark } from './fastify-early-routes.ts'
import { fastifyFramework, patternOfGet } from './fastify-framework.ts'

export { fastifyFramework }

type Argument = RateLimitArgument<FastifyRequest, FastifyReply>
type Plans = PlanOptions<FastifyRequest, FastifyReply>
type Policies = PolicyArgument<FastifyRequest, FastifyReply>
type Options = GuardOptions<FastifyRequest, FastifyReply>
type PluginOptions = RateLimitOptions<FastifyRequest, FastifyReply> | Plans
type FastifyGuard = AnyGuard<FastifyRequest, FastifyReply>

/** Where the config of a route keeps the route's own guard. The HEAD route that Fastify adds shares the guard of GET. */
const guardOfRoute: unique symbol = Symbol('headgate.guard')

declare module 'fastify' {
  interface FastifyRequest {
    /** The decision of the rate limiter that this request passed; null if its route has none. */
    rateLimit: RequestDecision | null
  }
  interface FastifyContextConfig {
    /** A limit of the route's own in place of the global one; false for none. Example: `'5/1m'`. */
    rateLimit?: Argument | false
    [guardOfRoute]?: FastifyGuard | undefined
  }
}

/** A plugin with its limiter, for `peek`, `reset` and `health()`. */
export type FastifyRateLimit<Limiter = RateLimiter> = FastifyPluginCallback & { readonly limiter: Limiter }

/**
 * A Fastify plugin for every route of the instance that it is registered on, 404s included. A route has its own limit
 * with `config: { rateLimit: '5/1m' }`, and none with `config: { rateLimit: false }`. The decision is on
 * `request.rateLimit`. A refused request gets status 429. An error of a key extractor, of another option that is a
 * function, or of a synchronous store goes to the error handler. If another store fails, `onStoreError` decides. The
 * plugin has its `limiter`; if the policies are a function of the request, that is a `PlanLimiter`.
 *
 *     const limit = rateLimit('100/15m')
 *     await app.register(limit)
 *     await limit.limiter.reset('203.0.113.7')
 *
 * The function itself can be registered too: `await app.register(rateLimit, { limit: 100, window: '15m' })`. Pass it a
 * `limiter` to keep a reference to it.
 *
 * @throws HeadgateError if a policy or an option is invalid
 */
export function rateLimit(limit: Policies, options?: Options): FastifyRateLimit
/** The policies are a function of the request. */
export function rateLimit(limit: Plans, options?: Options): FastifyRateLimit<PlanLimiter>
/** False: only routes have limits. They inherit the options. */
export function rateLimit(limit: false, options?: Options): FastifyPluginCallback
export function rateLimit(limit: Argument | false, options?: Options): FastifyPluginCallback
export function rateLimit(app: FastifyInstance, options: PluginOptions, done: (error?: Error) => void): void
export function rateLimit(
  limit: Argument | false | FastifyInstance,
  options?: Options | Argument,
  done?: (error?: Error) => void,
): unknown {
  if (done !== undefined) {
    return install(limit as FastifyInstance, () => createGuard(fastifyFramework, options as Argument), {}, done)
  }
  if (limit === false) checkRouteDefaults(options as Options)
  const guard = limit === false ? undefined : createGuard(fastifyFramework, limit as Argument, options as Options)
  const makeGuard = (registered: object) => {
    checkRegistered(registered)
    return guard
  }
  const installed = plugin(
    (app, registered, ready) => install(app, () => makeGuard(registered), options as Options, ready),
    metadata,
  )
  return guard === undefined ? installed : Object.assign(installed, { limiter: guard.limiter })
}

const metadata = { fastify: '5.x', name: 'headgate' }
// `app.register(rateLimit, options)` registers the function itself, so it needs the metadata of a plugin.
plugin(rateLimit as unknown as FastifyPluginCallback, metadata)

/** @param inherited the options that a route's own limit has too, unless it overrides them */
function install(
  app: FastifyInstance,
  makeGuard: () => FastifyGuard | undefined,
  inherited: Options | undefined,
  done: (error?: Error) => void,
): void {
  try {
    const guard = makeGuard()
    const routes = new RouteGuards(guard?.inherited ?? inherited)
    const declared: RouteOptions[] = []
    const isFirst = app.printRoutes() === '(empty tree)' // if not, onRoute is not called for the routes that exist
    /**
     * True if every route has the global guard. Then no config is read, because Fastify makes a new one at each
     * reading.
     */
    let onlyGlobal = false
    decorate(app)
    app.addHook('onReady', (ready) => {
      try {
        for (const { config } of limitedRoutesOf(app)) routes.of(config ?? {}, guard) // throws now if a limit is invalid
      } catch (error) {
        ready(error as Error)
        return
      }
      onlyGlobal = isFirst && declared.every(({ config }) => routes.of(config ?? {}, guard) === guard)
      ready()
    })
    app.addHook('onRoute', (route) => {
      declared.push(route)
      const own = route.config?.rateLimit
      const ownGuard = own !== undefined && own !== false ? routes.declared(own, route.method, route.url) : guard
      // If limiters are nested, the hook of the innermost one runs last: its guard stays.
      route.config = { ...route.config, [guardOfRoute]: own === false ? undefined : ownGuard }
      const pattern = routes.patternOfGet(route.method, route.url)
      if (pattern !== route.url) route.config[patternOfGet] = pattern
    })
    app.addHook('onRequest', (request, reply, next) => {
      if (request.rateLimit !== null) return next()
      const chosen = onlyGlobal ? guard : routes.of(request.routeOptions.config, guard)
      if (chosen === undefined) next()
      else chosen.handle(request, reply, next as (error?: unknown) => void)
    })
    done()
  } catch (error) {
    done(error as Error)
  }
}

/** The guards of routes that have a limit of their own. */
class RouteGuards {
  readonly #inherited: Options | undefined
  readonly #byName = new Map<string, { own: Argument; guard: FastifyGuard }>()
  readonly #patterns = new Map<string, string>()
  readonly #byConfig = new WeakMap<object, FastifyGuard>()

  constructor(inherited: Options | undefined) {
    this.#inherited = inherited
  }

  /** The HEAD route that Fastify adds to a GET route shares its guard. */
  declared(own: Argument, method: Methods, url: string): FastifyGuard {
    const name = sharedName(method, url)
    const get = method === 'HEAD' ? this.#byName.get(name) : undefined
    const guard = get?.own === own ? get.guard : createGuard(fastifyFramework, own, this.#inherited, 'inherited')
    this.#byName.set(name, { own, guard })
    return guard
  }

  /** The pattern of the GET route that a HEAD route belongs to. For any other route, its own. */
  patternOfGet(method: Methods, url: string): string {
    const name = sharedName(method, url)
    if (method === 'HEAD') return this.#patterns.get(name) ?? url
    this.#patterns.set(name, url)
    return url
  }

  of(config: FastifyContextConfig, everywhere: FastifyGuard | undefined): FastifyGuard | undefined {
    if (config.rateLimit === false) return undefined
    return guardOfRoute in config ? config[guardOfRoute] : (this.#declaredBefore(config) ?? everywhere)
  }

  /**
   * The guard of a route that was declared before this plugin was loaded. HEAD may be the first to ask for the guard that
   * it shares with GET.
   */
  #declaredBefore(config: FastifyContextConfig & { method?: Methods; url?: string }): FastifyGuard | undefined {
    const own = config.rateLimit
    if (own === undefined || own === false) return undefined
    const route = config[routeMark] ?? config
    const known = this.#byConfig.get(route)
    if (known !== undefined) return known
    const guard =
      route === config
        ? this.#unmarked(own, sharedName(config.method ?? 'GET', config.url ?? ''))
        : createGuard(fastifyFramework, own, this.#inherited, 'inherited')
    this.#byConfig.set(route, guard)
    return guard
  }

  /** The guard of a route that was declared before this module was loaded: HEAD finds the guard of GET by its name. */
  #unmarked(own: Argument, name: string): FastifyGuard {
    const shared = this.#byName.get(name)
    if (shared?.own === own) return shared.guard
    const guard = createGuard(fastifyFramework, own, this.#inherited, 'inherited')
    this.#byName.set(name, { own, guard })
    return guard
  }
}

type Methods = RouteOptions['method']

/**
 * One name for routes that share a guard: GET, in whatever list of methods, and its HEAD. For `/` under a prefix, Fastify
 * declares `/api` and `/api/` as one route, but a HEAD route for each.
 */
function sharedName(method: Methods, url: string): string {
  const methods = [method].flat()
  const path = url.length > 1 && url.endsWith('/') ? url.slice(0, -1) : url
  return routeName(methods.includes('GET') ? 'GET' : methods.join(), path)
}
