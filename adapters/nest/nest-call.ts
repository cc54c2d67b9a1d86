import type { IncomingHttpHeaders } from 'node:http'
import type { ExecutionContext } from '@nestjs/common'
import type { ApplicationConfig } from '@nestjs/core'
import { HeadgateError } from '../../src/common/index.ts'
import type { Framework } from '../../src/http/index.ts'
import type { LocalSocket } from '../../src/http/keys/index.ts'
import { expressFramework } from '../express.ts'
import { fastifyFramework } from '../fastify/index.ts'

type Table = Framework<object, object>
type Loose = Record<string, unknown>

/**
 * The HTTP request of a call, the response to this request, and the functions of Express or Fastify that read and write the request and
 * the response.
 */
export interface HttpSide {
  readonly table: Table
  readonly request: object
  /** The response. Undefined for a subscription of GraphQL, and if the context of GraphQL has no response. */
  readonly response: object | undefined
}

type Reply = HttpSide & { readonly response: object }

/** The connection that a message arrived on. */
export interface MessageSide {
  readonly address: string | undefined
  readonly headers: IncomingHttpHeaders
  readonly socket: LocalSocket | undefined
}

/** One call of a handler. All guards and interceptors of Nest get the same execution context for the call. */
export class NestCall {
  /** The type of the execution context: `'http'`, `'graphql'`, `'ws'`, `'rpc'`, or the type of a third-party transport. */
  readonly type: string
  readonly http: HttpSide | undefined
  readonly message: MessageSide | undefined
  /**
   * The response to this call alone. Undefined for a message. Undefined also for a GraphQL field, because all fields of a request share a
   * response.
   */
  readonly reply: Reply | undefined
  /** The global guards and interceptors of the application. Undefined until `RateLimitGuard` has seen the call. */
  config: ApplicationConfig | undefined
  /** The status of the refusal: 429, 403 or 503. Undefined until the call is refused. */
  status: number | undefined
  /** The body of the refusal: the guard has made it, or the option `refuse` has returned it. */
  body: unknown
  /** Stops watching the connection of this call. Undefined if the connection is not watched. */
  stopWatching: (() => void) | undefined
  /** The limits that have counted this call. Nearly every call has only one. */
  #passed: readonly object[] = none

  constructor(context: ExecutionContext) {
    this.type = context.getType<string>()
    this.http = httpSide(this.type, context.getArgs())
    this.message = messageSide(this.type, context.getArgs())
    this.reply = this.type === 'http' && this.http?.response !== undefined ? (this.http as Reply) : undefined
  }

  /**
   * Records that this limit counts the call. Returns false if this limit has already counted the call, for example because two guards
   * run before the handler.
   */
  comesTo(limit: object): boolean {
    if (this.#passed.includes(limit)) return false
    this.#passed = this.#passed === none ? [limit] : [...this.#passed, limit]
    return true
  }

  /** The address of the caller. @throws HeadgateError if the transport has no addresses, because all callers would share one quota */
  get address(): string | undefined {
    if (this.http !== undefined) return this.http.table.address(this.http.request)
    if (this.message !== undefined) return this.message.address
    throw new HeadgateError(
      'HEADGATE_KEY',
      `A call of type '${this.type}' has no address to limit it by: its transport has none, or its context has no request. ` +
        'Give the limit keys, such as keys: (context) => context.switchToRpc().getData().tenant. In GraphQL, put the ' +
        'request into the context as req.',
    )
  }
}

const none: readonly object[] = []

/**
 * The property in which an execution context stores its NestCall. A WeakMap from contexts to calls would cost more time for
 * garbage collection than a decision takes.
 */
const callKey: unique symbol = Symbol('headgate.call')

export function callOf(context: ExecutionContext & { [callKey]?: NestCall }): NestCall {
  context[callKey] ??= new NestCall(context)
  return context[callKey]
}

/**
 * The arguments of a GraphQL resolver. In a federation with Apollo, `resolveReference` has no `values` (the arguments of a field), because it
 * resolves an object and not a field.
 */
export function graphqlArguments(args: readonly unknown[]): { values: unknown; context: unknown; info: unknown } {
  return args[3] === undefined
    ? { values: undefined, context: args[1], info: args[2] }
    : { values: args[1], context: args[2], info: args[3] }
}

function httpSide(type: string, args: readonly unknown[]): HttpSide | undefined {
  if (type === 'http') return sideOf(args[0], args[1])
  if (type !== 'graphql') return undefined
  const context = graphqlArguments(args).context
  if (!isObject(context)) return undefined
  const { req, request, extra, reply, res } = context
  const candidates = [req, request, nested(req, 'extra', 'request'), nested(extra, 'request'), nested(reply, 'request')]
  const found = candidates.find((each) => isObject(each) && isObject(each.headers))
  return sideOf(found, [reply, res, nested(found, 'res')].find(setsFields))
}

function sideOf(request: unknown, response: unknown): HttpSide | undefined {
  if (!isObject(request)) return undefined
  const table = ('raw' in request && 'server' in request ? fastifyFramework : expressFramework) as unknown as Table
  return { table, request, response: isObject(response) ? response : undefined }
}

function setsFields(response: unknown): boolean {
  return isObject(response) && (typeof response.header === 'function' || typeof response.setHeader === 'function')
}

/** The connection of a message. The client's address is in the handshake (socket.io) or in the socket (`ws` and Nest's TCP). */
function messageSide(type: string, args: readonly unknown[]): MessageSide | undefined {
  if (type === 'ws') {
    const client = args[0]
    const handshake = nested(client, 'handshake')
    const socket = nested(client, 'request', 'socket') ?? nested(client, '_socket')
    return sideOver(socket, nested(handshake, 'address'), nested(handshake, 'headers'))
  }
  const reference = type === 'rpc' && isObject(args[1]) ? args[1].getSocketRef : undefined
  if (typeof reference !== 'function') return undefined
  const wrapped: unknown = reference.call(args[1])
  const socket = nested(wrapped, 'socket') ?? wrapped
  return isObject(socket) && 'remoteAddress' in socket ? sideOver(socket, undefined, undefined) : undefined
}

function sideOver(socket: unknown, address: unknown, headers: unknown): MessageSide {
  const known = isObject(socket) ? (socket as unknown as LocalSocket) : undefined
  return {
    address: typeof address === 'string' ? address : known?.remoteAddress,
    headers: isObject(headers) ? (headers as IncomingHttpHeaders) : {},
    socket: known,
  }
}

export function nested(value: unknown, ...path: readonly string[]): unknown {
  return path.reduce((found, name) => (isObject(found) ? found[name] : undefined), value)
}

export function isObject(value: unknown): value is Loose {
  return typeof value === 'object' && value !== null
}
