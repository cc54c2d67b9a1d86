import { channel } from '#platform'
import {
  type Clock,
  check,
  duration,
  optional,
  type Readers,
  reason,
  type Sleeper,
  shown,
  unbounded,
  warnOnce,
  whole,
} from '../../common/index.ts'
import type { Channel } from '../../platform/platform.ts'

/**
 * What happens to a call if the store fails. `'closed'` (fail closed) rejects the call, `'open'` (fail open) admits the call
 * without counting, `'local'` decides the call in this process, and `'throw'` rejects the call with the store's error.
 */
export type StoreErrorAction = 'closed' | 'open' | 'local' | 'throw'

/** Gets the error of a call for which the store failed. Returns an action, or undefined to use the limiter's `onStoreError`. */
export type OnFailure = (error: unknown) => StoreErrorAction | undefined

/** The argument of the function `onStoreError`: a call for which the store failed. */
export interface StoreFailure {
  /** The error of the store. While the breaker is open, this is the store's last error. */
  readonly error: unknown
  /** The key of the call, or an object with a key for each scope (such as `user`). */
  readonly key: string | Readonly<Record<string, string>>
  /** The name of the limiter. */
  readonly limiter: string
}

/** An action, or a function that gets each failure and may return an action. Default `'local'`. */
export type OnStoreError<Event = StoreFailure> =
  | StoreErrorAction
  | ((event: Event) => StoreErrorAction | undefined | void | Promise<void>)

/** The settings of a limiter that decide what happens to a call if the store fails. */
export interface FailureTerms {
  readonly onStoreError: OnStoreError | undefined
  readonly instances: number
  /** How many milliseconds a request may take. Infinity: only the store's timeout applies. Undefined: the store's timeout, or 100. */
  readonly storeTimeout: number | undefined
  /**
   * True for calls on which no caller waits, such as those of a candidate. Their failures give no warning, and do not open the circuit breaker
   * of other limiters on the store. Default false.
   */
  readonly apart?: boolean
  readonly clock?: Clock
  readonly sleeper?: Sleeper
}

const choices: readonly unknown[] = ['closed', 'open', 'local', 'throw']

/** The options of a limiter or a pacer that say what happens if the store fails. */
export const failureOptions: Readers<Pick<FailureTerms, 'onStoreError' | 'instances' | 'storeTimeout'>> = {
  onStoreError: optional(
    check(
      (given) => typeof given === 'function' || choices.includes(given),
      "'closed', 'open', 'local', 'throw' or a function",
      "'local'",
    ),
  ),
  instances: whole(1),
  storeTimeout: optional(unbounded(duration(undefined, { usual: 20 }))),
}

/** Returns the action for a call, if any. If the user's function throws or rejects, warns the user once and returns undefined. */
export function choose<Event>(option: OnStoreError<Event> | undefined, event: Event): StoreErrorAction | undefined {
  if (typeof option !== 'function') return option
  const broken = (error: unknown) => {
    const message = `onStoreError threw; calls go on without it. Catch in the hook. ${reason(error)}`
    warnOnce('HEADGATE_HOOK', message, 'onStoreError')
  }
  try {
    const chosen: unknown = option(event)
    if (choices.includes(chosen)) return chosen as StoreErrorAction
    if (typeof chosen === 'string') {
      const message = `onStoreError returned ${shown(chosen)}, which is no action; calls go on without it.`
      warnOnce('HEADGATE_HOOK', `${message} Return 'closed', 'open', 'local' or 'throw'.`, 'onStoreError returned')
    } else if (chosen !== undefined) Promise.resolve(chosen).catch(broken) // `Promise.resolve` accepts promises of any library
    return undefined
  } catch (error) {
    broken(error)
    return undefined
  }
}

/** The channel that gets an event for every call for which a store failed. */
export const storeErrors: Channel = channel('headgate:store-error')

/**
 * Chooses the limiter's action for a call for which the store failed.
 * @param published true if the function `onFailure` of the call publishes the failure; otherwise, this function publishes the
 *   failure
 */
export function choiceFor(
  option: OnStoreError | undefined,
  error: unknown,
  keys: readonly (string | undefined)[],
  { name, scopes }: { readonly name: string; readonly scopes: readonly string[] },
  published: boolean,
): StoreErrorAction {
  const publishes = !published && storeErrors.hasSubscribers
  if (typeof option !== 'function' && !publishes) return option ?? 'local'
  const record = Object.fromEntries(scopes.map((scope, n) => [scope, keys[n] as string]))
  const event = { error, key: keys.length === 1 ? (keys[0] as string) : record, limiter: name }
  if (publishes) storeErrors.publish(event)
  return choose(option, event) ?? 'local'
}
