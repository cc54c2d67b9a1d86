/** Whole microseconds since the epoch, on a clock that setting the machine's time does not move. */
export type MonotonicMicroseconds = () => number

/** A named stream of events, as `diagnostics_channel` has them. */
export interface Channel {
  readonly hasSubscribers: boolean
  publish(event: unknown): void
}

/** What the core needs from what it runs on. `node.ts` and `web.ts` implement it; package.json chooses one as `#platform`. */
export interface Platform {
  readonly microseconds: MonotonicMicroseconds
  /** Two random 32-bit integers. Nothing is drawn at import time: workers forbid it. */
  readonly randomWords: () => readonly [number, number]
  /** SHA-256. */
  readonly sha256: (bytes: Uint8Array) => Uint8Array
  /** HMAC with SHA-256. */
  readonly hmacSha256: (secret: string, text: string) => Uint8Array
  /** Reports a warning to the developer, in the way that the runtime reports warnings. */
  readonly emitWarning: (message: string, code: string) => void
  readonly channel: (name: string) => Channel
  /** Runs the function after events that are pending already, such as data that has arrived on a socket. */
  readonly afterPendingEvents: (run: () => void) => void
}
