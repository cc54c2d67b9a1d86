import type { FastifyContextConfig } from 'fastify'

/** The limit of a route: the value of `config.rateLimit`. */
export type RouteLimit = FastifyContextConfig['rateLimit']

declare module 'fastify' {
  /** The types that `config.rateLimit` of a route may have. Each module that reads `config.rateLimit` adds its type as a property. */
  interface HeadgateRouteLimits {}

  interface FastifyContextConfig {
    /**
     * The limit of this route, in place of the global limit; options without policies, which change the global limit for this route; or
     * false for no limit. Default: the global limit. Example: `'5/1m sliding-log'`, or `{ cost: 5 }`.
     */
    rateLimit?: HeadgateRouteLimits[keyof HeadgateRouteLimits] | false
  }
}
