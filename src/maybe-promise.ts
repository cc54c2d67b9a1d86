/** A value, or a promise of it. What can be answered at once is answered without a promise. */
export type MaybePromise<T> = T | Promise<T>

/** Whether it has to be waited for. Promises of other libraries count too. */
export function isPromise<T>(value: MaybePromise<T>): value is Promise<T> {
  return typeof value === 'object' && value !== null && typeof (value as Promise<T>).then === 'function'
}

/** Waits for all of them, then rejects with the first failure. */
export async function allOf<T>(promises: readonly Promise<T>[]): Promise<T[]> {
  const results = await Promise.allSettled(promises)
  return results.map((result) => {
    if (result.status === 'rejected') throw result.reason
    return result.value
  })
}
