import { subscribe } from 'node:diagnostics_channel'
import type { FastifyInstance, RouteOptions } from 'fastify'

/** Marks the config of a route with an object that is the route's own. Fastify copies a config, but keeps the mark. */
export const routeMark: unique symbol = Symbol('headgate.route')

declare module 'fastify' {
  interface FastifyContextConfig {
    [routeMark]?: object
  }
}

interface LimitedRoute {
  readonly instance: FastifyInstance
  readonly route: RouteOptions
}

/** The routes with a limit of their own, by the root instance. */
const limitedRoutes = new WeakMap<object, LimitedRoute[]>()

// Fastify publishes each server that is made. A plugin's own `onRoute` hook would miss the routes that were declared before it.
subscribe('fastify.initialization', (message) => {
  const { fastify } = message as { fastify: FastifyInstance }
  const routes: LimitedRoute[] = []
  limitedRoutes.set(fastify, routes)
  fastify.addHook('onRoute', function (this: FastifyInstance, route) {
    if (route.config?.rateLimit === undefined) return
    route.config = { [routeMark]: markOfGet(route, routes) ?? {}, ...route.config }
    routes.push({ instance: this, route })
  })
})

/** The mark of the GET route, for the HEAD route that Fastify adds to it: they share one guard. */
function markOfGet(route: RouteOptions, routes: readonly LimitedRoute[]): object | undefined {
  if (route.method !== 'HEAD') return undefined
  const get = routes.findLast(
    ({ route: { method, url, config } }) =>
      [method].flat().includes('GET') &&
      withoutSlash(url) === withoutSlash(route.url) &&
      config?.rateLimit === route.config?.rateLimit,
  )
  return get?.route.config?.[routeMark]
}

/** For `/` under a prefix, Fastify declares `/api` and `/api/` as one route, but a HEAD route for each. */
function withoutSlash(url: string): string {
  return url.replace(/\/$/, '')
}

/**
 * The routes of this instance and the instances in it that have a limit of their own, also those that were declared before a
 * plugin was loaded. None if this module was loaded after the server was made.
 */
export function limitedRoutesOf(app: FastifyInstance): readonly RouteOptions[] {
  for (let instance: object | null = app; instance !== null; instance = Object.getPrototypeOf(instance)) {
    const routes = limitedRoutes.get(instance)
    if (routes === undefined) continue
    return routes
      .filter((each) => each.instance === app || Object.prototype.isPrototypeOf.call(app, each.instance))
      .map(({ route }) => route)
  }
  return []
}
