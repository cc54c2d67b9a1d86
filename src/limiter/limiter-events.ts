/*
 * The channel of a limiter's decisions: one event for every `consume` and `reserve`, whether an adapter, a pacer or the
 * application calls it. Without subscribers a call only tests for them.
 */
import { channel } from '#platform'
import type { PenaltyOptions } from '../algorithms/bans/index.ts'
import type { Policy } from '../algorithms/index.ts'
import { HeadgateError, isPromise, type MaybePromise } from '../common/index.ts'
import type { Channel } from '../platform/platform.ts'
import type { Decision } from '../policy/index.ts'
import type { Booking, Store } from '../stores/contract/index.ts'
import type { Key, Units } from './call-arguments.ts'
import { countHeavy, type SpaceSaving } from './heaviest/index.ts'

/** The calls that hold units of a limiter in this process now, and those that wait. */
export interface Load {
  /** Calls that hold units in flight (`concurrency`). */
  inFlight: number
  /** Requests that wait for their slot (`delay`). */
  waiting: number
}

/** A limiter, as far as its events show it. */
export interface CalledLimiter {
  readonly name: string
  readonly policies: readonly Policy[]
  readonly penalty: PenaltyOptions | undefined
  readonly store: Store
  readonly load: Readonly<Load>
}

/** The event of the channel `headgate:limiter:call`. */
export interface LimiterCallEvent {
  /** The limiter's name. */
  readonly limiter: string
  /** The limiter itself, under the plan of the call. */
  readonly instance: CalledLimiter
  /** Who was limited: the key, or a record with a key for each scope. */
  readonly key: Key
  readonly cost: Units
  /** False if the middleware that called does not enforce a refusal of this key (`shadow`, `enforce`). */
  readonly enforced: boolean
  /** Undefined if the store failed and the call was rejected. */
  readonly decision: Decision | undefined
  /** The error that the call was rejected with. */
  readonly error: unknown
  /** How long the caller of `reserve` has to wait, in milliseconds. 0 for `consume`. */
  readonly wait: number
}

export const calls: Channel = channel('headgate:limiter:call')

interface WatchedCall {
  readonly limiter: CalledLimiter
  readonly key: Key
  readonly cost: Units
  readonly keys: readonly string[]
  /** Default true. */
  readonly enforced: boolean | undefined
  /** The counts of the heaviest keys of each scope; undefined if nobody asks. */
  readonly counts: readonly SpaceSaving[] | undefined
  /** How many calls this call stands for in the counts of the heaviest keys: 0 if it is not counted. */
  readonly weight: number
}

/** Makes a call. Counts it for the heaviest keys, and publishes it, if the option `top` or a subscriber needs it. */
export function watch<Result extends Decision | Booking>(
  call: WatchedCall,
  run: () => MaybePromise<Result>,
): MaybePromise<Result> {
  const result = calls.hasSubscribers ? published(call, run) : run()
  if (call.counts !== undefined && call.weight > 0) countHeavy(call.counts, call.keys, call.weight, result)
  return result
}

/** Makes the call, and publishes its outcome before the caller gets it. An error of the caller is not published. */
function published<Result extends Decision | Booking>(
  call: WatchedCall,
  run: () => MaybePromise<Result>,
): MaybePromise<Result> {
  try {
    const result = run()
    if (!isPromise(result)) return succeeded(call, result)
    result.then(
      (value) => void succeeded(call, value),
      (error) => failed(call, error),
    )
    return result
  } catch (error) {
    failed(call, error)
    throw error
  }
}

function succeeded<Result extends Decision | Booking>(call: WatchedCall, result: Result): Result {
  const booked = 'decision' in result
  publish(call, booked ? result.decision : result, undefined, booked ? result.wait : 0)
  return result
}

function failed(call: WatchedCall, error: unknown): void {
  if (!(error instanceof HeadgateError) || error.code.startsWith('HEADGATE_STORE')) publish(call, undefined, error, 0)
}

function publish(
  { limiter, key, cost, enforced = true }: WatchedCall,
  decision: Decision | undefined,
  error: unknown,
  wait: number,
): void {
  calls.publish({
    limiter: limiter.name,
    instance: limiter,
    key,
    cost,
    enforced,
    decision,
    error,
    wait,
  } satisfies LimiterCallEvent)
}
