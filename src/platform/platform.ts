/** A named stream of events, such as a channel of `diagnostics_channel`. */
export interface Channel {
  readonly hasSubscribers: boolean
  publish(event: unknown): void
  subscribe(listener: (event: unknown) => void): void
  /** Returns true if the listener was subscribed before. */
  unsubscribe(listener: (event: unknown) => void): unknown
}

/** The two functions of timers. */
export interface Timers {
  setTimeout(run: () => void, milliseconds: number): { unref?(): unknown }
  clearTimeout(timer: unknown): void
}

/**
 * The functions that the core needs from its runtime. `node.ts` and `web.ts` implement it. The condition `node` in the
 * `imports` of package.json chooses between them. Node, Bun and Deno set it; browsers and workers do not.
 *
 * Nothing here reads random numbers, starts a timer or opens a connection at import time: workers forbid that.
 */
export interface Platform {
  /** Whole microseconds since the epoch, on a clock that setting the machine's time does not move. */
  readonly microseconds: () => number
  /** Two random 32-bit integers. */
  readonly randomWords: () => readonly [number, number]
  readonly sha256: (bytes: Uint8Array) => Uint8Array
  readonly hmacSha256: (secret: string, text: string) => Uint8Array
  /** Shows a warning to the developer, in the way of the runtime. */
  readonly emitWarning: (message: string, code: string) => void
  readonly channel: (name: string) => Channel
  /** Runs the function after all events that are pending now, such as data that has arrived on a socket. */
  readonly afterPendingEvents: (run: () => void) => void
  /**
   * True if the timers and promises of a request end with that request, and must not serve another one: in Cloudflare
   * Workers. No timer, queue or probe may then be shared by requests.
   */
  readonly isolatesRequests: boolean
  /** The runtime's own timers, which the fake timers of a test runner do not replace. */
  readonly realTimers: Timers
}
