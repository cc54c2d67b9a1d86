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
import { callOf, isObject } from './nest-call.ts'

type Ending = (status: number, aborted: boolean) => void

/** A call without a response of its own, whose units are held until it ends. */
class HeldCall {
  readonly endings: Ending[] = []
  /** True while the handler works, or while somebody receives its results. */
  running = false
  #signs = 0

  /** A number that grows each time this function is called, while the held call is known to be alive. */
  progress(context: ExecutionContext): number {
    return this.running && !hasLeft(context) ? ++this.#signs : this.#signs
  }

  end(status: number, aborted: boolean): void {
    this.running = false
    for (const done of this.endings.splice(0)) done(status, aborted)
  }
}

/** @throws HeadgateError if rxjs has its operators elsewhere */
export function checkRxjs(): void {
  if (rxjs.tap === undefined) throw tooOld('headgate/nest', 'rxjs', '7.3')
}

/** The held calls, by the array of arguments, which guards and interceptors share. */
const held = new WeakMap<readonly unknown[], HeldCall>()

function heldCall(context: ExecutionContext): HeldCall {
  return getOrInsert(held, context.getArgs(), () => new HeldCall())
}

/** Calls `done` when the interceptor has seen the end of this call. */
export function whenCallEnded(context: ExecutionContext, done: Ending): void {
  heldCall(context).endings.push(done)
}

/**
 * A function whose number grows while the handler of this call runs. So units in flight are renewed only after the
 * interceptor has started the handler: a guard or an interceptor before may end the call unseen.
 */
export function progressOf(context: ExecutionContext): () => number {
  const call = heldCall(context)
  return () => call.progress(context)
}

/** True if the client has left. Nest still runs the handler of a message or a GraphQL field whose client has left. */
function hasLeft(context: ExecutionContext): boolean {
  const { type, http, message } = callOf(context)
  if (http !== undefined) return isDestroyed(http.response ?? (http.request as { socket?: object }).socket)
  return type === 'rpc' && isDestroyed(message?.socket)
}

/** True if a response is destroyed. Fastify has Node's response as `raw`; an HTTP/2 response outlives its stream. */
function isDestroyed(end: unknown): boolean {
  if (!isObject(end)) return false
  const raw = isObject(end.raw) ? end.raw : end
  return raw.destroyed === true || (isObject(raw.stream) && raw.stream.destroyed === true)
}

/**
 * Shows limits how a call ended that is not HTTP: in GraphQL, gateways and microservices. There, units in flight and
 * `count` need this interceptor. Without it, such a limit stops the start of the application.
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
