import { rowsOf, value } from './rows.mjs'
import { shown } from './statistics.mjs'

/** A result as a page: one table for each workload. @param svg returns the path of a plot, relative to the page */
export function page(suite, result, svg) {
  const parts = [`# ${suite.title}`, conditions(result), ...tables(suite, result, svg)]
  return `${parts.join('\n\n')}\n`
}

/** The date and the machine of the run. */
export function conditions({ at, rounds, machine, versions }) {
  const { cpu, cores, memory, node } = machine
  const redis = versions['redis-server'] ? `, Redis ${versions['redis-server']}` : ''
  return `${at.slice(0, 10)}, ${cpu}, ${cores} cores, ${memory}, Node ${node.slice(1)}${redis}; medians of ${rounds} rounds (least to most).`
}

export function tables(suite, result, svg = (_file) => undefined) {
  return suite.workloads.flatMap((workload) => {
    const rows = rowsOf(result, workload.name)
    if (rows.length === 0) return []
    const table = tableOf(workload, rows)(workload, result, rows)
    const image = workload.plot && svg(fileOf(workload))
    return [
      `### ${workload.title ?? workload.name}`,
      ...(workload.about ? [workload.about] : []),
      table,
      ...(image ? [`![${workload.name}](${image})`] : []),
    ]
  })
}

function tableOf({ byName }, [{ x }]) {
  if (byName) return transposed
  return x === undefined ? plain : grown
}

export function fileOf({ name }) {
  return name
    .toLowerCase()
    .replaceAll(/[^a-z0-9]+/g, '-')
    .replace(/^-|-$/g, '')
}

/** A row for each target, a column for each metric, and the ratios to one of the targets. */
function plain(workload, result, rows) {
  const { columns, metric: main } = workload
  const ratios = [workload.ratio ?? []].flat()
  const of = (row, metric) => value(result, workload, row, metric)
  const ratioTo = (row, { to, metric = main }) =>
    of(row, metric) /
    of(
      rows.find(({ target }) => target === to),
      metric,
    )
  return grid(
    ['', ...columns.map(({ label }) => label), ...ratios.map(({ label }) => label)],
    rows.map((row) => [
      row.kind === 'headgate' ? `**${row.target}**` : row.target,
      ...columns.map(({ metric }, n) => cell(workload, result, row, metric, n === 0)),
      ...ratios.map((ratio) => times(ratioTo(row, ratio))),
    ]),
  )
}

const last = ['everything else', 'in all']

/**
 * A row for each metric, a column for each target, for metrics that have names of their own. With `parts` a metric is
 * `name: part`, and each part has its column.
 */
function transposed({ parts }, _result, rows) {
  const columns = rows.flatMap(({ target, metrics }) =>
    (parts ?? [undefined]).map((part) => ({
      head: part === undefined ? target : `${target}, ${part}`,
      of: (name) => metrics[part === undefined ? name : `${name}: ${part}`]?.median,
    })),
  )
  const names = rows.flatMap(({ metrics }) =>
    Object.keys(metrics).map((name) => (parts ? name.replace(/: \w+$/, '') : name)),
  )
  const size = (name) => Math.max(...columns.map(({ of }) => of(name) ?? 0))
  const order = (name) => (last.includes(name) ? -1 - last.indexOf(name) : size(name))
  return grid(
    ['', ...columns.map(({ head }) => head)],
    [...new Set(names)]
      .toSorted((a, b) => order(b) - order(a))
      .map((name) => [name, ...columns.map(({ of }) => shown(of(name)))]),
  )
}

function times(ratio) {
  return Number.isFinite(ratio) ? `${shown(ratio)} x` : ''
}

/** A row for each x, a column for each target. */
function grown(workload, result, rows) {
  const targets = [...new Set(rows.map(({ target }) => target))]
  const xs = [...new Set(rows.map(({ x }) => x))].toSorted((a, b) => a - b)
  const at = (x, target) => rows.find((row) => row.x === x && row.target === target)
  return grid(
    [`${workload.x}, ${workload.columns[0].label}`, ...targets],
    xs.map((x) => [
      x.toLocaleString('en-US'),
      ...targets.map((target) => shown(value(result, workload, at(x, target), workload.metric))),
    ]),
  )
}

/** The first column also shows the least and the most of the rounds. */
function cell(workload, result, row, metric, spread) {
  const middle = shown(value(result, workload, row, metric))
  const all = row.metrics[metric]
  return spread && all && all.min !== all.max ? `${middle} (${shown(all.min)} to ${shown(all.max)})` : middle
}

function grid(head, rows) {
  const line = (cells) => `| ${cells.join(' | ')} |`
  return [line(head), line(head.map((_, n) => (n === 0 ? '---' : '---:'))), ...rows.map(line)].join('\n')
}
