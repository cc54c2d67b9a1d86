import type { FastifyContextConfig } from 'fastify'

/** The limit in the config of a route. */
export type RouteLimit = FastifyContextConfig['rateLimit']

declare module 'fastify' {
  /** What `config.rateLimit` of a route may be. Each module that reads it adds its own form. */
  interface HeadgateRouteLimits {}

  interface FastifyContextConfig {
    /** The route's own limit, in place of the global limit; false for no limit. Example: `'5/1m'`. */
    rateLimit?: HeadgateRouteLimits[keyof HeadgateRouteLimits] | false
  }
}
