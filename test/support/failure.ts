import { HeadgateError } from '../../src/index.ts'

/** What a function throws; undefined if it returns. */
export function thrownBy(run: () => unknown): HeadgateError | undefined {
  try {
    run()
    return undefined
  } catch (error) {
    return error as HeadgateError
  }
}

/** The code of the error with which the store failed a call, and the milliseconds until then. */
export async function failure(call: Promise<unknown>): Promise<{ code: string; after: number }> {
  const started = performance.now()
  const error = await call.then(
    () => undefined,
    (reason: unknown) => reason,
  )
  if (!(error instanceof HeadgateError)) throw new Error(`not a HeadgateError: ${error}`)
  const { code } = error.code === 'HEADGATE_STORE_UNAVAILABLE' ? (error.cause as HeadgateError) : error
  return { code, after: performance.now() - started }
}
