import type { FastifyContextConfig, FastifyReply, FastifyRequest, RouteOptions } from 'fastify'
import { createGuard, type Guard, type GuardOptions, type RateLimitArgument, routeName } from '../../src/http/index.ts'
import { limitIn, routeMark } from './fastify-configured-routes.ts'
import { fastifyFramework } from './fastify-framework.ts'

type Argument = RateLimitArgument<FastifyRequest, FastifyReply>
type Options = GuardOptions<FastifyRequest, FastifyReply>
export type FastifyGuard = Guard<FastifyRequest, FastifyReply>

/** The property of a route's config with the guard, which enforces its limit. An automatic HEAD route has the guard of its GET route. */
export const guardOfRoute: unique symbol = Symbol('headgate.guard')

declare module 'fastify' {
  interface FastifyContextConfig {
    [guardOfRoute]?: FastifyGuard | undefined
  }
}

/** The guards of the routes that have their own limit. A guard enforces the limit of a route. */
export class RouteGuards {
  readonly #inherited: Options | undefined
  readonly #configKey: string
  /** The guards, by the object that identifies a route (`routeMark`), or by the name of a route declared before this module was loaded. */
  readonly #guards = new Map<object | string, { own: Argument; guard: FastifyGuard }>()
  readonly #patterns = new Map<string, string>()

  constructor(inherited: Options | undefined, configKey: string) {
    this.#inherited = inherited
    this.#configKey = configKey
  }

  /** The guard that enforces the limit of a route that is being declared. An automatic HEAD route gets the guard of its GET route. */
  declared(own: Argument, config: FastifyContextConfig, method: Methods, url: string): FastifyGuard {
    const id = idOf(config, method, url)
    return (method === 'HEAD' ? this.#known(id, own) : undefined) ?? this.#make(id, own)
  }

  /** The pattern of the GET route to which an automatic HEAD route belongs. For any other route, its own pattern. */
  patternOfGet(method: Methods, url: string): string {
    const name = sharedName(method, url)
    if (method === 'HEAD') return this.#patterns.get(name) ?? url
    this.#patterns.set(name, url)
    return url
  }

  /**
   * The guard that enforces the limit of the route that a request matched. If the route was declared before the plugin was loaded, the
   * first request makes the guard, which a GET route and its HEAD route share.
   * @param everywhere the guard of routes without their own limit
   */
  of(config: DeclaredConfig, everywhere: FastifyGuard | undefined): FastifyGuard | undefined {
    const own = limitIn(config, this.#configKey)
    if (own === false) return undefined
    if (guardOfRoute in config) return config[guardOfRoute]
    if (own === undefined) return everywhere
    const id = idOf(config, config.method ?? 'GET', config.url ?? '')
    return this.#known(id, own) ?? this.#make(id, own)
  }

  #known(id: object | string, own: Argument): FastifyGuard | undefined {
    const known = this.#guards.get(id)
    return known?.own === own ? known.guard : undefined
  }

  #make(id: object | string, own: Argument): FastifyGuard {
    const guard = createGuard(fastifyFramework, own, this.#inherited, 'inherited')
    this.#guards.set(id, { own, guard })
    return guard
  }
}

/** The config of a route, to which Fastify has added the method and the URL. */
type DeclaredConfig = FastifyContextConfig & { method?: Methods; url?: string }

function idOf(config: FastifyContextConfig, method: Methods, url: string): object | string {
  return config[routeMark] ?? sharedName(method, url)
}

type Methods = RouteOptions['method']

/**
 * A name for a route. Routes that share a guard have the same name: a GET route, and the HEAD route that Fastify adds to the
 * GET route. For the route `/` under the prefix `/api`, Fastify declares one GET route for `/api` and `/api/`, but a HEAD route
 * for each of the two.
 */
function sharedName(method: Methods, url: string): string {
  return routeName(method, url.length > 1 && url.endsWith('/') ? url.slice(0, -1) : url)
}
