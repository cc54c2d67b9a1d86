import { applyDecorators, createParamDecorator, type ExecutionContext, SetMetadata, UseGuards } from '@nestjs/common'
import { HeadgateError } from '../../src/common/index.ts'
import type { RequestDecision } from '../../src/http/index.ts'
import { nestDecision } from './nest-framework.ts'
import { RateLimitGuard } from './nest-guard.ts'
import { type DeclaredLimit, limitKey, type Skipped, skipKey } from './nest-metadata.ts'
import type { NestArgument, NestGuardOptions } from './nest-options.ts'

/** A decorator of a class and of a method. */
type ClassOrMethodDecorator = ClassDecorator & MethodDecorator

/**
 * Gives a handler its own limit, or a whole controller, resolver or gateway, in place of the limit of the module. The
 * decorator also adds the guard. The limit inherits the store and the options of the module. On a class, all its
 * handlers share one quota.
 *
 *     @RateLimit('5/1m')
 *     @Post('login')
 *     login() { ... }
 *
 * An invalid limit stops the start of the application with a HeadgateError.
 */
export function RateLimit(limit: NestArgument, options?: NestGuardOptions): ClassOrMethodDecorator {
  const declared: DeclaredLimit = { argument: limit, options }
  return applyDecorators(SetMetadata(limitKey, declared), UseGuards(RateLimitGuard)) as ClassOrMethodDecorator
}

/**
 * Exempts a handler or a class from every policy, or from the policies that it names. All other policies are still one
 * decision.
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
 * A parameter with the decision that admitted this call; undefined if nothing limits it. The type is `RequestDecision`.
 *
 *     find(@RateLimitDecision() decision: RequestDecision) { return decision.remaining }
 */
export const RateLimitDecision: () => ParameterDecorator = createParamDecorator(
  (_data: unknown, context: ExecutionContext): RequestDecision | undefined => nestDecision(context),
)
