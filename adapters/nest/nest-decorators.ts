import { applyDecorators, createParamDecorator, type ExecutionContext, SetMetadata, UseGuards } from '@nestjs/common'
import { HeadgateError } from '../../src/common/index.ts'
import { type Cost, checkedCost, type RequestDecision } from '../../src/http/index.ts'
import type { Class, Handler } from './nest-enhancers.ts'
import { nestDecision } from './nest-framework.ts'
import { RateLimitGuard } from './nest-guard.ts'
import { type DeclaredLimit, limitKey, ownLimitOf, type Skipped, skipKey } from './nest-metadata.ts'
import type { NestArgument, NestGuardOptions } from './nest-options.ts'

/** A decorator that can be applied to a class or to a method. */
type ClassOrMethodDecorator = ClassDecorator & MethodDecorator

/**
 * Sets the limit of a handler, or of all handlers of a class, in place of the module's limit. The class is a controller, a
 * resolver or a gateway, and its handlers share one quota. The decorator also adds the guard that enforces the limit. The limit
 * inherits the store and the options of the module.
 *
 *     @RateLimit('5/1m sliding-log')
 *     @Post('login')
 *     login() { ... }
 *
 * Options without policies change the limit of the class or the module, and do not replace that limit: `@RateLimit({ count: 'failures' })`.
 * If the limit is invalid, the application does not start, with a HeadgateError.
 *
 * @throws HeadgateError `HEADGATE_OPTION` from the decorator if the class or the method has a `@RateLimit` already
 */
export function RateLimit(limit: NestArgument | NestGuardOptions, options?: NestGuardOptions): ClassOrMethodDecorator {
  const declared: DeclaredLimit = { argument: limit, options }
  const decorate = applyDecorators(SetMetadata(limitKey, declared), UseGuards(RateLimitGuard)) as MethodDecorator
  return ((target: Class, name: string, descriptor?: TypedPropertyDescriptor<Handler>) => {
    const place = descriptor?.value ?? target
    if (ownLimitOf(place) !== undefined) throw twoLimits(placeOf(target, name))
    decorate(target, name, descriptor as PropertyDescriptor)
  }) as ClassOrMethodDecorator
}

/**
 * Sets the cost of a handler, or of all handlers of a class. The limit is unchanged: the limit of the class, or else of the module. The
 * cost is a number, a record with a number for each policy, a list of records, or a function of the execution context. `@RateLimitCost(5)`
 * is short for `@RateLimit({ cost: 5 })`. If the cost is invalid, the application does not start, with a HeadgateError.
 *
 *     @RateLimitCost(5)
 *     @Get('search')
 *     search() { ... }
 *
 * @throws HeadgateError from the decorator: `HEADGATE_COST` if the cost is no cost, `HEADGATE_OPTION` if the class or the method has a
 *   `@RateLimit` already
 */
export function RateLimitCost(cost: Cost<ExecutionContext, ExecutionContext>): ClassOrMethodDecorator {
  if (typeof cost !== 'function') checkedCost(cost, 'cost')
  return RateLimit({ cost })
}

/**
 * The place of a decorator, for an error: the name of a class, or of a class and a method. The target of a static method is the class
 * itself.
 */
function placeOf(target: Class | object, name: string | undefined): string {
  const type = typeof target === 'function' ? target.name : target.constructor.name
  return name === undefined ? type : `${type}.${name}`
}

function twoLimits(place: string): HeadgateError {
  return new HeadgateError(
    'HEADGATE_OPTION',
    `${place} has two of @RateLimit and @RateLimitCost: one would replace the other. Give one @RateLimit all options: ` +
      "@RateLimit({ policies: ['5/1m', '100/1d'], cost: 5 }).",
  )
}

/**
 * Exempts a handler, or all handlers of a class, from the policies with these names. `@SkipRateLimit()` without names exempts from all
 * policies. The policies that remain are still decided together.
 *
 *     @SkipRateLimit()            // nothing limits the health check
 *     @SkipRateLimit('burst')     // the policy 'burst' does not apply, all others do
 *
 * @throws HeadgateError `HEADGATE_OPTION` if a name is not a text
 */
export function SkipRateLimit(...policies: readonly string[]): ClassOrMethodDecorator {
  const wrong = policies.findIndex((policy) => typeof policy !== 'string')
  if (wrong !== -1) {
    throw new HeadgateError(
      'HEADGATE_OPTION',
      `@SkipRateLimit takes names of policies, got ${typeof policies[wrong]}. Write @SkipRateLimit('burst').`,
    )
  }
  const skipped: Skipped = policies.length === 0 ? 'all' : policies
  return SetMetadata(skipKey, skipped) as ClassOrMethodDecorator
}

/**
 * A decorator for a parameter that gets the decision on this call. The type of the parameter is `RequestDecision`. The parameter
 * is undefined if no limit applies to the call, or if the option `attach` puts the decision elsewhere.
 *
 *     find(@RateLimitDecision() decision: RequestDecision) { return decision.remaining }
 */
export const RateLimitDecision: () => ParameterDecorator = createParamDecorator(
  (_data: unknown, context: ExecutionContext): RequestDecision | undefined => nestDecision(context),
)
