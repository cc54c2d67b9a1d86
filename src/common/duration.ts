import ms, { type StringValue } from 'ms'
import { type ErrorCode, invalidOption } from './errors.ts'
import { warnOnce } from './warn.ts'

/**
 * Whole milliseconds, or text with a unit: `'250ms'`, `'10s'`, `'15m'`, `'1h'`, `'1d'`, `'2w'`, `'1y'`, or text with a longer
 * unit, such as `'15 minutes'`. Write units in small letters. A week has 7 days, and a year has 365.25 days. There is no unit for
 * a month, because its length varies.
 */
export type Duration = number | string

/** The longest window, 366 days, in milliseconds. */
export const longestWindow: number = 366 * 24 * 60 * 60 * 1000

/**
 * Converts a duration to whole milliseconds.
 * @param what the name of the duration, for the error message
 * @throws HeadgateError with `code` unless the duration is whole milliseconds from `least` to `most`. Default of `most`: 366 days
 */
export function milliseconds(
  duration: unknown,
  what: string,
  code: ErrorCode,
  least = 1,
  most: number = longestWindow,
): number {
  const value = typeof duration === 'string' ? textMilliseconds(duration) : duration
  if (typeof value !== 'number' || !Number.isSafeInteger(value) || value < least || value > most) {
    const expected = `from ${least} ms to ${most === longestWindow ? '366 days' : durationText(most)} in whole milliseconds`
    throw invalidOption(what, expected, duration, fixOf(duration), code)
  }
  return value
}

/**
 * The milliseconds of a text such as '15m'. Refuses capital letters: the package `ms` reads '1M' as one minute, but in other
 * packages '1M' is one month.
 */
function textMilliseconds(text: string): number | undefined {
  return /[a-z]$/.test(text) && !/[A-Z]/.test(text) ? ms(text as StringValue) : undefined
}

/** The fix in the error message for a window of a month. */
export const monthFix: string =
  "Write '30d': a month has no fixed length. Or write quota('1000/month') of headgate/calendar."

function fixOf(duration: unknown): string {
  const [, count = '', unit = ''] = (typeof duration === 'string' && /^([\d.]*\s*)([a-z]+)$/i.exec(duration)) || []
  if (unit === 'M') return `${monthFix} Or write '${count}m' for minutes.`
  if (/^mo(n|nths?)?$/i.test(unit)) return monthFix
  const small = unit.toLowerCase()
  if (small !== unit && ms(`1${small}` as StringValue) !== undefined) {
    return `Write the unit in small letters: '${count}${small}'.`
  }
  return "Give milliseconds (60000) or text with a unit ('250ms', '10s', '15m', '1h', '1d', '2w')."
}

/**
 * Warns if a number such as `60` may be meant in seconds, as in other packages. Here, `60` is 60 ms. Text with a unit never
 * causes the warning, and neither does 0, which means the same in every unit. For each option, the warning is given once, because a
 * program may compute many durations, such as the durations of bans.
 * @param what the name of the duration, for the message
 * @param least the shortest duration in milliseconds that causes no warning
 */
export function warnOfSeconds(duration: unknown, what: string, least = 1000): void {
  if (typeof duration !== 'number' || duration === 0 || (duration >= least && !isWholeInSeconds(duration))) return
  warnOnce(
    'HEADGATE_SECONDS',
    `${what} is ${duration} milliseconds. If you mean seconds, write '${duration}s'. If not, write '${duration}ms'.`,
    what,
  )
}

/**
 * True for a number that looks like seconds. Read as seconds, the number is a whole number of half hours or days, such as 3600, 86400
 * and 2592000. Read as milliseconds, the number is neither a multiple of half a second nor a whole number of minutes.
 */
function isWholeInSeconds(duration: number): boolean {
  return (duration % 1800 === 0 && duration % 500 !== 0) || (duration % 86_400 === 0 && duration % 60_000 !== 0)
}

/** The shortest exact text for whole milliseconds. Examples: `900000` gives `'15m'`, and `90000` gives `'90s'`. */
export function durationText(value: number): string {
  for (const unit of ['d', 'h', 'm', 's'] as const) {
    const size = ms(`1${unit}`)
    if (value % size === 0) return `${value / size}${unit}`
  }
  return `${value}ms`
}
