import { type CanActivate, type ExecutionContext, Inject, Injectable } from '@nestjs/common'
import { ApplicationConfig } from '@nestjs/core'
import { isPromise, type MaybePromise } from '../../src/common/index.ts'
import type { PlanLimiter, RateLimiter } from '../../src/limiter/index.ts'
import { callOf } from './nest-call.ts'
import { disconnectFlood, disconnectUnread, waitingMessages } from './nest-disconnect.ts'
import { exceptionOf } from './nest-exceptions.ts'
import { nestDecision } from './nest-framework.ts'
import type { NestLimits } from './nest-limits.ts'

/** The injection token for the limits of an application. If an application lacks the module, Nest shows this text in its error. */
export const limitsToken: symbol = Symbol('headgate: RateLimitModule.forRoot(...) in the imports of a module')

/**
 * A guard of Nest that limits the calls of handlers, over HTTP, GraphQL, gateways and microservices. As a global guard, it limits
 * all handlers:
 *
 *     providers: [{ provide: APP_GUARD, useClass: RateLimitGuard }]
 *
 * With `@UseGuards(RateLimitGuard)` the guard limits one controller or handler. `@RateLimit` adds the guard too. A call counts
 * once, even if the guard is in several places. A refused call ends with a `RateLimitException` with status 429. In a gateway,
 * the exception is a `WsException`, and in a microservice an `RpcException`.
 */
export class RateLimitGuard implements CanActivate {
  readonly #limits: NestLimits
  readonly #config: ApplicationConfig

  constructor(limits: NestLimits, config: ApplicationConfig) {
    this.#limits = limits
    this.#config = config
  }

  /**
   * The limiter of the module. The limiter has `peek`, `reset`, `ban` and `health()`. If the policies are a function of the call, the
   * limiter is a `PlanLimiter`, with a limiter for each set of policies. Undefined if the module has `limit: false`.
   */
  get limiter(): RateLimiter | PlanLimiter | undefined {
    return this.#limits.root?.limiter
  }

  /** Returns true if the call is admitted. Throws or rejects if the call is refused, an option is invalid or the store fails. */
  canActivate(context: ExecutionContext): boolean | Promise<boolean> {
    const guard = this.#limits.of(context)
    if (guard === undefined) return true
    const call = callOf(context)
    call.config = this.#config
    if (!call.comesTo(guard)) return true
    const waits = waitingMessages(context)
    const floods = disconnectFlood(context, waits)
    if (floods) call.status = 429
    const admitted = !floods && guard.check(context, context)
    if (admitted !== true) return end(admitted, context, isPromise(admitted) ? waits : undefined)
    call.stopWatching?.()
    return true
  }
}

Injectable()(RateLimitGuard)
Inject(limitsToken)(RateLimitGuard, undefined, 0)
Inject(ApplicationConfig)(RateLimitGuard, undefined, 1)

/** @param waits counts the message while it waits for the store */
async function end(
  admitted: MaybePromise<boolean>,
  context: ExecutionContext,
  waits: { messages: number } | undefined,
): Promise<true> {
  const call = callOf(context)
  if (waits !== undefined) waits.messages++
  try {
    if (await admitted) return true
  } finally {
    if (waits !== undefined) waits.messages--
    call.stopWatching?.()
  }
  disconnectUnread(context)
  throw await exceptionOf(call, nestDecision(context))
}
