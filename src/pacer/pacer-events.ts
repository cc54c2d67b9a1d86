import { channel } from '#platform'
import type { Store } from '../stores/contract/index.ts'
import { type CallCost, mostOf, unitsIn } from './pacer-cost.ts'

const queued = channel('headgate:pacer:queued')
const admitted = channel('headgate:pacer:admitted')
const refused = channel('headgate:pacer:refused')
const rate = channel('headgate:pacer:rate')

/** The counts of a pacer: since it was made, and now. */
export interface Progress {
  /** Calls that wait now. */
  readonly waiting: number
  /** Functions of `throttle` and `wrap` that run or wait for a slot now. */
  readonly running: number
  /** Calls that were admitted. */
  readonly admitted: number
  /** The permits that these calls took. Of a call with a number for each policy, the largest number. */
  readonly permits: number
  /** Calls that ended without permits: the queue was full, they timed out, they were aborted, the pacer was closed. */
  readonly refused: number
  /** How long the admitted calls waited in total, in milliseconds. After waits of 100 and 200 ms it is 300. */
  readonly waited: number
  /** The longest of these waits, in milliseconds. */
  readonly longestWait: number
}

/** A pacer, as far as its events show it. */
export interface ObservedPacer {
  readonly name: string
  readonly waiting: number
  readonly running: number
  readonly store: Store
}

/** The key that an event is about. */
interface EventKey {
  readonly key: string
  readonly waiting: number
}

/**
 * Counts, and publishes on the diagnostics channels `headgate:pacer:queued`, `:admitted`, `:refused` and `:rate`. Without
 * subscribers no message is made.
 */
export class PacerEvents {
  readonly #instance: ObservedPacer
  readonly #name: string
  readonly #onChange: (() => void) | undefined
  admittedCalls = 0
  permits = 0
  refusedCalls = 0
  waited = 0
  longestWait = 0

  constructor(instance: ObservedPacer, onChange: (() => void) | undefined) {
    this.#instance = instance
    this.#name = instance.name
    this.#onChange = onChange
  }

  queued({ key, waiting }: EventKey, { cost, priority }: { cost: CallCost; priority: number }): void {
    if (queued.hasSubscribers)
      queued.publish({ pacer: this.#name, instance: this.#instance, key, permits: unitsIn(cost), priority, waiting })
    this.#onChange?.()
  }

  admitted({ key, waiting }: EventKey, cost: CallCost, waited: number): void {
    this.admittedCalls++
    this.permits += mostOf(cost)
    this.waited += waited
    if (waited > this.longestWait) this.longestWait = waited
    if (admitted.hasSubscribers)
      admitted.publish({ pacer: this.#name, instance: this.#instance, key, permits: unitsIn(cost), waited, waiting })
    this.#onChange?.()
  }

  refused({ key, waiting }: EventKey, cost: CallCost, error: unknown): void {
    this.refusedCalls++
    if (refused.hasSubscribers)
      refused.publish({ pacer: this.#name, instance: this.#instance, key, permits: unitsIn(cost), error, waiting })
    this.#onChange?.()
  }

  rate(permits: number): void {
    if (rate.hasSubscribers) rate.publish({ pacer: this.#name, instance: this.#instance, rate: permits })
    this.#onChange?.()
  }
}

/** Returns a function that runs `run` once for all its calls of one tick, after them. */
export function oncePerTick(run: () => void): () => void {
  let scheduled = false
  return () => {
    if (scheduled) return
    scheduled = true
    queueMicrotask(() => {
      scheduled = false
      run()
    })
  }
}
