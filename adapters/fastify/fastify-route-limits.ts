import type { FastifyContextConfig } from 'fastify'

/** The limit of a route, as its config has it. */
export type RouteLimit = FastifyContextConfig['rateLimit']

declare module 'fastify' {
  /** What `config.rateLimit` of a route may be. Each module that reads it adds its own form. */
  interface HeadgateRouteLimits {}

  interface FastifyContextConfig {
    /** A limit of the route's own in place of the global one; false for none. Example: `'5/1m'`. */
    rateLimit?: HeadgateRouteLimits[keyof HeadgateRouteLimits] | false
  }
}
