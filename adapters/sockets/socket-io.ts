import type { MessageLimit } from './message-limit.ts'
import { failSocket, type MessageTransport, type Notice } from './message-transport.ts'

/** The arguments of an event: its name, what the client sent, and the acknowledgement if the client wants one. */
export type SocketIoMessage = readonly [name: string, ...values: unknown[]]

/** The part of a server-side socket of socket.io that `limitMessages` uses. */
export interface SocketIoLike {
  readonly connected: boolean
  /** The connection that all sockets of a client share. */
  readonly conn: { once(name: 'close', listener: () => void): unknown }
  use(middleware: (event: [name: string, ...values: unknown[]], next: (error?: Error) => void) => void): unknown
  on(name: 'disconnect', listener: () => void): unknown
  emit(name: 'rate_limited', notice: object): unknown
  listenerCount(name: 'error'): number
  disconnect(close: boolean): unknown
}

/** In packets. If more wait to be sent, a client gets no notices: a client that never reads would fill the memory. */
const mostBuffered = 1000

export function socketIoTransport(socket: SocketIoLike): MessageTransport<SocketIoMessage> {
  const tell = (message: SocketIoMessage, notice: () => Notice) => {
    const acknowledge = message.at(-1)
    if (!socket.connected || buffered(socket) > mostBuffered) return
    if (typeof acknowledge === 'function') acknowledge(notice())
    else socket.emit('rate_limited', notice())
  }
  return {
    tell,
    close(message, notice, tells) {
      if (tells) tell(message, notice)
      // socket.io delivers admitted messages on the next tick, if the socket is still connected.
      process.nextTick(() => socket.disconnect(true))
    },
    fail: (error, pass) => failSocket(socket, error, pass),
    // One connection serves every namespace of a client, so a socket cannot pause it.
    pause() {},
    resume() {},
  }
}

function buffered({ conn }: SocketIoLike): number {
  return (conn as { writeBuffer?: { length: number } }).writeBuffer?.length ?? 0
}

/** Puts the limit in front of the listeners by a middleware of the socket. */
export function limitSocketIo(socket: SocketIoLike, limit: MessageLimit<SocketIoMessage>): void {
  socket.use((event, next) => limit.take(event, next))
  socket.on('disconnect', () => limit.end(() => {}))
}
