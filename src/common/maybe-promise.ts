/** A value, or a promise of it. A result that is known at once is returned without a promise. */
export type MaybePromise<T> = T | Promise<T>

/** True for a promise, also for one of another library. */
export function isPromise<T>(value: MaybePromise<T>): value is Promise<T> {
  return typeof value === 'object' && value !== null && typeof (value as Promise<T>).then === 'function'
}

/** Waits for all promises, then rejects with the first failure if there is one. */
export async function allOf<T>(promises: readonly Promise<T>[]): Promise<T[]> {
  const results = await Promise.allSettled(promises)
  return results.map((result) => {
    if (result.status === 'rejected') throw result.reason
    return result.value
  })
}
