import { barChart } from './bar-chart.mjs'
import { cut, cutMiddle, padding, printable, widthOf } from './columns.mjs'
import { duration, time } from './format.mjs'

/**
 * A report, as every command makes it. A column is given by its name. A name that starts with `#` aligns the column to
 * the right; a name that starts with `~` says that the column matters less. Long texts are cut, unless the table is
 * `whole`. The times of a chart are milliseconds since the epoch, or
 * since the start if `relative`. A page draws the second series of a `stacked` chart above the first one.
 *
 * Only a page has pictures: the `shades` of a table, from 0 to 1, and the cells that it marks; curves over a limit, in percent, with
 * a level and a marked limit; and bars of quantiles.
 *
 * @typedef {{ columns: string[], rows: string[][], whole?: boolean, shades?: (number | undefined)[][], marked?: boolean[][] }} Table
 * @typedef {{ title: string, relative?: boolean, stacked?: boolean, times: number[], series: { name: string, values: number[] }[] }} Chart
 * @typedef {{ title: string, limits: number[], series: { name: string, values: number[] }[], level: number, marked: number }} Curve
 * @typedef {{ label: string, quantiles: Record<string, number> }} Bar
 * @typedef {{ heading: string, notes?: string[], code?: string[], tables?: Table[], charts?: Chart[], curves?: Curve[], bars?: Bar[] }} Section
 * @typedef {{ title: string, facts: string[], sections: Section[] }} Report
 */

/** A chart is at most this wide. */
const mostOfChart = 72

/** Cells are cut at this many columns. On a narrow terminal they are cut shorter, but never below the least width. */
const mostOfCell = 60
const leastOfCell = 8
/** Cells of a column that matters less may be cut to this. */
const leastOfMinor = 5
/** From this width on, a cell loses its middle, and keeps its end. */
const leastOfMiddle = 12

/** The report for a terminal. @param {Report} report */
export function textOf({ title, facts, sections }) {
  return [...underlined(title, '='), ...facts.map(printable), ...sections.flatMap(sectionText)].join('\n')
}

function underlined(text, line) {
  const shown = printable(text)
  return [shown, line.repeat(shown.length)]
}

function sectionText({ heading, notes = [], code = [], tables = [], charts = [] }) {
  return [
    '',
    ...underlined(heading, '-'),
    ...notes.map(printable),
    ...(code.length === 0 ? [] : ['', ...code.map((line) => `  ${printable(line)}`), '']),
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
  const names = columns.map(nameOfColumn)
  const lines = [names, ...rows].map((cells) => cells.map(printable))
  const needed = names.map((_, n) => Math.max(...lines.map((cells) => widthOf(cells[n]))))
  const parts = whole ? [{ shown: [...names.keys()], widths: needed }] : fittedParts(columns, needed, most)
  return parts.map(({ shown, widths }) => partText(columns, lines, shown, widths)).join('\n\n')
}

export function nameOfColumn(column) {
  return column.replace(/^[#~]/, '')
}

function partText(columns, lines, shown, widths) {
  const line = (cells) =>
    shown
      .map((n) => {
        const text = (widths[n] < leastOfMiddle ? cut : cutMiddle)(cells[n], widths[n])
        const space = padding(text, widths[n])
        return columns[n].startsWith('#') ? space + text : text + space
      })
      .join('  ')
      .trimEnd()
  return lines.map((cells) => `  ${line(cells)}`).join('\n')
}

/**
 * The columns that are shown side by side, and their widths. If the table is too wide, the columns that matter least become narrower first,
 * then the other texts. Numbers are never cut: if they do not fit, the table goes on below, with the first column again.
 */
function fittedParts(columns, needed, most) {
  const widths = needed.map((width, n) => (columns[n].startsWith('#') ? width : Math.min(width, mostOfCell)))
  const over = () => totalOf(widths) - most
  for (const kind of [/^~/, /^[^#]/]) narrow(widths, columns, kind, over)
  if (over() <= 0) return [{ shown: [...columns.keys()], widths }]
  const parts = [[0]]
  for (let n = 1; n < columns.length; n++) {
    const part = parts.at(-1)
    if (part.length > 1 && totalOf([...part, n].map((each) => widths[each])) > most) parts.push([0, n])
    else part.push(n)
  }
  return parts.map((shown) => ({ shown, widths }))
}

function totalOf(widths) {
  return widths.reduce((sum, width) => sum + width + 2, 0)
}

/** Makes the widest column of one kind narrower until the table fits, but no column narrower than the least width. */
function narrow(widths, columns, kind, over) {
  const least = kind.test('~') ? leastOfMinor : leastOfCell
  for (;;) {
    const some = [...columns.keys()].filter((n) => kind.test(columns[n]) && widths[n] > least)
    if (over() <= 0 || some.length === 0) return
    const widest = some.reduce((a, b) => (widths[b] > widths[a] ? b : a))
    widths[widest] = Math.max(least, widths[widest] - over())
  }
}

/** The series of a chart as bars, one below the other, on one scale. */
function chartText({ title, times, relative, series }) {
  const from = times[0] ?? 0
  const width = Math.min(mostOfChart, terminalWidth() - 12)
  const label = (at) => (relative ? duration(at) : time(at))
  const shown = series.map(({ name, values }) => ({ name, values: widen(values, width) }))
  const most = Math.max(...shown.flatMap(({ values }) => values))
  const ends = { from: label(from), to: label(times.at(-1) ?? from) }
  const charts = shown.flatMap(({ name, values }) => [`${title}: ${name}`, ...barChart({ values, most, ...ends }), ''])
  return ['', ...charts].join('\n')
}

/** One value for each column of the terminal: the sum of the values that fall into the column. */
function widen(values, width) {
  const size = Math.max(1, Math.ceil(values.length / width))
  const sums = []
  for (let n = 0; n < values.length; n += size)
    sums.push(values.slice(n, n + size).reduce((sum, value) => sum + value, 0))
  return sums
}
