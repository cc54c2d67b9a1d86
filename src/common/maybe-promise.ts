import { waitUntil } from '#platform'
import { HeadgateError } from './errors.ts'

/** A value, or a promise of the value. Functions return a promise only if they had to wait. */
export type MaybePromise<T> = T | Promise<T>

/** True for a promise, including promises of other libraries. */
export function isPromise<T>(value: MaybePromise<T>): value is Promise<T> {
  return typeof value === 'object' && value !== null && typeof (value as Promise<T>).then === 'function'
}

/** Calls `go` with the value. If the value is a promise, calls `go` when the promise resolves. */
export function chain<From, To>(value: MaybePromise<From>, go: (value: From) => MaybePromise<To>): MaybePromise<To> {
  return isPromise(value) ? value.then(go) : go(value)
}

const nothing = () => undefined

/** If a value that the application gave is a promise that no code will await, ignores its rejection, which would end the process. */
export function ignoreRejection(value: unknown): void {
  if (isPromise(value)) Promise.resolve(value).catch(nothing)
}

/**
 * Returns the result of a function in the options that must not be async.
 * @param option the name of the option
 * @throws HeadgateError `HEADGATE_OPTION` if the result is a promise
 */
export function atOnce<T>(result: T, option: string): T {
  if (!isPromise(result)) return result
  ignoreRejection(result)
  throw new HeadgateError(
    'HEADGATE_OPTION',
    `${option} must not return a promise, because no code waits for the promise. Await what ${option} needs beforehand.`,
  )
}

/** Waits until all promises are settled. Then rejects with the first failure, or resolves to all results. */
export async function allOf<T>(promises: readonly Promise<T>[]): Promise<T[]> {
  const results = await Promise.allSettled(promises)
  return results.map((result) => {
    if (result.status === 'rejected') throw result.reason
    return result.value
  })
}

/**
 * Runs a function whose errors nobody needs. Returns undefined if the function throws. A rejected promise stays handled. A worker lives
 * until the promise is settled.
 */
export function attempt<Result>(run: () => MaybePromise<Result>): MaybePromise<Result> | undefined {
  try {
    const result = run()
    if (isPromise(result)) waitUntil(result.then(nothing, nothing))
    return result
  } catch {
    return undefined
  }
}
