import type {
  FastifyContextConfig,
  FastifyInstance,
  FastifyPluginCallback,
  FastifyReply,
  FastifyRequest,
  RouteOptions,
} from 'fastify'
import plugin from 'fastify-plugin'
import { whenEnded } from '../src/http/ended.ts'
import { type Framework, type RequestDecision, routeName } from '../src/http/framework.ts'
import type { Gate } from '../src/http/gate.ts'
import type { GuardOptions, RateLimitArgument, RateLimitOptions } from '../src/http/options.ts'
import { guardOf } from '../src/http/plans.ts'

type Argument = RateLimitArgument<FastifyRequest, FastifyReply>

type PluginOptions = RateLimitOptions<FastifyRequest, FastifyReply>
type Options = GuardOptions<FastifyRequest, FastifyReply>
type FastifyGuard = Gate<FastifyRequest, FastifyReply>

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
    [guardOfRoute]?: FastifyGuard | undefined
  }
}

/** Whether a server trusts every hop, by how far it follows a long forwarding chain of documentation addresses (RFC 5737). */
function trustsEverybody(request: FastifyRequest): boolean {
  const chain = Array.from({ length: 250 }, (_, n) => `198.51.100.${n}`)
  const raw = { headers: { 'x-forwarded-for': chain.join(', ') }, socket: { remoteAddress: '192.0.2.1' } }
  return (Object.create(request, { raw: { value: raw } }) as FastifyRequest).ips?.length === chain.length + 1
}

const trusting = new WeakMap<FastifyInstance, boolean>()

function forwarded(request: FastifyRequest, ips: readonly string[]): string | undefined {
  const everybody = trusting.get(request.server) ?? trustsEverybody(request)
  trusting.set(request.server, everybody)
  return everybody ? (ips[1] ?? ips[0]) : request.ip
}

/** The names of the fields that were ever set, in lower case: Fastify would make each anew at every request. */
const lowerCase = new Map<string, string>()

function learn(name: string): string {
  const made = name.toLowerCase()
  lowerCase.set(name, made)
  return made
}

const fastify: Framework<FastifyRequest, FastifyReply> = {
  address(request) {
    const { ips } = request
    return ips === undefined ? request.ip : forwarded(request, ips)
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
  complete: ({ raw }) => raw.writableEnded,
  ended: ({ raw }, done) => whenEnded(raw, done),
  setHeader: (reply, name, value) => void reply.header(lowerCase.get(name) ?? learn(name), value),
  setStatus: (reply, status) => void reply.code(status),
  send: (reply, type, body) => void reply.type(type).send(body),
  returned(reply, value) {
    if (value !== undefined && value !== reply && !reply.sent) reply.send(value)
  },
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
  if (done !== undefined) return install(what as FastifyInstance, () => guardOf(fastify, options as Argument), {}, done)
  const everywhere = what === false ? undefined : guardOf(fastify, what as Argument, options as Options)
  return plugin((app, _none, ready) => install(app, () => everywhere, options as Options, ready), named)
}

const named = { fastify: '5.x', name: 'headgate' }
// Registered by itself, with its options beside it, the function is the plugin: it needs the marks of one.
plugin(rateLimit as unknown as FastifyPluginCallback, named)

/** @param inherited the keys, headers and refusal that a route's own limit has too unless it says otherwise */
function install(
  app: FastifyInstance,
  makeGuard: () => FastifyGuard | undefined,
  inherited: Options | undefined,
  done: (error?: Error) => void,
): void {
  try {
    const everywhere = makeGuard()
    const routes = new RouteGuards(everywhere?.options ?? inherited)
    const declared: RouteOptions[] = []
    const isFirst = app.printRoutes() === '(empty tree)' // or else routes are there that are never told to onRoute
    /** Whether no route has another guard: then none is asked for its config, which Fastify makes anew at each reading. */
    let alike = false
    if (!app.hasRequestDecorator('rateLimit')) app.decorateRequest('rateLimit', null)
    app.addHook('onReady', (ready) => {
      alike = isFirst && declared.every(({ config }) => routes.of(config ?? {}, everywhere) === everywhere)
      ready()
    })
    app.addHook('onRoute', (route) => {
      declared.push(route)
      const own = route.config?.rateLimit
      const guard = own ? routes.declared(own, String(route.method), route.url) : everywhere
      // Of limiters around limiters the nearest is asked last here, and has its way.
      route.config = { ...route.config, [guardOfRoute]: own === false ? undefined : guard }
    })
    app.addHook('onRequest', (request, reply, next) => {
      if (request.rateLimit !== null) return next()
      const guard = alike ? everywhere : routes.of(request.routeOptions.config, everywhere)
      if (guard === undefined) next()
      else guard.run(request, reply, next as (error?: unknown) => void)
    })
    done()
  } catch (error) {
    done(error as Error)
  }
}

/** The guards of routes that have a limit of their own. */
class RouteGuards {
  readonly #inherited: Options | undefined
  readonly #byName = new Map<string, { own: Argument; guard: FastifyGuard }>()
  readonly #byConfig = new WeakMap<object, FastifyGuard>()

  constructor(inherited: Options | undefined) {
    this.#inherited = inherited
  }

  /** The HEAD route that Fastify adds to a GET shares its guard. */
  declared(own: Argument, method: string, url: string): FastifyGuard {
    const name = routeName(method, url)
    const get = method === 'HEAD' ? this.#byName.get(name) : undefined
    const guard = get?.own === own ? get.guard : guardOf(fastify, own, this.#inherited)
    this.#byName.set(name, { own, guard })
    return guard
  }

  of(config: FastifyContextConfig, everywhere: FastifyGuard | undefined): FastifyGuard | undefined {
    if (config.rateLimit === false) return undefined
    return guardOfRoute in config ? config[guardOfRoute] : (this.#late(config) ?? everywhere)
  }

  /** Of a route that was declared before this plugin was loaded. */
  #late(config: FastifyContextConfig): FastifyGuard | undefined {
    const own = config.rateLimit
    if (!own) return undefined
    const guard = this.#byConfig.get(config) ?? guardOf(fastify, own, this.#inherited)
    this.#byConfig.set(config, guard)
    return guard
  }
}
