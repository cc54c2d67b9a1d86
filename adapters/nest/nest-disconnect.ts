import type { ExecutionContext } from '@nestjs/common'
import { getOrInsert } from '../../src/common/index.ts'
import { callOf, isObject, nested } from './nest-call.ts'

/** The part of a socket, a stream or a client of socket.io that reports when the client disconnects. */
interface Emitter {
  once(event: string, listener: () => void): unknown
}

/** True if the client of this call has disconnected. Nest still runs the handlers of the client's messages and GraphQL fields. */
export function hasLeft(context: ExecutionContext): boolean {
  const { type, http, message } = callOf(context)
  if (http !== undefined) return isDestroyed(http.response ?? (http.request as { socket?: object }).socket)
  if (type !== 'ws') return type === 'rpc' && isDestroyed(message?.socket)
  const client: unknown = context.getArgByIndex(0)
  return Number(nested(client, 'readyState')) > 2 || nested(client, 'disconnected') === true
}

/** True if a response is destroyed. Fastify has Node's response as `raw`. With HTTP/2, only the response's stream is destroyed. */
function isDestroyed(end: unknown): boolean {
  if (!isObject(end)) return false
  const raw = isObject(end.raw) ? end.raw : end
  return raw.destroyed === true || (isObject(raw.stream) && raw.stream.destroyed === true)
}

/** For each connection, the functions to call when the client disconnects. All calls of a connection share one listener. */
const leaving = new WeakMap<Emitter, Set<() => void>>()

/**
 * Calls `left` if the client of this call disconnects while `RateLimitGuard` decides about the call, for example while the option `delay`
 * makes the call wait. After the decision, the guard calls `stopWatching` of the call.
 */
export function watch(context: ExecutionContext, left: () => void): void {
  const connection = connectionOf(context)
  if (hasLeft(context)) left()
  if (connection === undefined) return
  const watching = getOrInsert(leaving, connection, () => listened(connection, context.getType<string>()))
  const call = callOf(context)
  const before = call.stopWatching
  watching.add(left)
  call.stopWatching = () => {
    before?.()
    watching.delete(left)
  }
}

function listened(connection: Emitter, type: string): Set<() => void> {
  const watching = new Set<() => void>()
  // Start with the newest call: a time that a waiting call has booked can be refunded only if no later time is booked.
  const left = () => {
    for (const each of [...watching].reverse()) each()
  }
  connection.once('close', left)
  if (type === 'ws') connection.once('disconnect', left)
  return watching
}

/** The most messages of a connection that may wait for the store at once, as with `limitMessages`. */
const mostWaiting = 1000

/** How many messages of each connection wait for the store. With socket.io, a client may leave a namespace and join it again. */
const waiting = new WeakMap<object, { messages: number }>()

/**
 * How many messages of the client of this call wait for the store. Undefined if the call is no message of a gateway: the connection of a
 * microservice belongs to a service with many users.
 */
export function waitingMessages(context: ExecutionContext): { messages: number } | undefined {
  if (context.getType<string>() !== 'ws') return undefined
  const client = connectionOf(context)
  const connection = nested(client, 'conn') ?? client
  return isObject(connection) ? getOrInsert(waiting, connection, () => ({ messages: 0 })) : undefined
}

/**
 * Disconnects a client that sends messages faster than the store answers, because Nest handles them all at once, and they would fill the
 * memory. Returns true if too many messages of the client wait.
 */
export function disconnectFlood(context: ExecutionContext, waits: { messages: number } | undefined): boolean {
  if (waits === undefined || waits.messages < mostWaiting) return false
  const client = context.getArgByIndex<{ disconnect?(close: boolean): void; terminate?(): void }>(0)
  if (client.disconnect !== undefined) client.disconnect(true)
  else client.terminate?.()
  return true
}

/** The most packets of socket.io, or refusals with `ws`, that a client may leave unread. */
const mostUnread = 1000

/** For clients of `ws`: the bytes that waited at the last refusal, and how many refusals came since these bytes were last fewer. */
const unread = new WeakMap<object, { bytes: number; refusals: number }>()

/**
 * Disconnects a client that reads nothing. Nest sends the client an exception for each refused message, and the unread exceptions would
 * fill the memory. With `ws`, the application may send much data to a client that reads, so only a backlog that never shrinks counts.
 */
export function disconnectUnread(context: ExecutionContext): void {
  if (context.getType<string>() !== 'ws') return
  const client = context.getArgByIndex<{ disconnect?(close: boolean): void; terminate?(): void }>(0)
  if (Number(nested(client, 'conn', 'writeBuffer', 'length')) > mostUnread) client.disconnect?.(true)
  const bytes = Number(nested(client, 'bufferedAmount') ?? 0)
  const last = unread.get(client)
  const refusals = bytes === 0 || last === undefined || bytes < last.bytes ? 0 : last.refusals + 1
  if (bytes > 0 || last !== undefined) unread.set(client, { bytes, refusals })
  if (refusals > mostUnread) client.terminate?.()
}

/** The connection of a call: the client of a gateway, or else the stream (HTTP/2) or the socket. */
function connectionOf(context: ExecutionContext): Emitter | undefined {
  const { type, http, message } = callOf(context)
  const request = nested(http?.request, 'raw') ?? http?.request
  const found =
    type === 'ws'
      ? context.getArgByIndex<unknown>(0)
      : (nested(request, 'stream') ?? nested(request, 'socket') ?? message?.socket)
  return isObject(found) && typeof found.once === 'function' ? (found as unknown as Emitter) : undefined
}
