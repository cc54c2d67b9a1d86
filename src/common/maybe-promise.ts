import { waitUntil } from '#platform'
import { HeadgateError } from './errors.ts'

/** A value, or a promise of the value. Functions return a promise only if they had to wait. */
export type MaybePromise<T> = T | Promise<T>

/** True for a promise, including promises of other libraries. */
export function isPromise<T>(value: MaybePromise<T>): value is Promise<T> {
  return typeof value === 'object' && value !== null && typeof (value as Promise<T>).then === 'function'
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

/** A part of a command, for the keys of some scopes (kinds of key). */
export interface CommandPart<T> {
  readonly scopes: readonly string[]
  readonly result: Promise<T>
}

/**
 * Waits until all parts of a command that gives units back are settled. Then resolves to all results, or rejects. If only some parts have
 * failed, the error says in which scopes the command counted, so that no part is executed twice.
 */
export async function allParts<T>(parts: readonly CommandPart<T>[]): Promise<T[]> {
  const [results, counted, uncounted]: [T[], string[], string[]] = [[], [], []]
  let failure: unknown
  let inDoubt: unknown
  for (const [n, settled] of (await Promise.allSettled(parts.map(({ result }) => result))).entries()) {
    const { scopes } = parts[n] as CommandPart<T>
    if (settled.status === 'fulfilled') {
      results.push(settled.value)
      counted.push(...scopes)
      continue
    }
    const error: unknown = settled.reason
    failure ??= error
    if (error instanceof HeadgateError && error.uncounted) uncounted.push(...scopes)
    else inDoubt ??= error
  }
  if (failure === undefined) return results
  const error = inDoubt ?? failure
  const alike = counted.length === 0 && (inDoubt === undefined || uncounted.length === 0)
  if (alike || !(error instanceof HeadgateError)) throw error
  const { code, message, cause, shards } = error
  throw new HeadgateError(code, message, { cause, shards, scopes: { counted, uncounted } })
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
