import plot from 'simple-ascii-chart'
import { cut, padding, printable, widthOf } from './columns.mjs'
import { count, duration, time } from './format.mjs'

/**
 * A report, as every command makes it. A column is given by its name. A name that starts with `#` aligns the column to
 * the right. Long cells are cut, unless the table is `whole`. The times of a chart are milliseconds since the epoch, or
 * since the start if `relative`.
 *
 * Only a page has pictures: the `shades` of a table, from 0 to 1, and the cells that it marks; curves over a limit, in percent, with
 * a level and a marked limit; and bars of quantiles.
 *
 * @typedef {{ columns: string[], rows: string[][], whole?: boolean, shades?: (number | undefined)[][], marked?: boolean[][] }} Table
 * @typedef {{ title: string, relative?: boolean, times: number[], series: { name: string, values: number[] }[] }} Chart
 * @typedef {{ title: string, limits: number[], series: { name: string, values: number[] }[], level: number, marked: number }} Curve
 * @typedef {{ label: string, quantiles: Record<string, number> }} Bar
 * @typedef {{ heading: string, notes?: string[], tables?: Table[], charts?: Chart[], curves?: Curve[], bars?: Bar[] }} Section
 * @typedef {{ title: string, facts: string[], sections: Section[] }} Report
 */

const columns = 72

/** Cells are cut at this many columns. On a narrow terminal they are cut shorter, but never below the least width. */
const mostOfCell = 60
const leastOfCell = 8

/** The report for a terminal. @param {Report} report */
export function textOf({ title, facts, sections }) {
  return [...underlined(title, '='), ...facts.map(printable), ...sections.flatMap(sectionText)].join('\n')
}

function underlined(text, line) {
  const shown = printable(text)
  return [shown, line.repeat(shown.length)]
}

function sectionText({ heading, notes = [], tables = [], charts = [] }) {
  return [
    '',
    ...underlined(heading, '-'),
    ...notes.map(printable),
    ...charts.map(chartText),
    ...tables.flatMap((table) => [tableText(table), '']),
  ]
}

/** The columns of the terminal; Infinity if the output goes elsewhere. */
function terminalWidth() {
  return process.stdout.isTTY ? process.stdout.columns || 80 : Infinity
}

/** @param {Table} table @param {number} [most] the columns that it may take */
export function tableText({ columns, rows, whole = false }, most = terminalWidth()) {
  const names = columns.map((name) => name.replace('#', ''))
  const lines = [names, ...rows].map((cells) => cells.map(printable))
  const needed = names.map((_, n) => Math.max(...lines.map((cells) => widthOf(cells[n]))))
  const widths = whole ? needed : fitted(needed, most - 2 * names.length)
  const line = (cells) =>
    cells
      .map((cell, n) => {
        const text = cut(cell, widths[n])
        const space = padding(text, widths[n])
        return columns[n].startsWith('#') ? space + text : text + space
      })
      .join('  ')
      .trimEnd()
  return lines.map((cells) => `  ${line(cells)}`).join('\n')
}

/** The widths of the columns. If they do not fit, the widest column is made narrower. */
function fitted(needed, most) {
  const widths = needed.map((width) => Math.min(width, mostOfCell))
  for (;;) {
    const widest = Math.max(...widths)
    const over = widths.reduce((sum, width) => sum + width, 0) - most
    if (over <= 0 || widest <= leastOfCell) return widths
    widths[widths.indexOf(widest)] = Math.max(leastOfCell, widest - over)
  }
}

function chartText({ title, times, relative, series }) {
  const shown = series.map(({ values }) => widen(values))
  const from = times[0] ?? 0
  const label = (at) => (relative ? duration(at) : time(at))
  const drawn = plot(shown, {
    width: columns,
    height: 8,
    hideXAxisTicks: true,
    formatter: (value) => count(Math.round(value)),
    ...(process.stdout.isTTY ? { color: ['ansiBlue', 'ansiYellow', 'ansiMagenta', 'ansiCyan'] } : {}),
  })
  const names = series.map(({ name }) => name).join(', ')
  return `\n${title} (${names}), ${label(from)} to ${label(times.at(-1) ?? from)}\n${drawn}\n`
}

/** Makes one point for each column of the terminal: the sum of the values that fall into the column. */
function widen(values) {
  const size = Math.max(1, Math.ceil(values.length / columns))
  const points = []
  for (let n = 0; n < values.length; n += size) {
    points.push([n / size, values.slice(n, n + size).reduce((sum, value) => sum + value, 0)])
  }
  return points
}
