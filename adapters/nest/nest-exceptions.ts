import { HttpException } from '@nestjs/common'
import type { RequestDecision } from '../../src/http/index.ts'
import { isObject, type NestCall } from './nest-call.ts'

/** What a GraphQL client reads in `extensions` of the error. */
interface RateLimitExtensions {
  /** `'TOO_MANY_REQUESTS'`, `'FORBIDDEN'` or `'SERVICE_UNAVAILABLE'`. */
  readonly code: string
  /** The name of the binding policy. Undefined if no policy decided. */
  readonly policy?: string
  /** Whole seconds until a retry makes sense. Null for a call that can never be admitted. */
  readonly retryAfter?: number | null
}

const codes: Record<number, string> = { 403: 'FORBIDDEN', 503: 'SERVICE_UNAVAILABLE' }

/**
 * The refusal of a call over HTTP or GraphQL, with status 429, 403 or 503. An exception filter catches it:
 *
 *     @Catch(RateLimitException)
 *     class Busy { catch(refusal: RateLimitException, host: ArgumentsHost) { refusal.decision?.retryAfter } }
 */
export class RateLimitException extends HttpException {
  /** The decision that refused the call. Undefined for an address on `deny`, and if the store could not decide. */
  readonly decision: RequestDecision | undefined
  /** GraphQL servers copy it to the error that clients get. */
  readonly extensions: RateLimitExtensions

  constructor(
    body: string | Record<string, unknown>,
    status: number,
    extensions: RateLimitExtensions,
    decision?: RequestDecision,
  ) {
    super(body, status)
    this.decision = decision
    this.extensions = extensions
    if (isObject(body) && typeof body.message !== 'string') this.message = String(body.detail ?? 'Too many requests.')
  }
}

/** The exception that ends a refused call, of the class that the exception filters of its transport know. */
export function exceptionOf(call: NestCall, decision: RequestDecision | undefined): unknown {
  const { type, status = 403, body } = call
  if (body instanceof Error) return body
  if (type === 'ws') return messageException('ws', status, body)
  if (type === 'rpc') return messageException('rpc', status, body)
  const members = membersOf(body)
  const { policy, retryAfter } = members
  const extensions = {
    code: codes[status] ?? 'TOO_MANY_REQUESTS',
    ...(typeof policy === 'string' ? { policy } : {}),
    ...(retryAfter === undefined ? {} : { retryAfter: retryAfter as number | null }),
  }
  const refused = decision?.allowed === false ? decision : undefined
  // Problem details have a status. With a statusCode, Apollo's driver of Nest would replace the code of the error.
  const response = type === 'http' && !('status' in members) ? { statusCode: status, ...members } : members
  return new RateLimitException(typeof body === 'string' ? body : response, status, extensions, refused)
}

/** The members of the response: those of a body that is an object, else a message. */
function membersOf(body: unknown): Record<string, unknown> {
  if (isObject(body)) return body
  return { message: typeof body === 'string' ? body : 'Too many requests.' }
}

type ExceptionClass = new (error: object | string) => Error

/** Loads the exceptions of both transports: filters know only these, and this package does not depend on theirs. */
const load = {
  ws: () => import('@nestjs/websockets').then(named('WsException')),
  rpc: () => import('@nestjs/microservices').then(named('RpcException')),
}

/** A CommonJS package may have its names only on its default export. */
function named(name: string): (module: object) => ExceptionClass {
  return (module) => {
    const { default: whole, ...names } = module as Record<string, unknown>
    return (names[name] ?? (whole as Record<string, unknown>)[name]) as ExceptionClass
  }
}

async function messageException(transport: 'ws' | 'rpc', status: number, body: unknown): Promise<Error> {
  const Exception = await load[transport]()
  return new Exception({ status: 'error', statusCode: status, ...membersOf(body) })
}
