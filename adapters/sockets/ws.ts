import { getOrInsert } from '../../src/common/index.ts'
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
  readonly isPaused?: boolean
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
  const transport: MessageTransport<WebSocketMessage> = {
    tell(_message, notice) {
      if (socket.readyState === open && socket.bufferedAmount <= mostBuffered) socket.send(JSON.stringify(notice()))
    },
    close: (_message, notice) => socket.close(tryAgainLater, notice().message),
    fail: (error, pass) => failSocket(socket, error, pass),
    pause: () => getOrInsert(pausesOf, socket, () => new Pauses(socket)).add(transport),
    resume: () => pausesOf.get(socket)?.delete(transport),
  }
  return transport
}

/** The pauses of each socket that a limit has paused. */
const pausesOf = new WeakMap<WebSocketLike, Pauses>()

/**
 * Who has paused a socket: limits, and the application, as `createWebSocketStream` of `ws` does if its reader is slow. The socket is read
 * again when nobody wants it paused. So `pause` and `resume` of the socket are replaced by functions for the application alone.
 */
class Pauses {
  readonly #owners = new Set<object>()
  readonly #pause: () => void
  readonly #resume: () => void

  constructor(socket: WebSocketLike) {
    this.#pause = socket.pause.bind(socket)
    this.#resume = socket.resume.bind(socket)
    const application = {}
    if (socket.isPaused === true) this.#owners.add(application)
    socket.pause = () => this.add(application)
    socket.resume = () => this.delete(application)
  }

  add(owner: object): void {
    this.#owners.add(owner)
    this.#pause()
  }

  delete(owner: object): void {
    this.#owners.delete(owner)
    if (this.#owners.size === 0) this.#resume()
  }
}

interface Limit {
  readonly limit: MessageLimit<WebSocketMessage>
  readonly own: ConnectionKey
}

/** The limits of each socket, in the order in which they decide. */
const limitsOf = new WeakMap<WebSocketLike, Limit[]>()

/**
 * Passes only admitted messages to the listeners of the socket. To do so, replaces the socket's `emit`, which calls all listeners. So a
 * listener that the application adds later gets only admitted messages too. The event `close` is delayed until the store has decided the
 * last messages. A later limit of the socket gets the messages that the earlier limits have admitted.
 */
export function limitWebSocket(socket: WebSocketLike, limit: MessageLimit<WebSocketMessage>, own: ConnectionKey): void {
  const known = limitsOf.get(socket)
  if (known !== undefined) {
    known.push({ limit, own })
    return
  }
  const limits = [{ limit, own }]
  limitsOf.set(socket, limits)
  const emit = socket.emit
  const passTo = (n: number, name: 'message' | 'close', values: unknown[]): void => {
    const next = limits[n]?.limit
    const pass = (error?: Error) => (error ? void emit.call(socket, 'error', error) : passTo(n + 1, name, values))
    if (next === undefined) {
      if (name === 'close') for (const each of limits) each.own.close()
      emit.call(socket, name, ...values)
    } else if (name === 'message') next.take(values as unknown as WebSocketMessage, pass)
    else next.end(pass)
  }
  socket.emit = (name: string, ...values: unknown[]): boolean => {
    if (name !== 'message' && name !== 'close') return emit.call(socket, name, ...values)
    passTo(0, name, values)
    return true
  }
}
