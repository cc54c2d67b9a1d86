import { type CanActivate, type ExecutionContext, Inject, Injectable } from '@nestjs/common'
import { ApplicationConfig } from '@nestjs/core'
import type { MaybePromise } from '../../src/common/index.ts'
import type { PlanLimiter, RateLimiter } from '../../src/limiter/index.ts'
import { callOf } from './nest-call.ts'
import { exceptionOf } from './nest-exceptions.ts'
import { nestDecision } from './nest-framework.ts'
import type { NestLimits } from './nest-limits.ts'

/** The injection token of the limits of an application. */
export const limitsToken: symbol = Symbol('headgate.limits')

/**
 * Limits the calls of handlers: HTTP, GraphQL, gateways and microservices. As a global guard it limits all of them:
 *
 *     providers: [{ provide: APP_GUARD, useClass: RateLimitGuard }]
 *
 * With `@UseGuards(RateLimitGuard)` it limits one controller or handler. `@RateLimit` adds the guard too. A call counts
 * once, even if the guard is in several places. A refusal is a `RateLimitException` with status 429; in a gateway it is
 * a `WsException`, in a microservice an `RpcException`.
 */
export class RateLimitGuard implements CanActivate {
  readonly #limits: NestLimits
  readonly #config: ApplicationConfig

  constructor(limits: NestLimits, config: ApplicationConfig) {
    this.#limits = limits
    this.#config = config
  }

  /**
   * The limiter of the module, for `peek`, `reset`, `ban` and `health()`. A `PlanLimiter` if the policies are a function of the
   * call. Undefined with `limit: false`.
   */
  get limiter(): RateLimiter | PlanLimiter | undefined {
    return this.#limits.root?.limiter
  }

  /** True if the call may go on. Throws or rejects with the refusal, or with what an option or the store threw. */
  canActivate(context: ExecutionContext): boolean | Promise<boolean> {
    const guard = this.#limits.of(context)
    if (guard === undefined) return true
    const call = callOf(context)
    call.config = this.#config
    if (!call.comesTo(guard)) return true
    const admitted = guard.check(context, context)
    return admitted === true || end(admitted, context)
  }
}

Injectable()(RateLimitGuard)
Inject(limitsToken)(RateLimitGuard, undefined, 0)
Inject(ApplicationConfig)(RateLimitGuard, undefined, 1)

async function end(admitted: MaybePromise<boolean>, context: ExecutionContext): Promise<true> {
  if (await admitted) return true
  throw await exceptionOf(callOf(context), nestDecision(context))
}
