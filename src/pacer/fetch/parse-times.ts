/*
 * The forms in which servers write times. Each function returns milliseconds, or undefined if the text has another
 * form. All results are finite, however long the text is.
 */

/** A number in a reset field that is larger than this is a time in epoch seconds (September 2001 and later). A smaller number is a wait. */
const epochSeconds = 1e9
/** A number in a reset field that is larger than this is a time in epoch milliseconds, not in epoch seconds. */
const epochMilliseconds = 1e12

const number = /^\s*\d+(\.\d+)?\s*$/

/** Limits a number to 2^53 - 1, because a very long row of digits in a field is read as Infinity. */
export function capped(value: number): number {
  return Math.min(value, Number.MAX_SAFE_INTEGER)
}

/**
 * Parses a decimal number such as `7.66`, and multiplies the number by `unit`. Rounds the product up to a whole millisecond. A
 * floating-point error of the multiplication does not add a millisecond.
 */
export function decimal(text: string, unit: number): number | undefined {
  return number.test(text) ? wholeMilliseconds(Number(text) * unit) : undefined
}

function wholeMilliseconds(value: number): number {
  const capacity = capped(value)
  return capacity < 1e12 ? Math.ceil(Math.round(capacity * 1000) / 1000) : Math.ceil(capacity)
}

const part = (unit: string) => `(?:(\\d+(?:\\.\\d+)?)${unit})?`
/** A duration in the notation of Go, the largest unit first: `1h2m3.5s`. */
const duration = new RegExp(`^(?=\\d)${part('d')}${part('h')}${part('m')}${part('s')}${part('ms')}$`)
const unitsOfDuration = [86_400_000, 3_600_000, 60_000, 1000, 1]

/** Parses a duration such as `6m0s`, `1h2m3.5s` or `120ms`. */
function parseDuration(text: string): number | undefined {
  const parts = duration.exec(text)?.slice(1)
  if (parts === undefined) return undefined
  return wholeMilliseconds(parts.reduce((sum, part = '0', n) => sum + Number(part) * (unitsOfDuration[n] as number), 0))
}

/**
 * The wait in milliseconds until the time in a reset field. The field contains seconds, a duration, a date or an epoch time.
 * @param now the time in milliseconds since the epoch
 */
export function parseReset(text: string, now: number): number | undefined {
  const trimmed = text.trim()
  const [first = ''] = trimmed.split(/[,;]/, 1) // a field that was sent twice arrives as one text, joined by a comma
  const value = number.test(first) ? Number(first) : Number.NaN
  if (Number.isNaN(value)) return parseDuration(trimmed) ?? untilDate(trimmed, now)
  if (value >= epochMilliseconds) return capped(Math.max(0, value - now))
  return value >= epochSeconds ? Math.max(0, value * 1000 - now) : decimal(first, 1000)
}

/** Parses `Retry-After`: seconds or a date. RFC 9110 allows whole seconds only, but some servers send `1.5`. */
export function parseRetryAfter(text: string, now: number): number | undefined {
  return decimal(text, 1000) ?? untilDate(text.trim(), now)
}

/** The milliseconds from now until a date. 0 for a past date. */
function untilDate(text: string, now: number): number | undefined {
  const date = parseDate(text)
  return Number.isNaN(date) ? undefined : Math.max(0, date - now)
}

const months = '(?:Jan|Feb|Mar|Apr|May|Jun|Jul|Aug|Sep|Oct|Nov|Dec)'
const days = '(?:Mon|Tue|Wed|Thu|Fri|Sat|Sun)'
const time = '\\d{2}:\\d{2}:\\d{2}'
/** Two forms of dates: `Sun, 06 Nov 1994 08:49:37 GMT`, and the obsolete `Sunday, 06-Nov-94 08:49:37 GMT`. */
const datesWithZone = new RegExp(
  `^(?:${days}, \\d{2} ${months} \\d{4}|(?:Mon|Tues|Wednes|Thurs|Fri|Satur|Sun)day, \\d{2}-${months}-\\d{2}) ${time} GMT$`,
)
/** An obsolete form of dates: `Sun Nov 6 08:49:37 1994`. The text has no time zone, and the time is GMT. */
const dateWithoutZone = new RegExp(`^${days} ${months} [ \\d]\\d ${time} \\d{4}$`)
/** Dates of RFC 3339: `1994-11-06T08:49:37Z`, `1994-11-06T09:49:37.5+01:00`. */
const internetDate = new RegExp(`^\\d{4}-\\d{2}-\\d{2}[Tt]${time}(?:\\.\\d{1,9})?(?:[Zz]|[+-]\\d{2}:\\d{2})$`)

/** Parses a date of RFC 9110 or RFC 3339. NaN for any other text, although `Date.parse` accepts "foo 5" and "-5". */
function parseDate(text: string): number {
  if (datesWithZone.test(text)) return Date.parse(text)
  if (internetDate.test(text)) return Date.parse(text.toUpperCase())
  return dateWithoutZone.test(text) ? Date.parse(`${text} GMT`) : Number.NaN
}
