import type { FastifyInstance, FastifyReply, FastifyRequest, RouteOptions } from 'fastify'
import { HeadgateError } from '../../src/common/index.ts'
import { createGuard, type GuardOptions } from '../../src/http/index.ts'
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
 * @param key the name under which the config of a route has its own limit
 * @throws HeadgateError for a route whose limit nobody would read: it is outside of the config, or its name is misspelled
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

/** @throws HeadgateError before Fastify 4.25 */
export function checkVersion({ version = '0' }: FastifyInstance): void {
  const [major = 0, minor = 0] = version.split('.').map(Number)
  if (major < 4 || (major === 4 && minor < 25)) throw tooOldFastify()
}

/** @throws HeadgateError for options that `rateLimit(false, ...)` cannot pass on to routes */
export function checkRouteDefaults(options: GuardOptions<FastifyRequest, FastifyReply> = {}): void {
  const limit = ['limit', 'window', 'policies', 'limiter'].find((option) => option in options)
  if (limit !== undefined) {
    throw new HeadgateError(
      'HEADGATE_OPTION',
      `rateLimit(false, ...) limits nothing, so it does not take ${limit}. Write rateLimit({ limit: 100, window: '15m' }) ` +
        `for a global limit, or config: { rateLimit: '100/15m' } on a route.`,
    )
  }
  createGuard(fastifyFramework, { policies: () => [] }, options) // throws now if an option is invalid
}

/** The options of `register` that Fastify itself reads. */
const registerOptions = ['prefix', 'logLevel', 'logSerializers']

/** @throws HeadgateError for options beside a plugin that has its options already */
export function checkRegistered(options: object): void {
  const unread = Object.keys(options).find((option) => !registerOptions.includes(option))
  if (unread === undefined) return
  throw new HeadgateError(
    'HEADGATE_OPTION',
    `app.register(rateLimit(...)) takes no options, got ${JSON.stringify(unread)}. ` +
      `Write app.register(rateLimit, { limit: 100, window: '15m' }), or put them into rateLimit(...).`,
  )
}

/** Marks a request that a registered limit has seen: if limits are nested, only the innermost one applies. */
export const isChecked: unique symbol = Symbol('headgate.checked')

export type Checked = FastifyRequest & { [isChecked]: boolean }

/** Marks an instance of Fastify whose requests have a `rateLimit` of this package. */
const decorated: unique symbol = Symbol('headgate.decorated')

/**
 * Gives requests their `rateLimit`.
 * @throws HeadgateError if another plugin has added it: every request would look as if an outer limiter had decided it
 */
export function decorate(app: FastifyInstance): void {
  if (app.hasDecorator(decorated)) return
  if (app.hasRequestDecorator('rateLimit')) {
    throw new HeadgateError(
      'HEADGATE_OPTION',
      'request.rateLimit is decorated by other code, and headgate keeps its decision there. Rename that decorator.',
    )
  }
  app.decorateRequest('rateLimit', null)
  app.decorateRequest(isChecked, false)
  app.decorate(decorated, true)
}
