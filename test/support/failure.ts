import { HeadgateError } from '../../src/index.ts'

/** The code of the error that the store failed a call with, and how long it took. */
export async function failure(call: Promise<unknown>): Promise<{ code: string; after: number }> {
  const started = performance.now()
  const error = await call.then(
    () => undefined,
    (reason: unknown) => reason,
  )
  if (!(error instanceof HeadgateError)) throw new Error(`no HeadgateError: ${error}`)
  const { code } = error.code === 'HEADGATE_STORE_UNAVAILABLE' ? (error.cause as HeadgateError) : error
  return { code, after: performance.now() - started }
}
