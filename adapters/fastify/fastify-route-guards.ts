import type { FastifyContextConfig, FastifyReply, FastifyRequest, RouteOptions } from 'fastify'
import { HeadgateError } from '../../src/common/index.ts'
import { changesLimit, createGuard, type Guard, type GuardOptions, routeName } from '../../src/http/index.ts'
import { RateLimiter } from '../../src/limiter/index.ts'
import { limitIn, type OwnLimit, routeMark } from './fastify-configured-routes.ts'
import { fastifyFramework } from './fastify-framework.ts'

type Options = GuardOptions<FastifyRequest, FastifyReply>
export type FastifyGuard = Guard<FastifyRequest, FastifyReply>

/** The property of a route's config that has the guard of the route's limit. An automatic HEAD route has the guard of its GET route. */
const guardOfRoute: unique symbol = Symbol('headgate.guard')

declare module 'fastify' {
  interface FastifyContextConfig {
    [guardOfRoute]?: FastifyGuard | undefined
    [wrongChange]?: unknown
  }
}

/** The property of a route's config that has the error if the route changes options of a limit, and the change is invalid. */
const wrongChange: unique symbol = Symbol('headgate.wrong')

/** The guards of the routes that have their own limit. A guard is the code that enforces a limit. */
export class RouteGuards {
  /** The guard of routes without their own limit. */
  readonly #everywhere: FastifyGuard | undefined
  readonly #inherited: Options | undefined
  readonly #configKey: string
  /** The guards, by the object that identifies a route (`routeMark`), or by the name of a route declared before this module was loaded. */
  readonly #guards = new Map<object | string, { own: OwnLimit; guard: FastifyGuard }>()
  readonly #patterns = new Map<string, string>()

  constructor(everywhere: FastifyGuard | undefined, inherited: Options | undefined, configKey: string) {
    this.#everywhere = everywhere
    this.#inherited = inherited
    this.#configKey = configKey
  }

  /**
   * The properties to add to the config of a route when the route is declared: the guard of the route's limit. An automatic HEAD route gets
   * the guard of its GET route. An invalid change of a limit does not throw yet, because the change may be meant for the limit of an inner
   * plugin.
   */
  declared(config: FastifyContextConfig, method: Methods, url: string): FastifyContextConfig {
    const own = limitIn(config, this.#configKey)
    if (own === undefined || own === false) return { [guardOfRoute]: own === false ? undefined : this.#everywhere }
    const id = idOf(config, method, url)
    try {
      const known = method === 'HEAD' ? this.#known(id, own) : undefined
      return { [guardOfRoute]: known ?? this.#make(id, own), [wrongChange]: undefined }
    } catch (error) {
      if (!changesLimit(own)) throw error
      return { [guardOfRoute]: undefined, [wrongChange]: error }
    }
  }

  /** The URL pattern of the GET route to which an automatic HEAD route belongs. For any other route, the pattern of the route itself. */
  patternOfGet(method: Methods, url: string): string {
    const name = sharedName(method, url)
    if (method === 'HEAD') return this.#patterns.get(name) ?? url
    this.#patterns.set(name, url)
    return url
  }

  /**
   * The guard that enforces the limit of the route that a request matched. If the route was declared before the plugin was loaded, the
   * first request makes the guard, which a GET route and its HEAD route share.
   * @throws HeadgateError if the limit of the route is invalid
   */
  of(config: DeclaredConfig): FastifyGuard | undefined {
    const own = limitIn(config, this.#configKey)
    if (own === false) return undefined
    if (config[wrongChange] !== undefined) throw config[wrongChange]
    if (guardOfRoute in config) return config[guardOfRoute]
    if (own === undefined) return this.#everywhere
    const id = idOf(config)
    return this.#known(id, own) ?? this.#make(id, own)
  }

  /**
   * True if the route's own limit, made here, counts in a memory store that no option names.
   * @throws HeadgateError if the limit of the route is invalid
   */
  countsApart(config: DeclaredConfig): boolean {
    const guard = this.of(config)
    const made = this.#guards.get(idOf(config))
    return made !== undefined && made.guard === guard && !changesLimit(made.own) && !givesStore(made.own)
  }

  #known(id: object | string, own: OwnLimit): FastifyGuard | undefined {
    const known = this.#guards.get(id)
    return known?.own === own ? known.guard : undefined
  }

  #change(options: Options): FastifyGuard {
    if (this.#everywhere !== undefined) return this.#everywhere.changed(options)
    throw new HeadgateError(
      'HEADGATE_OPTION',
      `config.${this.#configKey} has no policies, so it changes the limit around the route, and there is none. Give it policies: ` +
        `config: { ${this.#configKey}: { policies: '5/1m' } }, or register a limit: rateLimit('100/15m').`,
    )
  }

  #make(id: object | string, own: OwnLimit): FastifyGuard {
    const guard = changesLimit(own)
      ? this.#change(own)
      : createGuard(fastifyFramework, own, this.#inherited, 'inherited')
    this.#guards.set(id, { own, guard })
    return guard
  }
}

/** The config of a route, to which Fastify has added the method and the URL. */
type DeclaredConfig = FastifyContextConfig & { method?: Methods; url?: string }

/** True if a limit is a limiter, or has a limiter or a store. */
function givesStore(own: OwnLimit): boolean {
  return typeof own === 'object' && (own instanceof RateLimiter || 'limiter' in own || 'store' in own)
}

function idOf(
  config: DeclaredConfig,
  method: Methods = config.method ?? 'GET',
  url = config.url ?? '',
): object | string {
  return config[routeMark] ?? sharedName(method, url)
}

type Methods = RouteOptions['method']

/**
 * A name for a route. Routes that share a guard have the same name: a GET route, and the HEAD route that Fastify adds to the
 * GET route. For the route `/` under the prefix `/api`, Fastify declares one GET route for `/api` and `/api/`, but one HEAD route for
 * `/api` and another for `/api/`.
 */
function sharedName(method: Methods, url: string): string {
  return routeName(method, url.length > 1 && url.endsWith('/') ? url.slice(0, -1) : url)
}
