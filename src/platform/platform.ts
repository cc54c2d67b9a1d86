/** A named channel for events, such as a channel of `node:diagnostics_channel`. */
export interface Channel {
  readonly hasSubscribers: boolean
  publish(event: unknown): void
  subscribe(listener: (event: unknown) => void): void
  /** Removes a listener. Returns true if the listener was subscribed. */
  unsubscribe(listener: (event: unknown) => void): unknown
}

/** The functions that start and stop a timer. */
export interface Timers {
  setTimeout(run: () => void, milliseconds: number): { unref?(): unknown }
  clearTimeout(timer: unknown): void
}

/**
 * The functions that the core needs from its runtime. `node.ts`, `web.ts` and `workerd.ts` implement this interface. The conditions `node`
 * and `workerd` in the `imports` of package.json select the file. Node, Bun and Deno set `node`, wrangler sets `workerd`, and browsers set
 * neither.
 *
 * At import time, no code in these files may read random numbers, start a timer or open a connection, because workers forbid all three.
 */
export interface Platform {
  /** The time in whole microseconds since the epoch. If an administrator sets the machine's time, this clock does not change. */
  readonly microseconds: () => number
  /** Two random 32-bit integers. */
  readonly randomWords: () => readonly [number, number]
  readonly sha256: (bytes: Uint8Array) => Uint8Array
  readonly hmacSha256: (secret: string, text: string) => Uint8Array
  /** Shows a warning to the developer: with `process.emitWarning` in `node.ts`, with `console.warn` in `web.ts`. */
  readonly emitWarning: (message: string, code: string) => void
  readonly channel: (name: string) => Channel
  /** Calls the function after all events that are pending now, such as the arrival of data on a socket. */
  readonly afterPendingEvents: (run: () => void) => void
  /** True in Cloudflare Workers, where timers and promises end with their request, so requests must not share timers or queues. */
  readonly isolatesRequests: boolean
  /** Keeps a worker or a function alive after the response of its request has ended, until this work, which never rejects, has ended too. */
  readonly waitUntil: (work: Promise<unknown>) => void
  /** The timers of the runtime. The fake timers of a test runner do not replace these timers. */
  readonly realTimers: Timers
  /** Files, if the runtime has them. */
  readonly files:
    | {
        /** Returns the text of a file. Throws if the file cannot be read. */
        readonly read: (path: string | URL) => string
        /**
         * Reads a file twice a second. Calls `onText` after each read, or `onError` if a read fails. Returns a function that ends the
         * polling. The timer does not keep the process alive.
         */
        readonly poll: (
          path: string | URL,
          onText: (text: string) => void,
          onError: (error: unknown) => void,
        ) => () => void
      }
    | undefined
}
