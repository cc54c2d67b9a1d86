const months = ['Jan', 'Feb', 'Mar', 'Apr', 'May', 'Jun', 'Jul', 'Aug', 'Sep', 'Oct', 'Nov', 'Dec']
const common = /^(\d\d)\/(\w{3})\/(\d{4}):(\d\d):(\d\d):(\d\d)(?:\.(\d{1,6}))?(?: ([+-])(\d\d):?(\d\d))?$/

let lastText = ''
let lastTime

/** Milliseconds since the epoch of a time as logs write it: Common Log Format, ISO 8601, or a number of any unit. */
export function parseTime(value) {
  if (typeof value === 'number') return fromNumber(value)
  if (typeof value !== 'string') return undefined
  if (value === lastText) return lastTime // many lines have the time of the line before
  lastTime = parseText(value)
  lastText = value
  return lastTime
}

function parseText(text) {
  const match = common.exec(text)
  if (match !== null) return fromCommon(match)
  if (/^\d+(\.\d+)?$/.test(text)) return fromNumber(Number(text))
  const time = Date.parse(text)
  return Number.isNaN(time) ? undefined : time + microsecondsOf(text)
}

/** @param {string[]} match */
function fromCommon([, day, name, year, hours, minutes, seconds, fraction = '', sign, zoneHours, zoneMinutes]) {
  const month = months.indexOf(name)
  if (month < 0) return undefined
  const date = Date.UTC(Number(year), month, Number(day))
  if (new Date(date).getUTCDate() !== Number(day)) return undefined // such as 32/Jan, which `Date.UTC` reads as the first of February
  const utc = date + ((Number(hours) * 60 + Number(minutes)) * 60 + Number(seconds)) * 1000
  const zone = sign === undefined ? 0 : (Number(zoneHours) * 60 + Number(zoneMinutes)) * (sign === '-' ? -1 : 1)
  return utc + Number(fraction.padEnd(6, '0')) / 1000 - zone * 60_000
}

/** The microseconds of a time text, which `Date.parse` drops. */
function microsecondsOf(text) {
  const digits = /\.\d{3}(\d{1,3})/.exec(text)?.[1] ?? ''
  return Number(digits.padEnd(3, '0')) / 1000
}

/** The last nanosecond that a Date can hold. */
const latest = 8.64e21

/** A time as a number. Its size shows the unit: seconds, milliseconds, microseconds or nanoseconds. */
function fromNumber(value) {
  if (!(value > 0 && value <= latest)) return undefined
  if (value < 1e11) return Math.round(value * 1e6) / 1000
  if (value < 1e14) return value
  return value < 1e17 ? value / 1000 : Math.round(value / 1000) / 1000
}
