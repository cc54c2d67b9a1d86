import { HttpException } from '@nestjs/common'
import type { RequestDecision } from '../../src/http/index.ts'
import { isObject, type NestCall } from './nest-call.ts'

/** The property `extensions` of a GraphQL error, which the client receives. */
interface RateLimitExtensions {
  /** `'TOO_MANY_REQUESTS'` for status 429, `'FORBIDDEN'` for 403, `'SERVICE_UNAVAILABLE'` for 503. */
  readonly code: string
  /** The name of the policy that refused the call. Undefined if no policy refused the call. */
  readonly policy?: string
  /** Whole seconds until a new attempt makes sense. Null if the call can never be admitted. Undefined if the wait is not known. */
  readonly retryAfter?: number | null
}

const codes: Record<number, string> = { 403: 'FORBIDDEN', 503: 'SERVICE_UNAVAILABLE' }

/**
 * The exception that refuses a call over HTTP or GraphQL. The status is 429, 403 or 503. An exception filter can catch the
 * exception:
 *
 *     @Catch(RateLimitException)
 *     class Busy { catch(refusal: RateLimitException, host: ArgumentsHost) { refusal.decision?.retryAfter } }
 */
export class RateLimitException extends HttpException {
  /** The decision that refused the call. Undefined if the address is on the `deny` list, or if the store could not decide. */
  readonly decision: RequestDecision | undefined
  /** GraphQL servers copy these properties to the error that a client receives. */
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

/** The exception for a refused call. Its class depends on the transport, because each exception filter of Nest catches one class. */
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
  // Problem details (RFC 9457) already have a `status`. A GraphQL error gets no `statusCode`, because Nest's driver for Apollo would
  // then replace the `code` in `extensions`.
  const response = type === 'http' && !('status' in members) ? { statusCode: status, ...members } : members
  return new RateLimitException(typeof body === 'string' ? body : response, status, extensions, refused)
}

/** The properties of the response body: the properties of `body` if `body` is an object, else only a `message`. */
function membersOf(body: unknown): Record<string, unknown> {
  if (isObject(body)) return body
  return { message: typeof body === 'string' ? body : 'Too many requests.' }
}

type ExceptionClass = new (error: object | string) => Error

/** The classes that are loaded or being loaded. An import for each refusal would be slower than a client that sends messages. */
const loaded: { ws?: Promise<ExceptionClass> | undefined; rpc?: Promise<ExceptionClass> | undefined } = {}

/** Loads the exception class of a transport, which is the only class that Nest's filters for the transport handle. */
const load = {
  ws: () => import('@nestjs/websockets').then(named('WsException')),
  rpc: () => import('@nestjs/microservices').then(named('RpcException')),
}

/** Returns a function that finds an exported class by name. A CommonJS package may have its classes only on the default export. */
function named(name: string): (module: object) => ExceptionClass {
  return (module) => {
    const { default: whole, ...names } = module as Record<string, unknown>
    return (names[name] ?? (whole as Record<string, unknown>)[name]) as ExceptionClass
  }
}

/**
 * The exception class of a transport. It is loaded at its first use, because its package may be missing. The module asks for it when an
 * application with limited messages starts: while a class is being loaded, each refusal waits.
 */
export function exceptionClass(transport: 'ws' | 'rpc'): Promise<ExceptionClass> {
  loaded[transport] ??= load[transport]().catch((error) => {
    loaded[transport] = undefined
    throw error
  })
  return loaded[transport]
}

async function messageException(transport: 'ws' | 'rpc', status: number, body: unknown): Promise<Error> {
  const Exception = await exceptionClass(transport)
  return new Exception({ status: 'error', statusCode: status, ...membersOf(body) })
}
