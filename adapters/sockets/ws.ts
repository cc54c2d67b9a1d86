import type { ConnectionKey } from './connection-key.ts'
import type { MessageLimit } from './message-limit.ts'
import { failSocket, type MessageTransport } from './message-transport.ts'

/** The arguments of the event `message`: the data, and true if the data is binary. */
export type WebSocketMessage = readonly [data: WebSocketData, isBinary: boolean]

/** The data of a message. Its class depends on `binaryType` of the socket, and is `Buffer` by default. `length` is in bytes. */
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

/** The `readyState` of an open WebSocket. */
const open = 1
/**
 * The most bytes that may wait for a client that gets notices of refused messages. With more bytes, no notice is sent, because notices that
 * a client does not read would fill the memory.
 */
const mostBuffered = 65_536
/** The close code that means "try again later" (IANA registry of WebSocket close codes). */
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
 * Passes only admitted messages to the listeners of the socket. To do so, replaces the socket's `emit`, which calls all listeners. So a
 * listener that the application adds later gets only admitted messages too. The event `close` is delayed until the store has decided the
 * last messages.
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
