/** A value, or a promise of it. A result that is known at once is returned without a promise. */
export type MaybePromise<T> = T | Promise<T>

/** True for a promise, also for one of another library. */
export function isPromise<T>(value: MaybePromise<T>): value is Promise<T> {
  return typeof value === 'object' && value !== null && typeof (value as Promise<T>).then === 'function'
}
