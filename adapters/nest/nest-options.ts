import type { ExecutionContext } from '@nestjs/common'
import { knownOptions } from '../../src/common/index.ts'
import { type GuardOptions, inheritedOptions, type LimiterParts, type RateLimitArgument } from '../../src/http/index.ts'
import { RateLimiter } from '../../src/limiter/index.ts'
import { isObject } from './nest-call.ts'

/** The limit of the module or of a decorator, in any form that `rateLimit` accepts. */
export type NestArgument = RateLimitArgument<ExecutionContext, ExecutionContext>

/** The options of a limit, other than its policies. */
export type NestGuardOptions = GuardOptions<ExecutionContext, ExecutionContext>

/** The options of a module without a limit. The limits of handlers and controllers inherit these options. */
interface NoLimit
  extends Omit<NestGuardOptions, 'cost' | 'settle' | 'count' | 'delay'>,
    Pick<LimiterParts, (typeof sharedParts)[number]> {
  limit: false
}

/** The options of the module: any argument of `rateLimit`, or `{ limit: false }` with options that limits of handlers inherit. */
export type RateLimitModuleOptions = NestArgument | NoLimit

/** The names of the options that the module's limiter shares with the limits of handlers and controllers. */
const sharedParts = ['store', 'instances', 'storeTimeout'] as const

interface Read {
  /** False if the module has `limit: false`. */
  readonly limited: boolean
  readonly argument: NestArgument
  /** The options that limits of handlers inherit if the module has `limit: false`. Empty if the module has a limit. */
  readonly defaults: NestGuardOptions
  readonly parts: LimiterParts
}

/** @throws HeadgateError `HEADGATE_OPTION` for an option that limits of handlers do not inherit, if the module has `limit: false` */
export function readModuleOptions(options: RateLimitModuleOptions, more: NestGuardOptions | undefined): Read {
  const given = isObject(options) && !(options instanceof RateLimiter) ? Object.entries(options) : []
  const isPart = (option: string) => (sharedParts as readonly string[]).includes(option)
  const parts = Object.fromEntries(given.filter(([option]) => isPart(option)))
  const argument = options as NestArgument
  if (!isObject(options) || options.limit !== false) return { limited: true, argument, defaults: {}, parts }
  const own = given.filter(([option]) => option !== 'limit' && !isPart(option))
  const defaults = { ...more, ...Object.fromEntries(own) }
  const defined = Object.fromEntries(Object.entries(defaults).filter(([, value]) => value !== undefined))
  knownOptions('RateLimitModule.forRoot({ limit: false })', defined, [...inheritedOptions, ...sharedParts])
  return { limited: false, argument, defaults, parts }
}

/**
 * True if the application passes a store or a limiter. The states of all keys are then in the store that the application
 * chose.
 */
export function givesStore(options: RateLimitModuleOptions): boolean {
  if (options instanceof RateLimiter) return true
  return isObject(options) && (options.store !== undefined || options.limiter !== undefined)
}
