/*
 * The channels of limiters. `headgate:limiter:call` has one event for every `consume` and `reserve`, no matter who calls: a framework's
 * adapter, a pacer or the application. If the channel has no subscribers, a call makes no event.
 * `headgate:threshold` has one event for each key, window and threshold.
 */
import { channel } from '#platform'
import type { PenaltyOptions } from '../algorithms/bans/index.ts'
import type { Policy } from '../algorithms/index.ts'
import { callHook, HeadgateError, isPromise, type MaybePromise } from '../common/index.ts'
import type { Channel } from '../platform/platform.ts'
import type { Decision } from '../policy/index.ts'
import type { Booking, Store, ThresholdEvent } from '../stores/contract/index.ts'
import { type CostList, isCostList, type Key, type Units } from './call-arguments.ts'
import { countHeavy, type SpaceSaving } from './heaviest/index.ts'

/** How many calls of this process use units of a limiter now, and how many wait. */
export interface Load {
  /** How many unfinished calls have units under `concurrency` policies. */
  inFlight: number
  /** How many requests wait for their time, because of the option `delay`. */
  waiting: number
}

/** The part of a limiter that its events show. */
export interface CalledLimiter {
  readonly name: string
  readonly policies: readonly Policy[]
  readonly penalty: PenaltyOptions | undefined
  readonly store: Store
  readonly load: Readonly<Load>
}

/** The event on the channel `headgate:limiter:call`. */
export interface LimiterCallEvent {
  /** The name of the limiter. */
  readonly limiter: string
  /** The limiter whose method was called. For a call under a plan (the policies of one caller), the limiter of the plan. */
  readonly instance: CalledLimiter
  /** Who was limited: the key, or a record with a key for each scope (such as `user`). */
  readonly key: Key
  /** The units of the call. If the call had a list of costs, the cost that was taken. If the list was refused, its first cost. */
  readonly cost: Units
  /** False if the calling middleware does not enforce a refusal of this key, because of its option `enforce`. */
  readonly enforced: boolean
  /** The decision. Undefined if the call was rejected because the store failed. */
  readonly decision: Decision | undefined
  /** The error with which the call was rejected. Undefined if there is a decision. */
  readonly error: unknown
  /** How long the caller of `reserve` has to wait before the reserved time, in milliseconds. 0 for `consume`. */
  readonly wait: number
}

export const calls: Channel = channel('headgate:limiter:call')

const thresholds = channel('headgate:threshold')

/** Makes a function that reports a threshold on the channel, and to the hook of the limiter, if the limiter has this hook. */
export function tellerOf(
  onThreshold: ((event: ThresholdEvent) => MaybePromise<unknown>) | undefined,
): (event: ThresholdEvent) => void {
  return (event) => {
    if (thresholds.hasSubscribers) thresholds.publish(event)
    if (onThreshold !== undefined) callHook('onThreshold', onThreshold, event, 'calls')
  }
}

interface WatchedCall {
  readonly limiter: CalledLimiter
  readonly key: Key
  readonly cost: Units | CostList
  readonly keys: readonly string[]
  /** False if the caller does not enforce a refusal. Undefined means true. */
  readonly enforced: boolean | undefined
  /** The counters of the heaviest keys, one for each scope (such as `user`). Undefined if the limiter has no option `top`. */
  readonly counts: readonly SpaceSaving[] | undefined
  /**
   * By how much this call raises the counters of the heaviest keys. 0 if this call is not counted: only some calls are counted, and a
   * counted call also stands for the uncounted calls before it.
   */
  readonly weight: number
}

/** Makes a call. Then counts the call for `limiter.top()`, and publishes the call if the channel has a subscriber. */
export function watch<Result extends Decision | Booking>(
  call: WatchedCall,
  run: () => MaybePromise<Result>,
): MaybePromise<Result> {
  const result = calls.hasSubscribers ? published(call, run) : run()
  if (call.counts !== undefined && call.weight > 0) countHeavy(call.counts, call.keys, call.weight, result)
  return result
}

/**
 * Makes a call, and publishes the result before the caller gets the result. An error is published only if the store failed, not if
 * the arguments of the call are invalid.
 */
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
    cost: isCostList(cost) ? (cost[decision?.allowed ? (decision.tried?.length ?? 0) : 0] as Units) : cost,
    enforced,
    decision,
    error,
    wait,
  } satisfies LimiterCallEvent)
}
