/** A value, or a promise of it. What can be answered at once is answered without a promise. */
export type MaybePromise<T> = T | Promise<T>

/** Whether it has to be waited for. Promises of other libraries count too. */
export function isPromise<T>(value: MaybePromise<T>): value is Promise<T> {
  return typeof value === 'object' && value !== null && typeof (value as Promise<T>).then === 'function'
}
