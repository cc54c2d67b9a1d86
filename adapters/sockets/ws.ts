import type { ConnectionKey } from './connection-key.ts'
import type { MessageLimit } from './message-limit.ts'
import { failSocket, type MessageTransport } from './message-transport.ts'

/** The arguments of the event `message`: the data, and true if it is binary. */
export type WebSocketMessage = readonly [data: WebSocketData, isBinary: boolean]

/** The data of a message, by the `binaryType` of the socket: by default a `Buffer`. Its `length` is in bytes. */
type WebSocketData = Uint8Array & { toString(encoding?: string): string }

/** The part of a WebSocket of the package `ws` that `limitMessages` uses. */
export interface WebSocketLike {
  readonly readyState: number
  readonly bufferedAmount: number
  emit(name: string, ...values: unknown[]): boolean
  listenerCount(name: string): number
  send(text: string): void
  close(code: number, reason: string): void
  pause(): void
  resume(): void
}

/** `readyState` of an open socket. */
const open = 1
/** In bytes. If more wait to be sent, a client gets no notices: a client that never reads would fill the memory. */
const mostBuffered = 65_536
/** The close code "try again later" (the IANA registry of WebSocket close codes). */
const tryAgainLater = 1013

export function webSocketTransport(socket: WebSocketLike): MessageTransport<WebSocketMessage> {
  return {
    tell(_message, notice) {
      if (socket.readyState === open && socket.bufferedAmount <= mostBuffered) socket.send(JSON.stringify(notice()))
    },
    close: (_message, notice) => socket.close(tryAgainLater, notice().message),
    fail: (error, pass) => failSocket(socket, error, pass),
    pause: () => socket.pause(),
    resume: () => socket.resume(),
  }
}

/**
 * Puts the limit in front of the listeners, whenever the application adds them: the limit replaces `emit`, which calls
 * the listeners for every message and for the close. While the store decides on the last messages, `close` waits behind
 * them.
 */
export function limitWebSocket(socket: WebSocketLike, limit: MessageLimit<WebSocketMessage>, own: ConnectionKey): void {
  const emit = socket.emit
  socket.emit = (name: string, ...values: unknown[]): boolean => {
    const pass = (error?: Error) =>
      void (error ? emit.call(socket, 'error', error) : emit.call(socket, name, ...values))
    if (name === 'message') limit.take(values as unknown as WebSocketMessage, pass)
    else if (name === 'close') {
      limit.end(pass)
      own.close()
    } else return emit.call(socket, name, ...values)
    return true
  }
}
