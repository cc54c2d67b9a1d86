/**
 * What went wrong, as a stable code. Codes never change their meaning; messages may.
 *
 * - `HEADGATE_LIMIT`, `_WINDOW`, `_BURST`, `_SEGMENTS`, `_NAME`, `_SCOPE`: a policy's number or text is out of range
 * - `HEADGATE_INEXACT`: a policy whose arithmetic would leave the integers below 2^53
 * - `HEADGATE_POLICY`: a policy in a form that is not understood
 * - `HEADGATE_DUPLICATE_POLICY`: two policies of one name in a limiter
 * - `HEADGATE_DUPLICATE_LIMITER`: two limiters of one name on a store
 * - `HEADGATE_OPTION`: an option that does not exist, or has a value it cannot have
 * - `HEADGATE_COST`, `HEADGATE_KEY`, `HEADGATE_MAX_WAIT`: an argument of a call
 * - `HEADGATE_CLOCK`: a clock that does not give whole microseconds
 * - `HEADGATE_ASYNC_STORE`: a synchronous call on a store that needs a promise
 */
export type ErrorCode =
  | 'HEADGATE_LIMIT'
  | 'HEADGATE_WINDOW'
  | 'HEADGATE_BURST'
  | 'HEADGATE_SEGMENTS'
  | 'HEADGATE_NAME'
  | 'HEADGATE_SCOPE'
  | 'HEADGATE_INEXACT'
  | 'HEADGATE_POLICY'
  | 'HEADGATE_DUPLICATE_POLICY'
  | 'HEADGATE_DUPLICATE_LIMITER'
  | 'HEADGATE_OPTION'
  | 'HEADGATE_COST'
  | 'HEADGATE_KEY'
  | 'HEADGATE_MAX_WAIT'
  | 'HEADGATE_CLOCK'
  | 'HEADGATE_ASYNC_STORE'

/** The one error this package throws: for misuse and for broken I/O, never for "refused", which is data. */
export class HeadgateError extends Error {
  readonly code: ErrorCode

  /** @param message what is wrong, then how to put it right */
  constructor(code: ErrorCode, message: string, options?: ErrorOptions) {
    super(message, options)
    this.name = 'HeadgateError'
    this.code = code
  }
}

/** A value as an error message shows it: short, and never itself a reason to throw. */
export function shown(value: unknown): string {
  if (typeof value === 'string') return JSON.stringify(value.length > 60 ? `${value.slice(0, 60)}...` : value)
  if (typeof value === 'object' && value !== null) return Array.isArray(value) ? 'an array' : 'an object'
  return typeof value === 'function' ? 'a function' : String(value)
}
