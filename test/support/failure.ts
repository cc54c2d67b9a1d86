import { HeadgateError } from '../../src/index.ts'

/** The code of the error that a call rejects with, and how long it took. */
export async function failure(call: Promise<unknown>): Promise<{ code: string; after: number }> {
  const started = performance.now()
  const error = await call.then(
    () => undefined,
    (reason: unknown) => reason,
  )
  if (!(error instanceof HeadgateError)) throw new Error(`no HeadgateError: ${error}`)
  return { code: error.code, after: performance.now() - started }
}
