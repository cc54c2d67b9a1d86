import {
  type CallHandler,
  type ExecutionContext,
  HttpException,
  Injectable,
  type NestInterceptor,
} from '@nestjs/common'
import type { Observable } from 'rxjs'
import * as rxjs from 'rxjs'
import { getOrInsert, tooOld } from '../../src/common/index.ts'
import { hasLeft } from './nest-disconnect.ts'

type Ending = (status: number, aborted: boolean) => void

/** A call that has no response of its own, such as the call for a message. The call's units in flight become free when the call ends. */
class HeldCall {
  readonly endings: Ending[] = []
  /** True while the handler runs, or while a subscriber receives the results of the handler. */
  running = false
  #signs = 0

  /**
   * Returns a larger number each time while the handler runs and the client is connected. Otherwise returns the last number again.
   */
  progress(context: ExecutionContext): number {
    return this.running && !hasLeft(context) ? ++this.#signs : this.#signs
  }

  end(status: number, aborted: boolean): void {
    this.running = false
    for (const done of this.endings.splice(0)) done(status, aborted)
  }
}

/** Checks the version of rxjs. @throws HeadgateError if `rxjs` does not export the operator `tap`, which the interceptor needs */
export function checkRxjs(): void {
  if (rxjs.tap === undefined) throw tooOld('headgate/nest', 'rxjs', '7.3')
}

/**
 * The calls that report their end to a limit, by the array of the handler's arguments. Guards and interceptors of one call share this
 * array.
 */
const held = new WeakMap<readonly unknown[], HeldCall>()

function heldCall(context: ExecutionContext): HeldCall {
  return getOrInsert(held, context.getArgs(), () => new HeldCall())
}

/** Calls `done` when the call of this context has ended. Only `RateLimitInterceptor` sees that end. */
export function whenCallEnded(context: ExecutionContext, done: Ending): void {
  heldCall(context).endings.push(done)
}

/**
 * Returns a function that returns a larger number each time while the handler of this call runs. Leases (the times after which units of
 * unfinished calls are freed) are renewed only while the number grows. Before the interceptor has started the handler, the number stays the
 * same: another guard may end the call, and the interceptor would not see that end.
 */
export function progressOf(context: ExecutionContext): () => number {
  const call = heldCall(context)
  return () => call.progress(context)
}

/**
 * Reports to the limits how a call has ended, for calls that are not HTTP requests (in GraphQL, gateways and microservices). Policies that
 * count unfinished calls (units in flight) and the option `count` need this report. If a handler has such a limit and no interceptor, the
 * application does not start.
 *
 *     providers: [{ provide: APP_INTERCEPTOR, useClass: RateLimitInterceptor }]
 */
export class RateLimitInterceptor implements NestInterceptor {
  intercept(context: ExecutionContext, next: CallHandler): Observable<unknown> {
    const args = context.getArgs()
    const call = held.get(args)
    if (call === undefined) return next.handle()
    held.delete(args)
    return next.handle().pipe(
      rxjs.tap({
        subscribe: () => {
          call.running = true
        },
        complete: () => call.end(200, false),
        error: (error: unknown) => call.end(error instanceof HttpException ? error.getStatus() : 500, false),
        unsubscribe: () => call.end(200, true),
      }),
    )
  }
}

Injectable()(RateLimitInterceptor)
