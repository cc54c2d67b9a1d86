import type { FastifyContextConfig, FastifyReply, FastifyRequest, RouteOptions } from 'fastify'
import { createGuard, type Guard, type GuardOptions, type RateLimitArgument, routeName } from '../src/http/index.ts'
import { limitIn, routeMark } from './fastify-early-routes.ts'
import { fastifyFramework } from './fastify-framework.ts'

type Argument = RateLimitArgument<FastifyRequest, FastifyReply>
type Options = GuardOptions<FastifyRequest, FastifyReply>
export type FastifyGuard = Guard<FastifyRequest, FastifyReply>

/** Where the config of a route keeps the route's own guard. The HEAD route that Fastify adds shares the guard of GET. */
export const guardOfRoute: unique symbol = Symbol('headgate.guard')

declare module 'fastify' {
  interface FastifyContextConfig {
    [guardOfRoute]?: FastifyGuard | undefined
  }
}

/** The guards of routes that have a limit of their own. */
export class RouteGuards {
  readonly #inherited: Options | undefined
  readonly #configKey: string
  readonly #byName = new Map<string, { own: Argument; guard: FastifyGuard }>()
  readonly #patterns = new Map<string, string>()
  readonly #byConfig = new WeakMap<object, FastifyGuard>()

  constructor(inherited: Options | undefined, configKey: string) {
    this.#inherited = inherited
    this.#configKey = configKey
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
    if (limitIn(config, this.#configKey) === false) return undefined
    return guardOfRoute in config ? config[guardOfRoute] : (this.#declaredBefore(config) ?? everywhere)
  }

  /**
   * The guard of a route that was declared before this plugin was loaded. HEAD may be the first to ask for the guard that
   * it shares with GET.
   */
  #declaredBefore(config: FastifyContextConfig & { method?: Methods; url?: string }): FastifyGuard | undefined {
    const own = limitIn(config, this.#configKey)
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
