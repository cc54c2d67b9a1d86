/*
 * The forms in which servers write times. Each function returns milliseconds, or undefined for a text of another form.
 * All numbers are finite, however long the text is.
 */

/** A larger number is epoch seconds (September 2001 and later). */
const epochSeconds = 1e9
/** A larger number is epoch milliseconds. */
const epochMilliseconds = 1e12

const number = /^\s*\d+(\.\d+)?\s*$/

/** Infinity becomes the largest number: a long row of digits stays finite. */
export function capped(value: number): number {
  return Math.min(value, Number.MAX_SAFE_INTEGER)
}

/** A decimal number such as `7.66`, times a unit. Parts of a millisecond are rounded up, rounding errors are not. */
export function decimal(text: string, unit: number): number | undefined {
  return number.test(text) ? wholeMilliseconds(Number(text) * unit) : undefined
}

function wholeMilliseconds(value: number): number {
  const capacity = capped(value)
  return capacity < 1e12 ? Math.ceil(Math.round(capacity * 1000) / 1000) : Math.ceil(capacity)
}

const part = (unit: string) => `(?:(\\d+(?:\\.\\d+)?)${unit})?`
/** A duration as Go writes it: the largest unit first. */
const duration = new RegExp(`^(?=\\d)${part('d')}${part('h')}${part('m')}${part('s')}${part('ms')}$`)
const unitsOfDuration = [86_400_000, 3_600_000, 60_000, 1000, 1]

/** `6m0s`, `1h2m3.5s`, `120ms`. */
function parseDuration(text: string): number | undefined {
  const parts = duration.exec(text)?.slice(1)
  if (parts === undefined) return undefined
  return wholeMilliseconds(parts.reduce((sum, part = '0', n) => sum + Number(part) * (unitsOfDuration[n] as number), 0))
}

/** The wait that a field named "reset" gives: seconds, a duration, or a time as epoch seconds, epoch milliseconds or a date. */
export function parseReset(text: string, now: number): number | undefined {
  const trimmed = text.trim()
  const [first = ''] = trimmed.split(/[,;]/, 1) // a field that was sent twice is joined by a comma
  const value = number.test(first) ? Number(first) : Number.NaN
  if (Number.isNaN(value)) return parseDuration(trimmed) ?? untilDate(trimmed, now)
  if (value >= epochMilliseconds) return capped(Math.max(0, value - now))
  return value >= epochSeconds ? Math.max(0, value * 1000 - now) : decimal(first, 1000)
}

/** `Retry-After`: seconds or a date. RFC 9110 has whole seconds only, but a server that sends `1.5` means it. */
export function parseRetryAfter(text: string, now: number): number | undefined {
  return decimal(text, 1000) ?? untilDate(text.trim(), now)
}

/** Milliseconds from now. A past date is now. */
function untilDate(text: string, now: number): number | undefined {
  const date = parseDate(text)
  return Number.isNaN(date) ? undefined : Math.max(0, date - now)
}

const months = '(?:Jan|Feb|Mar|Apr|May|Jun|Jul|Aug|Sep|Oct|Nov|Dec)'
const days = '(?:Mon|Tue|Wed|Thu|Fri|Sat|Sun)'
const time = '\\d{2}:\\d{2}:\\d{2}'
/** `Sun, 06 Nov 1994 08:49:37 GMT`, and `Sunday, 06-Nov-94 08:49:37 GMT`, which is obsolete. */
const datesWithZone = new RegExp(
  `^(?:${days}, \\d{2} ${months} \\d{4}|(?:Mon|Tues|Wednes|Thurs|Fri|Satur|Sun)day, \\d{2}-${months}-\\d{2}) ${time} GMT$`,
)
/** `Sun Nov 6 08:49:37 1994`, which is obsolete. The time is GMT, although the text has no zone. */
const dateWithoutZone = new RegExp(`^${days} ${months} [ \\d]\\d ${time} \\d{4}$`)
/** RFC 3339: `1994-11-06T08:49:37Z`, `1994-11-06T09:49:37.5+01:00`. */
const internetDate = new RegExp(`^\\d{4}-\\d{2}-\\d{2}[Tt]${time}(?:\\.\\d{1,9})?(?:[Zz]|[+-]\\d{2}:\\d{2})$`)

/** The dates of RFC 9110, 5.6.7, and of RFC 3339; else NaN. `Date.parse` alone reads "foo 5", "-5" and "1.5" as dates, too. */
function parseDate(text: string): number {
  if (datesWithZone.test(text)) return Date.parse(text)
  if (internetDate.test(text)) return Date.parse(text.toUpperCase())
  return dateWithoutZone.test(text) ? Date.parse(`${text} GMT`) : Number.NaN
}
