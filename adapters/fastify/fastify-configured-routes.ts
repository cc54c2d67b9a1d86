import { subscribe } from 'node:diagnostics_channel'
import type { FastifyContextConfig, FastifyInstance, FastifyReply, FastifyRequest, RouteOptions } from 'fastify'
import type { GuardOptions, RateLimitArgument } from '../../src/http/index.ts'

/**
 * The property of a route's config whose value, an object, identifies the route. When Fastify copies a config, the copy refers to the same
 * object.
 */
export const routeMark: unique symbol = Symbol('headgate.route')

declare module 'fastify' {
  interface FastifyContextConfig {
    [routeMark]?: object
  }
}

interface DeclaredRoute {
  readonly instance: FastifyInstance
  readonly route: RouteOptions
}

/** The declared routes of each root instance of Fastify. `routesOf` reads these routes when the plugin is loaded. */
const declaredRoutes = new WeakMap<object, DeclaredRoute[]>()

// Fastify publishes every new server on this channel. An `onRoute` hook of the plugin alone would miss the routes that were
// declared before the plugin was loaded.
subscribe('fastify.initialization', (message) => {
  const { fastify } = message as { fastify: FastifyInstance }
  const routes: DeclaredRoute[] = []
  declaredRoutes.set(fastify, routes)
  fastify.addHook('onRoute', function (this: FastifyInstance, route) {
    if (route.config !== undefined) route.config = { [routeMark]: markOfGet(route, routes) ?? {}, ...route.config }
    routes.push({ instance: this, route })
  })
})

/**
 * The mark (`routeMark`, which identifies a route) of the GET route to which an automatic HEAD route belongs: routes with the same mark use
 * the same guard. Undefined if `route` is not an automatic HEAD route.
 */
function markOfGet(route: RouteOptions, routes: readonly DeclaredRoute[]): object | undefined {
  if (route.method !== 'HEAD') return undefined
  const get = routes.findLast(
    ({ route: { method, url, config } }) =>
      [method].flat().includes('GET') &&
      withoutSlash(url) === withoutSlash(route.url) &&
      sameValues(config, route.config),
  )
  return get?.route.config?.[routeMark]
}

/** The limit in the config of a route. Undefined if the config has no limit. @param key the property of the config */
export function limitIn(config: FastifyContextConfig | undefined, key: string): RouteLimit | undefined {
  return (config as Readonly<Record<string, RouteLimit>> | undefined)?.[key]
}

/** The limit of a route, or options that change the limit around the route. */
export type OwnLimit = RateLimitArgument<FastifyRequest, FastifyReply> | GuardOptions<FastifyRequest, FastifyReply>
type RouteLimit = OwnLimit | false

function sameValues(one: object = {}, other: object = {}): boolean {
  return Object.entries(other).every(([name, value]) => Reflect.get(one, name) === value)
}

/**
 * A URL without a slash at its end. For the route `/` under the prefix `/api`, Fastify declares one GET route for `/api` and
 * `/api/`, but one HEAD route for `/api` and another for `/api/`.
 */
function withoutSlash(url: string): string {
  return url.replace(/\/$/, '')
}

/**
 * The routes of the Fastify instance `app` and of the instances inside `app`, including routes that were declared before the plugin was
 * loaded. Empty if the server was made before this module was loaded.
 */
export function routesOf(app: FastifyInstance): readonly RouteOptions[] {
  for (let instance: object | null = app; instance !== null; instance = Object.getPrototypeOf(instance)) {
    const routes = declaredRoutes.get(instance)
    if (routes === undefined) continue
    return routes
      .filter((each) => each.instance === app || Object.prototype.isPrototypeOf.call(app, each.instance))
      .map(({ route }) => route)
  }
  return []
}
