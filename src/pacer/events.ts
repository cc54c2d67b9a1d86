import { channel } from '#platform'

const queued = channel('headgate:pacer:queued')
const admitted = channel('headgate:pacer:admitted')
const refused = channel('headgate:pacer:refused')
const rate = channel('headgate:pacer:rate')

/** What is told of a lane. */
interface Told {
  readonly key: string
  readonly waiting: number
}

/** What a pacer has done and is doing. Times are milliseconds. */
export interface Progress {
  /** Calls that wait now. */
  readonly waiting: number
  /** Functions that run now, or are about to: those given to `throttle` and `wrap`. */
  readonly running: number
  /** Calls that had their turn, and the permits they took. */
  readonly admitted: number
  readonly permits: number
  /** Calls that had none: dropped, timed out, aborted. */
  readonly refused: number
  /** What all that were admitted waited together, and the longest of them. */
  readonly waited: number
  readonly longestWait: number
}

/**
 * Counts, and publishes on diagnostics channels `headgate:pacer:queued`, `:admitted`, `:refused` and `:rate`; where
 * nobody subscribes, not even the message is made.
 */
export class Events {
  readonly #name: string
  readonly #changed: (() => void) | undefined
  admittedCalls = 0
  permits = 0
  refusedCalls = 0
  waited = 0
  longestWait = 0

  constructor(name: string, changed: (() => void) | undefined) {
    this.#name = name
    this.#changed = changed
  }

  queued({ key, waiting }: Told, { cost, priority }: { cost: number; priority: number }): void {
    if (queued.hasSubscribers) queued.publish({ pacer: this.#name, key, permits: cost, priority, waiting })
    this.#changed?.()
  }

  admitted({ key, waiting }: Told, permits: number, waited: number): void {
    this.admittedCalls++
    this.permits += permits
    this.waited += waited
    if (waited > this.longestWait) this.longestWait = waited
    if (admitted.hasSubscribers) admitted.publish({ pacer: this.#name, key, permits, waited, waiting })
    this.#changed?.()
  }

  refused({ key, waiting }: Told, permits: number, error: unknown): void {
    this.refusedCalls++
    if (refused.hasSubscribers) refused.publish({ pacer: this.#name, key, permits, error, waiting })
    this.#changed?.()
  }

  rate(permits: number): void {
    if (rate.hasSubscribers) rate.publish({ pacer: this.#name, rate: permits })
    this.#changed?.()
  }
}

/** Runs it once for all calls of one turn of the event loop. */
export function once(run: () => void): () => void {
  let waiting = false
  return () => {
    if (waiting) return
    waiting = true
    queueMicrotask(() => {
      waiting = false
      run()
    })
  }
}
