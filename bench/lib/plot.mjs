import * as Plot from '@observablehq/plot'
import { parseHTML } from 'linkedom'
import { fileOf } from './markdown.mjs'
import { rowsOf, value } from './rows.mjs'
import { shown } from './statistics.mjs'

const colours = { headgate: '#1f6feb', peer: '#b35900', floor: '#8b949e' }
const style = { background: 'white', color: '#24292f', font: '12px system-ui, sans-serif' }

/** One plot for each workload with `plot`: bars, or curves if a size grows. */
export function plots(suite, result) {
  return suite.workloads.flatMap((workload) => {
    const rows = rowsOf(result, workload.name)
    if (!workload.plot || rows.length === 0) return []
    const points = rows.map((row) => ({ ...row, value: value(result, workload, row, workload.metric) }))
    const options = points[0].x === undefined ? bars(workload, points) : lines(workload, points)
    return { file: fileOf(workload), svg: draw(options) }
  })
}

function draw(options) {
  const { document } = parseHTML('<html></html>')
  const svg = Plot.plot({ document, style, ...options })
  svg.setAttribute('xmlns', 'http://www.w3.org/2000/svg')
  return `${svg.outerHTML}\n`
}

function unit({ columns, metric }) {
  return columns.find((column) => column.metric === metric)?.label ?? metric
}

function bars(workload, points) {
  return {
    width: 760,
    height: 70 + 24 * points.length,
    marginLeft: 250,
    marginRight: 60,
    marginBottom: 45,
    x: { label: `${workload.name}: ${unit(workload)}`, labelAnchor: 'center', grid: true, nice: true },
    y: { label: null, domain: points.map(({ target }) => target) },
    marks: [
      Plot.barX(points, { x: 'value', y: 'target', fill: ({ kind }) => colours[kind] }),
      Plot.text(points, { x: 'value', y: 'target', text: (row) => shown(row.value), textAnchor: 'start', dx: 4 }),
      Plot.ruleX([0]),
    ],
  }
}

function lines(workload, points) {
  const last = new Map(points.map((point) => [point.target, point]))
  return {
    width: 760,
    height: 360,
    marginRight: 230,
    marginLeft: 70,
    marginBottom: 45,
    x: {
      type: 'log',
      label: workload.x,
      labelAnchor: 'center',
      grid: true,
      tickFormat: (x) => x.toLocaleString('en-US'),
      ticks: 5,
    },
    y: { type: 'log', label: unit(workload), grid: true, tickFormat: shown, ticks: 5 },
    marks: [
      Plot.line(points, { x: 'x', y: 'value', z: 'target', stroke: ({ kind }) => colours[kind], strokeWidth: 2 }),
      Plot.dot(points, { x: 'x', y: 'value', fill: ({ kind }) => colours[kind], r: 3 }),
      Plot.text(apart([...last.values()]), { x: 'x', y: 'value', text: 'target', textAnchor: 'start', dx: 8, dy: 0 }),
    ],
  }
}

/** Moves the labels at the ends of curves apart, by at least the height of the text, on the logarithmic scale. */
function apart(points) {
  const size = Math.log(
    Math.max(...points.map((point) => point.value)) / Math.min(...points.map((point) => point.value)),
  )
  const step = Math.max(0.05, Math.max(size, 1) * 0.055)
  let below = -Infinity
  return points
    .toSorted((a, b) => a.value - b.value)
    .map((point) => {
      below = Math.max(Math.log(point.value), below + step)
      return { ...point, value: Math.exp(below) }
    })
}
