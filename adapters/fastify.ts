import type { FastifyInstance, FastifyPluginCallback, FastifyReply, FastifyRequest } from 'fastify'
import plugin from 'fastify-plugin'
import { whenEnded } from '../src/http/ended.ts'
import { type Framework, type RequestDecision, routeName } from '../src/http/framework.ts'
import { Guard } from '../src/http/guard.ts'
import type { GuardOptions, RateLimitArgument, RateLimitOptions } from '../src/http/options.ts'

type Argument = RateLimitArgument<FastifyRequest, FastifyReply>

type PluginOptions = RateLimitOptions<FastifyRequest, FastifyReply>
type Options = GuardOptions<FastifyRequest, FastifyReply>
type FastifyGuard = Guard<FastifyRequest, FastifyReply>

/** Where a route's own guard is kept, on the route's config. The HEAD route that Fastify adds shares the one of GET. */
const guardOfRoute: unique symbol = Symbol('headgate.guard')

declare module 'fastify' {
  interface FastifyRequest {
    /** The decision of the rate limiter that this request passed; null where the route has none. */
    rateLimit: RequestDecision | null
  }
  interface FastifyContextConfig {
    /** A limit of this route's own, instead of the global one; false for none. */
    rateLimit?: Argument | false
    [guardOfRoute]?: FastifyGuard
  }
}

/** Whether a server trusts every hop, by how far it follows a long forwarding chain of documentation addresses (RFC 5737). */
function trustsEverybody(request: FastifyRequest): boolean {
  const chain = Array.from({ length: 250 }, (_, n) => `198.51.100.${n}`)
  const raw = { headers: { 'x-forwarded-for': chain.join(', ') }, socket: { remoteAddress: '192.0.2.1' } }
  return (Object.create(request, { raw: { value: raw } }) as FastifyRequest).ips?.length === chain.length + 1
}

const trusting = new WeakMap<FastifyInstance, boolean>()

const fastify: Framework<FastifyRequest, FastifyReply> = {
  address(request) {
    const { ips, server } = request
    if (ips === undefined) return request.ip
    const everybody = trusting.get(server) ?? trustsEverybody(request)
    trusting.set(server, everybody)
    return everybody ? (ips[1] ?? ips[0]) : request.ip
  },
  peer: (request) => request.raw.socket.remoteAddress,
  trustsProxy: ({ ips }) => ips !== undefined,
  param({ params }, name) {
    const all = params as Record<string, string> | undefined
    return all && Object.hasOwn(all, name) ? all[name] : undefined
  },
  header: (request, name) => request.headers[name]?.toString(),
  route: (request) => routeName(request.method, request.routeOptions.url),
  attach(request, _reply, decision) {
    request.rateLimit = decision
  },
  headersSent: (reply) => reply.sent || reply.raw.headersSent,
  ended: ({ raw }, done) => whenEnded(raw, done),
  setHeader: (reply, name, value) => void reply.header(name, value),
  setStatus: (reply, status) => void reply.code(status),
  send: (reply, type, body) => void reply.type(type).send(body),
}

/**
 * A Fastify plugin for every route below the instance it is registered on, 404s included. A route has its own limit by
 * `config: { rateLimit: '5/1m' }` and none by `config: { rateLimit: false }`. The decision is on `request.rateLimit`; an
 * error of a key extractor or of the store goes to the error handler.
 *
 *     await app.register(rateLimit('100/15m'))
 *     await app.register(rateLimit, { limit: 100, window: '15m' })
 *
 * @param what the global limit, or false where only routes have one
 * @throws HeadgateError for a policy or option that cannot be what it is
 */
export function rateLimit(what: Argument | false, options?: Options): FastifyPluginCallback
export function rateLimit(app: FastifyInstance, options: PluginOptions, done: (error?: Error) => void): void
export function rateLimit(
  what: Argument | false | FastifyInstance,
  options?: Options | Argument,
  done?: (error?: Error) => void,
): unknown {
  if (done !== undefined) {
    try {
      const everywhere = new Guard(fastify, options as Argument)
      install(what as FastifyInstance, everywhere, everywhere.options)
    } catch (error) {
      return done(error as Error)
    }
    return done()
  }
  const everywhere = what === false ? undefined : new Guard(fastify, what as Argument, options as Options)
  return plugin((app, _none, ready) => {
    install(app, everywhere, everywhere?.options ?? (options as Options))
    ready()
  }, named)
}

const named = { fastify: '>=4', name: 'headgate' }
plugin(rateLimit as unknown as FastifyPluginCallback, named)

/** @param options the keys, headers and refusal that a route's own limit has too unless it says otherwise */
function install(app: FastifyInstance, everywhere: FastifyGuard | undefined, options: Options | undefined): void {
  const ofRoute = new Map<string, { own: Argument; guard: FastifyGuard }>()
  app.decorateRequest('rateLimit', null)
  app.addHook('onRoute', (route) => {
    const own = route.config?.rateLimit
    if (!own) return
    const name = routeName(String(route.method), route.url)
    const same = ofRoute.get(name)
    const guard = same?.own === own ? same.guard : new Guard(fastify, own, options)
    ofRoute.set(name, { own, guard })
    route.config = { ...route.config, [guardOfRoute]: guard }
  })
  app.addHook('onRequest', (request, reply, next) => {
    const { config } = request.routeOptions
    const guard = config.rateLimit === false ? undefined : (config[guardOfRoute] ?? everywhere)
    if (guard === undefined) next()
    else guard.run(request, reply, next as (error?: unknown) => void)
  })
}
