import { count } from './format.mjs'

const eighths = ' ▁▂▃▄▅▆▇█'
const rows = 5

/**
 * Bars over time in text, from 0 on a linear scale. Charts of one scale can be compared.
 * @param {{ values: number[], most: number, from: string, to: string }} chart `most` is the largest value of the scale
 * @returns {string[]} lines
 */
export function barChart({ values, most, from, to }) {
  const top = roundAbove(most)
  const margin = count(top).length
  const lines = Array.from({ length: rows }, (_, n) => {
    const row = rows - 1 - n
    const tick = row === rows - 1 ? count(top) : ''
    return `${tick.padStart(margin)}┤${values.map((value) => barOf(value, top, row)).join('')}`
  })
  const gap = Math.max(2, values.length - from.length - to.length)
  return [
    ...lines.map((line) => line.trimEnd()),
    `${'0'.padStart(margin)}└${'─'.repeat(values.length)}`,
    `${' '.repeat(margin + 1)}${from}${' '.repeat(gap)}${to}`,
  ]
}

/** The part of a bar that stands in one row. The least value above 0 can be seen. */
function barOf(value, top, row) {
  const eighth = value === 0 ? 0 : Math.max(1, Math.round((value / top) * rows * 8))
  return eighths[Math.min(8, Math.max(0, eighth - row * 8))]
}

/** The least round number that is not below the value. */
function roundAbove(value) {
  const power = 10 ** Math.floor(Math.log10(Math.max(1, value)))
  return [1, 2, 3, 4, 5, 6, 8, 10].map((digit) => digit * power).find((each) => each >= value)
}
