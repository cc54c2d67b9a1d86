import { channel } from '#platform'
import type { Store } from '../stores/contract/index.ts'
import { type CallCost, mostOf, unitsIn } from './pacer-cost.ts'

const queued = channel('headgate:pacer:queued')
const admitted = channel('headgate:pacer:admitted')
const refused = channel('headgate:pacer:refused')
const rate = channel('headgate:pacer:rate')

/** The counts of a pacer: totals since the pacer was made, and the calls that wait or run now. */
export interface Progress {
  /** Calls that wait now. */
  readonly waiting: number
  /** Functions of `throttle` and `wrap` that run now. Also functions that wait for a slot (a time) and already count for `concurrency`. */
  readonly running: number
  /** How many calls were admitted. */
  readonly admitted: number
  /** The units that the admitted calls took. For a call with a number for each policy, the largest number is added. */
  readonly cost: number
  /** Calls that ended without units: because of a full queue, a timeout, an aborted signal or a closed pacer. */
  readonly refused: number
  /** The sum of the waits of admitted calls, in milliseconds. Example: 300 after two waits of 100 and 200 ms. */
  readonly waited: number
  /** The longest wait of an admitted call, in milliseconds. */
  readonly longestWait: number
}

/** The members of a pacer that subscribers of its events can read. */
export interface ObservedPacer {
  readonly name: string
  readonly waiting: number
  readonly running: number
  readonly store: Store
}

/** The key of the pacer that an event is about. */
interface EventKey {
  readonly key: string
  readonly waiting: number
}

interface AdmittedCall {
  readonly cost: CallCost
  /** The function of the call. Undefined for `acquire`. */
  readonly run: unknown
}

/**
 * Counts the calls of a pacer, and publishes events on the diagnostics channels `headgate:pacer:queued`, `:admitted`, `:refused`
 * and `:rate`. While a channel has no subscribers, no event object is made for this channel.
 */
export class PacerEvents {
  readonly #instance: ObservedPacer
  readonly #name: string
  readonly #onChange: (() => void) | undefined
  admittedCalls = 0
  /** How many functions of admitted calls run. */
  running = 0
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

  admitted({ key, waiting }: EventKey, { cost, run }: AdmittedCall, waited: number): void {
    this.admittedCalls++
    if (run !== undefined) this.running++
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

/**
 * Returns a function that may be called often. After one call or many calls, `run` runs once, when the present code has ended (in a
 * microtask).
 */
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
