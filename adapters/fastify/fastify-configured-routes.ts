import { subscribe } from 'node:diagnostics_channel'
import type { FastifyContextConfig, FastifyInstance, FastifyReply, FastifyRequest, RouteOptions } from 'fastify'
import type { RateLimitArgument } from '../../src/http/index.ts'

/** Marks the config of a route with an object that is the route's own. Fastify copies a config, but keeps the mark. */
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

/** The routes by the root instance. Which key of a config has a limit is not known yet. */
const declaredRoutes = new WeakMap<object, DeclaredRoute[]>()

// Fastify publishes each server that is made. A plugin's own `onRoute` hook would miss the routes that were declared before it.
subscribe('fastify.initialization', (message) => {
  const { fastify } = message as { fastify: FastifyInstance }
  const routes: DeclaredRoute[] = []
  declaredRoutes.set(fastify, routes)
  fastify.addHook('onRoute', function (this: FastifyInstance, route) {
    if (route.config !== undefined) route.config = { [routeMark]: markOfGet(route, routes) ?? {}, ...route.config }
    routes.push({ instance: this, route })
  })
})

/** The mark of the GET route, for the HEAD route that Fastify adds: both routes share one guard. */
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

/** The limit in the config of a route. */
export function limitIn(config: FastifyContextConfig | undefined, key: string): RouteLimit | undefined {
  return (config as Readonly<Record<string, RouteLimit>> | undefined)?.[key]
}

type RouteLimit = RateLimitArgument<FastifyRequest, FastifyReply> | false

function sameValues(one: object = {}, other: object = {}): boolean {
  return Object.entries(other).every(([name, value]) => Reflect.get(one, name) === value)
}

/** For `/` under a prefix, Fastify declares `/api` and `/api/` as one route, but a HEAD route for each. */
function withoutSlash(url: string): string {
  return url.replace(/\/$/, '')
}

/**
 * The routes of this instance and of the instances in it. Includes routes that were declared before the plugin was loaded.
 * Empty if this module was loaded after the server was made.
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
