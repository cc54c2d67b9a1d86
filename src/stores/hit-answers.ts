import { HeadgateError, isPromise, type MaybePromise, shown, storeError } from '../common/index.ts'

/** The hits of a key in its present window. */
export interface Hits {
  /** How many hits the window has. */
  readonly used: number
  /** Milliseconds until the window ends. Default: the full length of the window. */
  readonly resetAfter?: number | undefined
}

/** Checks what the user's function returned. @throws HeadgateError `HEADGATE_STORE` if the function returned no numbers */
export function numbersOf(name: 'hit' | 'read', hits: Hits): Hits {
  const { used, resetAfter } = hits ?? {}
  if (isNumber(used) && isNumber(resetAfter ?? 0)) return hits
  const got =
    typeof hits === 'object' && hits !== null
      ? `{ used: ${shown(used)}, resetAfter: ${shown(resetAfter)} }`
      : shown(hits)
  const fix = 'Return numbers, such as { used: 3, resetAfter: 1500 }.'
  throw new HeadgateError('HEADGATE_STORE', `hitStore: ${name} returned ${got}. ${fix}`)
}

const isNumber = (value: unknown): boolean => typeof value === 'number' && !Number.isNaN(value)

/** Runs functions of a hit store, and gives their errors the code of a failed store: the counter may have counted before the error. */
export function asStoreError<Result>(run: () => MaybePromise<Result>): MaybePromise<Result> {
  const fail = (cause: unknown): never => {
    throw storeError('hitStore', cause)
  }
  try {
    const result = run()
    return isPromise(result) ? result.catch(fail) : result
  } catch (cause) {
    return fail(cause)
  }
}
