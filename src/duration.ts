import ms, { type StringValue } from 'ms'
import { type ErrorCode, invalidOption } from './errors.ts'
import { warnOnce } from './warn.ts'

/** Whole milliseconds, or text with a unit: `'250ms'`, `'10s'`, `'15m'`, `'1h'`, `'1d'`. */
export type Duration = number | string

/** 366 days in milliseconds. */
export const longestWindow: number = 366 * 24 * 60 * 60 * 1000

/**
 * A duration in whole milliseconds.
 * @param what its name in the error message
 * @throws HeadgateError with `code` if it is not a whole number of milliseconds from `least` to 366 days
 */
export function milliseconds(duration: unknown, what: string, code: ErrorCode, least = 1): number {
  const value = typeof duration === 'string' && /[a-z]\s*$/i.test(duration) ? ms(duration as StringValue) : duration
  if (typeof value !== 'number' || !Number.isSafeInteger(value) || value < least || value > longestWindow) {
    const expected = `from ${least} ms to 366 days in whole milliseconds`
    const fix = "Give milliseconds (60000) or text with a unit ('250ms', '10s', '15m', '1h', '1d')."
    throw invalidOption(what, expected, duration, fix, code)
  }
  return value
}

/**
 * Warns of a window such as `60`, which is 60 ms and limits hardly anybody: other packages count in seconds. Text with a unit
 * gives no warning.
 * @param what its name in the message
 */
export function warnOfSeconds(duration: unknown, what: string): void {
  if (typeof duration !== 'number' || duration >= 1000) return
  warnOnce(
    'HEADGATE_SECONDS',
    `${what} is ${duration} milliseconds. If you mean seconds, write '${duration}s'. If not, write '${duration}ms'.`,
    `${what} ${duration}`,
  )
}

/** The shortest exact text for whole milliseconds: `900000` is `'15m'`, `90000` is `'90s'`. */
export function durationText(value: number): string {
  for (const unit of ['d', 'h', 'm', 's'] as const) {
    const size = ms(`1${unit}`)
    if (value % size === 0) return `${value / size}${unit}`
  }
  return `${value}ms`
}
