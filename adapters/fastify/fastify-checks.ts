import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import { HeadgateError } from '../../src/common/index.ts'
import { createGuard, type GuardOptions } from '../../src/http/index.ts'
import { fastifyFramework, tooOldFastify } from './fastify-framework.ts'

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
