/** A value, or a promise of the value. Functions return a promise only if they had to wait. */
export type MaybePromise<T> = T | Promise<T>

/** True for a promise, including promises of other libraries. */
export function isPromise<T>(value: MaybePromise<T>): value is Promise<T> {
  return typeof value === 'object' && value !== null && typeof (value as Promise<T>).then === 'function'
}

/** Waits until all promises are settled. Then rejects with the first failure, or resolves to all results. */
export async function allOf<T>(promises: readonly Promise<T>[]): Promise<T[]> {
  const results = await Promise.allSettled(promises)
  return results.map((result) => {
    if (result.status === 'rejected') throw result.reason
    return result.value
  })
}

/** Runs a function whose errors nobody needs. Returns undefined if the function throws. A rejected promise stays handled. */
export function attempt<Result>(run: () => MaybePromise<Result>): MaybePromise<Result> | undefined {
  try {
    const result = run()
    if (isPromise(result)) result.then(undefined, () => undefined)
    return result
  } catch {
    return undefined
  }
}
