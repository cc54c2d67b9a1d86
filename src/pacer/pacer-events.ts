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
  /** The units that these calls took. A call with a number for each policy adds its largest number. */
  readonly cost: number
  /** Calls that ended without units: the queue was full, they timed out, they were aborted, the pacer was closed. */
  readonly refused: number
  /** How long the admitted calls waited in total, in milliseconds. After waits of 100 and 200 ms it is 300. */
  readonly waited: number
  /** The longest of these waits, in milliseconds. */
  readonly longestWait: number
}

/** The members of a pacer that its events show. */
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
 * Counts the calls of a pacer, and publishes events on the diagnostics channels `headgate:pacer:queued`, `:admitted`,
 * `:refused` and `:rate`. Without subscribers no event is made.
 */
export class PacerEvents {
  readonly #instance: ObservedPacer
  readonly #name: string
  readonly #onChange: (() => void) | undefined
  admittedCalls = 0
  cost = 0
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
      queued.publish({ pacer: this.#name, instance: this.#instance, key, cost: unitsIn(cost), priority, waiting })
    this.#onChange?.()
  }

  admitted({ key, waiting }: EventKey, cost: CallCost, waited: number): void {
    this.admittedCalls++
    this.cost += mostOf(cost)
    this.waited += waited
    if (waited > this.longestWait) this.longestWait = waited
    if (admitted.hasSubscribers)
      admitted.publish({ pacer: this.#name, instance: this.#instance, key, cost: unitsIn(cost), waited, waiting })
    this.#onChange?.()
  }

  refused({ key, waiting }: EventKey, cost: CallCost, error: unknown): void {
    this.refusedCalls++
    if (refused.hasSubscribers)
      refused.publish({ pacer: this.#name, instance: this.#instance, key, cost: unitsIn(cost), error, waiting })
    this.#onChange?.()
  }

  rate(perWindow: number): void {
    if (rate.hasSubscribers) rate.publish({ pacer: this.#name, instance: this.#instance, rate: perWindow })
    this.#onChange?.()
  }
}

/** Returns a function that may be called often in one tick: `run` runs once, after the last of these calls. */
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
