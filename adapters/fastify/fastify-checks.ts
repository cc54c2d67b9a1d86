import type { FastifyInstance, FastifyReply, FastifyRequest, RouteOptions } from 'fastify'
import { HeadgateError, warnOnce } from '../../src/common/index.ts'
import { createGuard, type GuardOptions, routeName } from '../../src/http/index.ts'
import { isLocal, type Store } from '../../src/stores/contract/index.ts'
import { fastifyFramework, tooOldFastify } from './fastify-framework.ts'

/** @throws HeadgateError if the plugin was used as a hook, or as the middleware of another framework */
export function checkInstance(app: unknown): void {
  if (typeof (app as Partial<FastifyInstance>).register === 'function') return
  throw new HeadgateError(
    'HEADGATE_OPTION',
    "rateLimit of headgate/fastify is a plugin, and was called with a request. Write app.register(rateLimit('100/15m')). " +
      "As a hook, write const limit = rateLimit('100/15m') and { preHandler: limit.hook }. Another framework has an entry point " +
      "of its own, such as 'headgate/express'.",
  )
}

/**
 * Checks that a limit on a route has an effect.
 * @param key the name under which the config of a route has its own limit
 * @throws HeadgateError if a route has a limit that has no effect, because the limit is not in the option `config` of the
 *   route, or has a misspelled name in `config`
 */
export function checkRoute({ method, url, ...route }: RouteOptions, key: string): void {
  const plain = (name: string) => name.toLowerCase().replaceAll(/[-_]/g, '')
  const isLimit = (name: string) => plain(name) === plain(key)
  const outside = Object.keys(route).find(isLimit)
  const misspelled = Object.keys(route.config ?? {}).find((name) => name !== key && isLimit(name))
  if (outside === undefined && misspelled === undefined) return
  throw new HeadgateError(
    'HEADGATE_OPTION',
    `The limit of the route ${[method].flat().join(', ')} ${url} is never read: it is in ${outside ?? `config.${misspelled}`}. ` +
      `Write config: { ${key}: '5/1m' }. If other code reads it, give the plugin another configKey.`,
  )
}

/**
 * Warns of routes whose own limits count in the memory of this process, although the limit around them is in a store for several processes.
 * @param store the store of the limit around the routes
 */
export function warnOfOwnStores(routes: readonly RouteOptions[], store: Store | undefined, key: string): void {
  const [route] = routes
  if (route === undefined || store === undefined || isLocal(store)) return
  const others = routes.length === 1 ? '' : ` and ${routes.length - 1} more`
  warnOnce(
    'HEADGATE_ROUTE_STORE',
    `The limit of the route ${routeName(route.method, route.url)}${others} has no store, so each process counts apart. The limit around ` +
      `it has a store, which a route with its own policies does not inherit. Write config: { ${key}: { policies: '5/1m sliding-log', name: 'login', ` +
      'store } }. If each process shall count apart, write store: memoryStore().',
  )
}

/** Checks the version of Fastify. @throws HeadgateError `HEADGATE_VERSION` for a version below 4.25 */
export function checkVersion({ version = '0' }: FastifyInstance): void {
  const [major = 0, minor = 0] = version.split('.').map(Number)
  if (major < 4 || (major === 4 && minor < 25)) throw tooOldFastify()
}

/** Checks the options of `rateLimit(false, options)`. @throws HeadgateError for an option that routes cannot inherit */
export function checkRouteDefaults(options: GuardOptions<FastifyRequest, FastifyReply> = {}): void {
  const limit = ['limit', 'window', 'policies', 'limiter'].find((option) => option in options)
  if (limit !== undefined) {
    throw new HeadgateError(
      'HEADGATE_OPTION',
      `rateLimit(false, ...) limits nothing, so it does not take ${limit}. Write rateLimit({ limit: 100, window: '15m' }) ` +
        `for a global limit, or config: { rateLimit: '100/15m' } on a route.`,
    )
  }
  createGuard(fastifyFramework, { policies: () => [] }, options) // throws if an option is invalid
}

/** Options of `app.register` that Fastify reads, and that the plugin ignores. */
const registerOptions = ['prefix', 'logLevel', 'logSerializers']

/**
 * @throws HeadgateError if `app.register(rateLimit('100/1m'), options)` has options of the limit, which belong into the call of `rateLimit`
 */
export function checkRegistered(options: object): void {
  const unread = Object.keys(options).find((option) => !registerOptions.includes(option))
  if (unread === undefined) return
  throw new HeadgateError(
    'HEADGATE_OPTION',
    `app.register(rateLimit(...)) takes no options, got ${JSON.stringify(unread)}. ` +
      `Write app.register(rateLimit, { limit: 100, window: '15m' }), or put them into rateLimit(...).`,
  )
}

/**
 * Marks a request that a limit of `app.register` has handled. If an app and an app inside it have limits, only the inner limit
 * counts a request.
 */
export const isChecked: unique symbol = Symbol('headgate.checked')

export type Checked = FastifyRequest & { [isChecked]: boolean }

/** The limit that is registered on each instance of Fastify. Undefined for `rateLimit(false)`. */
const registered = new WeakMap<FastifyInstance, object | undefined>()

/** @throws HeadgateError if another limit is registered on the instance, because routes would then have only the second limit */
export function checkAlone(app: FastifyInstance, limit: object | undefined): void {
  if (registered.has(app) && registered.get(app) !== limit) {
    throw new HeadgateError(
      'HEADGATE_OPTION',
      'Two limits are registered on one instance of Fastify, and the later one would replace the other on every route. Register ' +
        "one limit with all policies: rateLimit({ policies: ['10/1s', '1000/1h'] }).",
    )
  }
  registered.set(app, limit)
}

/** Marks an instance of Fastify to whose requests this package has added the property `rateLimit`. */
const decorated: unique symbol = Symbol('headgate.decorated')

/**
 * Adds the property `rateLimit` to all requests of an instance.
 * @throws HeadgateError if another plugin has added the property: every request would then seem to be decided already
 */
export function decorate(app: FastifyInstance): void {
  if (app.hasDecorator(decorated)) return
  if (app.hasRequestDecorator('rateLimit')) {
    throw new HeadgateError(
      'HEADGATE_OPTION',
      'request.rateLimit is decorated by other code, and headgate keeps its decision there. Rename that decorator.',
    )
  }
  app.decorateRequest('rateLimit', null as never)
  app.decorateRequest(isChecked, false)
  app.decorate(decorated, true)
}
