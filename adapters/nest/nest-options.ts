import type { ExecutionContext } from '@nestjs/common'
import type { GuardOptions, LimiterParts, RateLimitArgument } from '../../src/http/index.ts'
import { RateLimiter } from '../../src/limiter/index.ts'
import { isObject } from './nest-call.ts'

/** A limit of the module or of a decorator: an argument of `rateLimit`. */
export type NestArgument = RateLimitArgument<ExecutionContext, ExecutionContext>

/** The options of a limit, beside its policies. */
export type NestGuardOptions = GuardOptions<ExecutionContext, ExecutionContext>

/** The options that limits of handlers and controllers inherit, if the module has no limit. */
type NoLimit = NestGuardOptions & Pick<LimiterParts, (typeof sharedParts)[number]> & { limit: false }

/** The options of the module: an argument of `rateLimit`, or `{ limit: false }` with options for handlers to inherit. */
export type RateLimitModuleOptions = NestArgument | NoLimit

/** Parts of a limiter that limits of handlers share with the limit of the module. */
const sharedParts = ['store', 'instances', 'storeTimeout'] as const

interface Read {
  /** False with `limit: false`. */
  readonly limited: boolean
  readonly argument: NestArgument
  /** The options that limits of handlers inherit, if the module has no limit. */
  readonly defaults: NestGuardOptions
  readonly parts: LimiterParts
}

export function readModuleOptions(options: RateLimitModuleOptions): Read {
  const given = isObject(options) && !(options instanceof RateLimiter) ? Object.entries(options) : []
  const isPart = (option: string) => (sharedParts as readonly string[]).includes(option)
  const parts = Object.fromEntries(given.filter(([option]) => isPart(option)))
  const argument = options as NestArgument
  if (!isObject(options) || options.limit !== false) return { limited: true, argument, defaults: {}, parts }
  const defaults = Object.fromEntries(given.filter(([option]) => option !== 'limit' && !isPart(option)))
  return { limited: false, argument, defaults, parts }
}

/** True if the application keeps the states itself, in a store or a limiter that it gave. */
export function givesStore(options: RateLimitModuleOptions): boolean {
  if (options instanceof RateLimiter) return true
  return isObject(options) && (options.store !== undefined || options.limiter !== undefined)
}
