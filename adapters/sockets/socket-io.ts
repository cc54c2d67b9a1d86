import { getOrInsert } from '../../src/common/index.ts'
import type { MessageLimit } from './message-limit.ts'
import type { MessageOptions } from './message-options.ts'
import { failSocket, type MessageTransport, type Notice } from './message-transport.ts'

/** The arguments of an event: its name, the values from the client, then a function if the client wants an acknowledgement. */
export type SocketIoMessage = readonly [name: string, ...values: unknown[]]

/** The options of `limitMessages` for a socket of socket.io. */
export interface SocketIoOptions extends MessageOptions<SocketIoMessage> {
  /**
   * The names of the events that are limited. Any other event takes no units and is not sent to the store. Such an event is delivered in
   * the order of arrival, even if the key is banned. Default: every event is limited. Example: `['say']`.
   */
  only?: readonly string[] | undefined
}

/** The part of a server-side socket of socket.io that `limitMessages` uses. */
export interface SocketIoLike {
  readonly connected: boolean
  /** The connection to the client. The client's sockets for all namespaces share this connection. */
  readonly conn: { once(name: 'close', listener: () => void): unknown; close?(): unknown }
  use(middleware: (event: [name: string, ...values: unknown[]], next: (error?: Error) => void) => void): unknown
  on(name: 'disconnect', listener: () => void): unknown
  readonly volatile?: { emit(name: 'rate_limited', notice: object): unknown }
  emit(name: 'rate_limited', notice: object): unknown
  listenerCount(name: 'error'): number
  listenersAny(): readonly AnyListener[]
  offAny(): unknown
  disconnect(close: boolean): unknown
}

// biome-ignore lint/suspicious/noExplicitAny: the application's listener has its own types of the values.
type AnyListener = (...event: any[]) => void

/**
 * The most packets that may wait for a client that gets notices. With more packets, no notice is sent, because the notices to a client that
 * never reads would fill the memory.
 */
const mostBuffered = 1000

/** The most bytes that the waiting messages of a connection hold, in all namespaces. One more message may be of any size. */
const mostBytes = 16_000_000

/** The most messages of a connection that may wait for the store after their sockets have left. */
const mostLeft = 1000

/** The messages of a connection that wait, in all its namespaces. */
interface Held {
  /** About how many bytes the waiting messages hold. */
  bytes: number
  /** How many messages wait for the store although their sockets have left. */
  left: number
}

const connections = new WeakMap<object, Held>()

function heldBy({ conn }: SocketIoLike): Held {
  return getOrInsert(connections, conn, () => ({ bytes: 0, left: 0 }))
}

export function socketIoTransport(socket: SocketIoLike): MessageTransport<SocketIoMessage> {
  const held = heldBy(socket)
  const tell = (message: SocketIoMessage, notice: () => Notice) => {
    const acknowledge = message.at(-1)
    if (!socket.connected || buffered(socket) > mostBuffered) return
    if (typeof acknowledge === 'function') acknowledge(notice())
    else ((recovers(socket) && socket.volatile) || socket).emit('rate_limited', notice())
  }
  return {
    eventOf: ([name]) => name,
    tell,
    close(message, notice, tells) {
      if (tells) tell(message, notice)
      // Disconnect one tick later: on the next tick, socket.io delivers the messages that are already admitted, if the socket is still
      // connected.
      process.nextTick(() => socket.disconnect(true))
    },
    fail: (error, pass) => failSocket(socket, error, pass),
    // Do nothing: the sockets of all namespaces of a client share the connection, so one socket must not pause the connection.
    pause() {},
    resume() {},
    sizeOf,
    onWaiting(messages, bytes) {
      held.bytes += bytes
      if (!socket.connected) held.left += messages
    },
    full: () => held.bytes >= mostBytes,
  }
}

/** About how many bytes V8 needs for a number or a reference, a text or a list without its content, and an object. */
const [slotBytes, listBytes, objectBytes] = [8, 32, 64]

/** About how many bytes the values of an event hold. A client may nest values deeply, so this function does not call itself. */
function sizeOf(message: SocketIoMessage): number {
  const parts: object[] = [message]
  let size = 0
  const add = (value: unknown) => {
    size += slotBytes
    if (typeof value === 'string') size += listBytes + value.length
    else if (typeof value === 'object' && value !== null) parts.push(value)
  }
  for (let part = parts.pop(); part !== undefined; part = parts.pop()) {
    if (ArrayBuffer.isView(part) || part instanceof ArrayBuffer) size += part.byteLength
    else if (Array.isArray(part)) {
      size += listBytes
      for (let n = 0; n < part.length; n++) add(part[n])
    } else {
      size += objectBytes
      for (const name in part) {
        size += name.length // a client may put its data into names
        add((part as Record<string, unknown>)[name])
      }
    }
  }
  return size
}

function buffered({ conn }: SocketIoLike): number {
  return (conn as { writeBuffer?: { length: number } }).writeBuffer?.length ?? 0
}

/**
 * True if the server has the option `connectionStateRecovery`. Then socket.io stores each packet for minutes, except a volatile one, which
 * it sends only if the connection can take it at once.
 */
function recovers(socket: SocketIoLike): boolean {
  const { nsp } = socket as { nsp?: { server?: { opts?: { connectionStateRecovery?: unknown } } } }
  return Boolean(nsp?.server?.opts?.connectionStateRecovery)
}

/**
 * Adds to the socket a middleware that passes only admitted messages to the application's listeners. socket.io calls the listeners of
 * `onAny` before any middleware. So this function takes over these listeners, and calls them for the messages that the middleware passes.
 */
export function limitSocketIo(socket: SocketIoLike, limit: MessageLimit<SocketIoMessage>): void {
  let listeners = [...socket.listenersAny()]
  socket.offAny()
  const change = (changed: AnyListener[]) => {
    listeners = changed
    return socket
  }
  Object.assign(socket, {
    onAny: (listener: AnyListener) => change([...listeners, listener]),
    prependAny: (listener: AnyListener) => change([listener, ...listeners]),
    offAny: (listener?: AnyListener) => change(listener ? listeners.filter((each) => each !== listener) : []),
    listenersAny: () => listeners,
  })
  socket.use((event, next) => {
    event[0] = String(event[0]) // a client may send a number, and the listeners of '42' get the event 42 too
    limit.take(event, (error) => {
      if (error === undefined && socket.connected) for (const listener of listeners) listener.apply(socket, event)
      next(error)
    })
  })
  socket.on('disconnect', () => {
    const held = heldBy(socket)
    held.left += limit.waiting
    limit.end(() => undefined, false)
    // A client may leave a namespace and join it again, on one connection, while its messages wait for the store.
    if (limit.waiting > 0 && held.left >= mostLeft) socket.conn.close?.()
  })
}
