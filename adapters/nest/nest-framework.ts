import type { ExecutionContext } from '@nestjs/common'
import type { MaybePromise } from '../../src/common/index.ts'
import { type Framework, type RequestDecision, routeName } from '../../src/http/index.ts'
import { cookieOf, isIncomplete, isUnixSocket } from '../../src/http/keys/index.ts'
import { callOf, graphqlArguments, isObject, nested } from './nest-call.ts'
import { hasLeft, watch } from './nest-disconnect.ts'
import { type Handler, isIntercepted, isReference, unseenEnd } from './nest-enhancers.ts'
import { progressOf, whenCallEnded } from './nest-interceptor.ts'

/**
 * The decision about a message. The decision is one of the handler's arguments, because a param decorator gets the arguments, but not the
 * guard's execution context and not the guard's array of arguments. The other arguments may belong to several calls: a socket to all of its
 * messages, and the data to all handlers of one event.
 */
class MessageDecision {
  readonly decision: RequestDecision

  constructor(decision: RequestDecision) {
    this.decision = decision
  }
}

/** The decisions about calls that are neither HTTP nor a message. The map's key is an argument that only one call has. */
const decisions = new WeakMap<object, RequestDecision>()

/** The decision about this call by the last limit that has counted the call. Undefined if no limit applied to the call. */
export function nestDecision(context: ExecutionContext): RequestDecision | undefined {
  if (context.getType<string>() === 'http') {
    return context.getArgByIndex<{ rateLimit?: RequestDecision | null }>(0).rateLimit ?? undefined
  }
  const { decision } = context.getArgs().findLast((each) => each instanceof MessageDecision) ?? {}
  const own = ownArgument(context)
  return decision ?? (own && decisions.get(own))
}

function keepDecision(context: ExecutionContext, decision: RequestDecision): void {
  const args: unknown[] = context.getArgs()
  const type = context.getType<string>()
  const own = ownArgument(context)
  // In a gateway, the last argument is the pattern of the message.
  if (type === 'ws') args.splice(-1, 0, new MessageDecision(decision))
  else if (type === 'rpc') args.push(new MessageDecision(decision))
  else if (own !== undefined) decisions.set(own, decision)
}

function ownArgument(context: ExecutionContext): object | undefined {
  const args = context.getArgs()
  if (context.getType<string>() !== 'graphql') return args.findLast(isObject)
  // All references of an operation have the same `info`.
  return (isReference(context.getHandler() as Handler) ? args[0] : graphqlArguments(args).info) as object
}

function ended(context: ExecutionContext, done: (status: number, aborted: boolean) => void): void {
  const { type, reply } = callOf(context)
  // `reply` is a response that answers only this call. The response of GraphQL also answers other fields, so its status says
  // nothing about this field.
  if (reply !== undefined) {
    reply.table.ended(reply.response, done)
    return
  }
  let open = true
  const end = (status: number, aborted: boolean) => {
    if (open) done(status, aborted)
    open = false
  }
  whenCallEnded(context, end)
  // A sender of an event may close its connection at once. The handler still runs, and holds its units until it ends.
  if (type !== 'rpc' || !hasLeft(context)) watch(context, () => end(499, true))
}

/**
 * Returns a function that returns a larger number each time until the call ends. The leases (the times after which the call's units in
 * flight are freed) are renewed only while the number grows.
 * @throws HeadgateError if no interceptor would see the end of the call
 */
function held(context: ExecutionContext, inFlight: boolean): (() => number) | undefined {
  const { reply, config } = callOf(context)
  if (reply !== undefined) return reply.table.held?.(reply.response, inFlight)
  const owner = context.getClass()
  if (config !== undefined && !isSeen(context))
    throw unseenEnd(`${owner.name}.${context.getHandler().name}`, owner.name)
  return progressOf(context)
}

/** True if `RateLimitInterceptor` sees the end of this call. */
function isSeen(context: ExecutionContext): boolean {
  const { config } = callOf(context)
  return config !== undefined && isIntercepted(config, context.getClass(), context.getHandler() as Handler)
}

function param(context: ExecutionContext, name: string): MaybePromise<string | undefined> {
  const { type, http } = callOf(context)
  if (type === 'http') return http?.table.param(http.request, name)
  const values = type === 'graphql' ? graphqlArguments(context.getArgs()).values : undefined
  const value = isObject(values) && Object.hasOwn(values, name) ? values[name] : undefined
  return typeof value === 'string' || typeof value === 'number' ? String(value) : undefined
}

function header(context: ExecutionContext, name: string): string | undefined {
  const { http, message } = callOf(context)
  return http === undefined ? message?.headers[name]?.toString() : http.table.header(http.request, name)
}

function route(context: ExecutionContext): string {
  const { type, http } = callOf(context)
  if (type === 'http') return http === undefined ? routeName(undefined, undefined) : http.table.route(http.request)
  return `${type} ${context.getClass().name}.${context.getHandler().name}`
}

/**
 * The functions that the guard (code for all frameworks) needs from Nest. The execution context is both the request and the
 * response. For an HTTP request, these functions call the functions for Express or Fastify. A message has only a connection, and an
 * exception refuses the message.
 */
export const nestFramework: Framework<ExecutionContext, ExecutionContext> = {
  address: (context) => callOf(context).address,
  peer(context) {
    const { http, message } = callOf(context)
    return http === undefined ? message?.socket?.remoteAddress : http.table.peer(http.request)
  },
  unaddressed(context) {
    const { http, message } = callOf(context)
    if (http !== undefined) return http.table.unaddressed?.(http.request) ?? false
    return message?.socket !== undefined && isUnixSocket(message.socket)
  },
  incomplete(context) {
    const { type, http } = callOf(context)
    if (http !== undefined) return http.table.incomplete?.(http.request) ?? false
    const handshake = type === 'ws' ? nested(context.getArgByIndex(0), 'request') : undefined
    return isObject(handshake) && isIncomplete(handshake)
  },
  trustsProxy(context) {
    const { http } = callOf(context)
    return http?.table.trustsProxy(http.request) ?? false
  },
  param,
  header,
  cookie: (context, name) => cookieOf(callOf(context).http?.request ?? {}, header(context, 'cookie'), name),
  route,
  attach(context, _response, decision) {
    const { reply } = callOf(context)
    if (reply === undefined) keepDecision(context, decision)
    else reply.table.attach(reply.request, reply.response, decision)
  },
  attached: nestDecision,
  headersSent(context) {
    const { reply } = callOf(context)
    return reply?.table.headersSent(reply.response) ?? false
  },
  complete(context) {
    const { reply } = callOf(context)
    return reply?.table.complete(reply.response) ?? false
  },
  ended,
  left(context) {
    const { type, reply } = callOf(context)
    if (reply !== undefined) return reply.table.left?.(reply.response) === true
    // Of the other calls, Nest runs no handler for a client that has left only in GraphQL, and in a gateway with interceptors.
    return (type === 'graphql' || (type === 'ws' && isSeen(context))) && hasLeft(context)
  },
  held,
  setHeader(context, name, value) {
    const { http } = callOf(context)
    if (http?.response === undefined || http.table.headersSent(http.response)) return
    http.table.setHeader(http.response, name, value)
  },
  responseHeader(context, name) {
    const { reply } = callOf(context)
    // The fields of one GraphQL request share a response, so the response headers show only the last decision.
    return reply?.table.responseHeader?.(reply.response, name)
  },
  setStatus(context, status) {
    const call = callOf(context)
    call.status = status
    call.reply?.table.setStatus(call.reply.response, status)
  },
  clearRefusal(context) {
    const call = callOf(context)
    const { http } = call
    call.status = undefined
    if (http?.response !== undefined && !http.table.headersSent(http.response)) http.table.clearRefusal?.(http.response)
  },
  // A refusal is an exception. Nest sends exceptions as JSON.
  jsonOnly: true,
  send(context, type, _body, members) {
    const call = callOf(context)
    call.body = members
    if (type === 'application/problem+json') call.reply?.table.setHeader(call.reply.response, 'Content-Type', type)
  },
  returned(context, value) {
    callOf(context).body = value
  },
}
