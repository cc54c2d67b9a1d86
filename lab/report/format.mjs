/* Numbers as people read them, the same in every language of the machine. */

export function count(number) {
  return number.toLocaleString('en-US')
}

/** 0.0456 as `4.56 %`. */
export function percent(share) {
  return `${(share * 100).toFixed(2)} %`
}

/** @type {[string, number][]} */
const units = [
  ['d', 86_400_000],
  ['h', 3_600_000],
  ['m', 60_000],
  ['s', 1000],
]

/** A duration in milliseconds, such as `8.5 s`. */
export function duration(milliseconds) {
  if (milliseconds === Infinity) return 'never'
  const [unit, size] = units.find(([, size]) => milliseconds >= size) ?? ['ms', 1]
  return `${Number((milliseconds / size).toFixed(1))} ${unit}`
}

/** A time in UTC, such as `2026-01-01 12:00:00`. */
export function time(milliseconds) {
  return new Date(milliseconds).toISOString().slice(0, 19).replace('T', ' ')
}
