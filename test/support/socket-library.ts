import type { LimitedMessages, Notice } from '../../adapters/sockets/index.ts'
import type { RateLimiter } from '../../src/index.ts'
import type { AnyCost } from '../../src/limiter/index.ts'

/** Options of `limitMessages` that mean the same in both libraries. The cost of a message is a function of its text. */
export interface CommonOptions {
  readonly key?: string | Record<string, string>
  readonly overLimit?: 'drop' | 'close' | 'delay'
  readonly cost?: AnyCost | ((text: string) => AnyCost)
  readonly notify?: (refusal: { reason: string; retryAfter: number; text: string }) => unknown
  readonly maxWait?: string
  readonly maxQueue?: number
  readonly sleeper?: (milliseconds: number, wake: () => void) => () => void
}

/** The server's side of a connection. */
export interface ServerSide {
  readonly limit: LimitedMessages
  /** Errors that the listener for `error` got. Without `listens`, there is none. */
  readonly errors: Error[]
  closed: boolean
  /** How much waits to be sent to the client: bytes with ws, packets with socket.io. */
  buffered(): number
}

/** A real server over loopback, whose connections are limited. */
export interface LimitedServer {
  readonly url: string
  /** What the application's listeners got, over all connections, in order. */
  readonly delivered: string[]
  readonly connections: ServerSide[]
  /** Resolves when the connection is open on both sides. */
  connect(): Promise<SocketClient>
  close(): Promise<void>
}

/** A real client. */
export interface SocketClient {
  send(...texts: string[]): void
  readonly notices: Notice[]
  /** How the connection ended. Undefined while it is open. */
  ended: string | undefined
  /** Destroys the TCP connection without a word. */
  vanish(): void
  /** Reads nothing from now on. */
  stopReading(): void
  close(): void
}

export interface SocketLibrary {
  /** How a client sees that `overLimit: 'close'` closed its connection. */
  readonly closedByLimit: string
  /** True if the application sees the close only after the last message. socket.io drops messages of a closed socket. */
  readonly holdsClose: boolean
  /** The most that may wait to be sent, as `buffered` counts it. */
  readonly mostBuffered: number
  serve(policies: string | RateLimiter, options?: CommonOptions, listens?: boolean): Promise<LimitedServer>
}
