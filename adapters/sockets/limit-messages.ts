import { HeadgateError, tooOld } from '../../src/common/index.ts'
import { isOfPlan, type Key, type PolicyLikes, type RateLimiter } from '../../src/limiter/index.ts'
import { ConnectionKey, keyOfConnection } from './connection-key.ts'
import { MessageLimit } from './message-limit.ts'
import { type MessageOptions, readMessageOptions } from './message-options.ts'
import type { MessageTransport } from './message-transport.ts'
import { sharedLimiter } from './shared-limiter.ts'
import { limitSocketIo, type SocketIoLike, type SocketIoOptions, socketIoTransport } from './socket-io.ts'
import { socketKey } from './socket-key.ts'
import { limitWebSocket, type WebSocketLike, type WebSocketMessage, webSocketTransport } from './ws.ts'

/** The limit on the messages of one socket. */
export interface LimitedMessages {
  /** The limiter that decides about the messages, for `peek`, `reset`, `ban` and `health()`. */
  readonly limiter: RateLimiter
  /** The key of the socket, for methods of `limiter`. */
  readonly key: Key
  /** How many messages of the socket wait for a decision of the store, or for earlier messages. */
  readonly waiting: number
}

/**
 * Limits the messages of one socket, of `ws` or of socket.io. Call `limitMessages` when the socket connects. The application's
 * listeners get only the admitted messages, in the order of arrival.
 *
 *     server.on('connection', (socket, request) => {
 *       limitMessages(socket, limiter, { key: { address: requestKey(request) }, overLimit: 'close' })
 *       socket.on('message', ...)
 *     })
 *
 * Calls with equal policies share one limiter. To choose the store and the options, pass a `RateLimiter`. In socket.io, all sockets of
 * one connection share the key of the connection: sockets in different namespaces, and sockets that the client opens one after another.
 *
 * @throws HeadgateError if a policy, the key or an option is invalid, or if a policy counts units in flight (`concurrency`)
 */
export function limitMessages(
  socket: SocketIoLike,
  policies: PolicyLikes | RateLimiter,
  options?: SocketIoOptions,
): LimitedMessages
export function limitMessages(
  socket: WebSocketLike,
  policies: PolicyLikes | RateLimiter,
  options?: MessageOptions<WebSocketMessage>,
): LimitedMessages
export function limitMessages(
  socket: SocketIoLike | WebSocketLike,
  policies: PolicyLikes | RateLimiter,
  options: MessageOptions<never> = {},
): LimitedMessages {
  if (isSocketIo(socket)) {
    const own = keyOfConnection(socket.conn)
    const limit = messageLimit(socketIoTransport(socket), own, policies, options as SocketIoOptions)
    limitSocketIo(socket, limit)
    return limit
  }
  if (!isWebSocket(socket)) {
    throw new HeadgateError(
      'HEADGATE_OPTION',
      "limitMessages takes a WebSocket of ws or a server's socket of socket.io. Write limitMessages(socket, '20/1s').",
    )
  }
  if (!hasMethods(socket, ['pause', 'resume'])) throw tooOld('limitMessages', 'ws', '8.4')
  const own = new ConnectionKey()
  const limit = messageLimit(webSocketTransport(socket), own, policies, options as MessageOptions<WebSocketMessage>)
  limitWebSocket(socket, limit, own)
  return limit
}

function messageLimit<Message>(
  transport: MessageTransport<Message>,
  own: ConnectionKey,
  policies: PolicyLikes | RateLimiter,
  options: MessageOptions<Message>,
): MessageLimit<Message> {
  const limiter = sharedLimiter('messages', policies)
  checkEnds(limiter)
  const settings = readMessageOptions(options, limiter, transport.eventOf)
  const key = socketKey(options, limiter.scopes, own, isOfPlan(limiter))
  return new MessageLimit(limiter, key, settings, transport)
}

/**
 * Throws for policies that count unfinished calls. Nothing shows when a message ends, so the units of a message would stay used for the
 * whole `lease`.
 */
function checkEnds({ policies }: RateLimiter): void {
  const held = policies.find(({ algorithm }) => algorithm.leases)
  if (held === undefined) return
  throw new HeadgateError(
    'HEADGATE_POLICY',
    `limitMessages cannot see when a message is handled, so the policy '${held.name}' cannot count messages in flight. ` +
      "Limit how many come in a time: limitMessages(socket, '20/1s'). Limit how many connections are open: " +
      "limitConnections(server, '2 at once').",
  )
}

function isSocketIo(socket: unknown): socket is SocketIoLike {
  return hasMethods(socket, ['use', 'on', 'emit', 'disconnect', 'listenerCount'])
}

function isWebSocket(socket: unknown): socket is WebSocketLike {
  return hasMethods(socket, ['emit', 'send', 'close', 'listenerCount'])
}

function hasMethods(socket: unknown, names: readonly string[]): boolean {
  if (typeof socket !== 'object' || socket === null) return false
  return names.every((name) => typeof (socket as Record<string, unknown>)[name] === 'function')
}
