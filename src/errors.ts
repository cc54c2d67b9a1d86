/**
 * What went wrong, as a stable code. Codes never change their meaning; messages may.
 *
 * - `HEADGATE_LIMIT`, `_WINDOW`, `_BURST`, `_SEGMENTS`, `_NAME`, `_SCOPE`: a policy's number or text is out of range
 * - `HEADGATE_INEXACT`: a policy whose arithmetic would leave the integers below 2^53
 * - `HEADGATE_POLICY`: a policy in a form that is not understood
 * - `HEADGATE_PENALTY`: a penalty's number or duration is out of range
 * - `HEADGATE_DUPLICATE_POLICY`: two policies of one name in a limiter
 * - `HEADGATE_DUPLICATE_LIMITER`: two limiters of one name on a store
 * - `HEADGATE_OPTION`: an option that does not exist, or has a value it cannot have
 * - `HEADGATE_COST`, `HEADGATE_KEY`, `HEADGATE_MAX_WAIT`: an argument of a call
 * - `HEADGATE_HEADERS_SENT`: a request refused after its response had begun
 * - `HEADGATE_CLOCK`: a clock that does not give whole microseconds
 * - `HEADGATE_ASYNC_STORE`: a synchronous call on a store that needs a promise
 * - `HEADGATE_STATE_SIZE`: a policy, or a key, that needs more bytes than its store holds
 * - `HEADGATE_STORE_TIMEOUT`: a store did not answer within its `timeout`; whether the call counted is not known
 * - `HEADGATE_STORE`: a store failed; `cause` is what it said
 * - `HEADGATE_STORE_UNAVAILABLE`: a store failed and the choice for that is `'deny'`; `cause` is what it said, `retryAfter`
 *   how long until it is worth asking again
 * - `HEADGATE_RATE`: a rate of a pacer that cannot be kept
 * - `HEADGATE_QUEUE_FULL`: a pacer has as many waiting as it may have
 * - `HEADGATE_TIMEOUT`: a turn would not come, or did not come, within its `timeout`
 * - `HEADGATE_CLOSED`: a pacer that has been closed
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
  | 'HEADGATE_PENALTY'
  | 'HEADGATE_DUPLICATE_POLICY'
  | 'HEADGATE_DUPLICATE_LIMITER'
  | 'HEADGATE_OPTION'
  | 'HEADGATE_COST'
  | 'HEADGATE_KEY'
  | 'HEADGATE_MAX_WAIT'
  | 'HEADGATE_HEADERS_SENT'
  | 'HEADGATE_CLOCK'
  | 'HEADGATE_ASYNC_STORE'
  | 'HEADGATE_STATE_SIZE'
  | 'HEADGATE_STORE_TIMEOUT'
  | 'HEADGATE_STORE'
  | 'HEADGATE_STORE_UNAVAILABLE'
  | 'HEADGATE_RATE'
  | 'HEADGATE_QUEUE_FULL'
  | 'HEADGATE_TIMEOUT'
  | 'HEADGATE_CLOSED'

/** The one error this package throws: for misuse and for broken I/O, never for "refused", which is data. */
export class HeadgateError extends Error {
  readonly code: ErrorCode
  /** Of `HEADGATE_STORE_UNAVAILABLE`: in how many milliseconds it is worth asking again. */
  declare readonly retryAfter?: number

  /** @param message what is wrong, then how to put it right */
  constructor(code: ErrorCode, message: string, options?: ErrorOptions & { retryAfter?: number }) {
    super(message, options)
    this.name = 'HeadgateError'
    this.code = code
    if (options?.retryAfter !== undefined) this.retryAfter = options.retryAfter
  }
}

/** A value as an error message shows it: short, and never itself a reason to throw. */
export function shown(value: unknown): string {
  if (typeof value === 'string') return JSON.stringify(value.length > 60 ? `${value.slice(0, 60)}...` : value)
  if (typeof value === 'object' && value !== null) return Array.isArray(value) ? 'an array' : 'an object'
  return typeof value === 'function' ? 'a function' : String(value)
}
