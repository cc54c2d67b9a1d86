import { createRequire } from 'node:module'
import { panels } from './panels.mjs'

const { homepage } = createRequire(import.meta.url)('headgate/package.json')
const columns = { stat: 4, timeseries: 2 }
const heights = { stat: 4, timeseries: 8 }
const datasource = { type: 'prometheus', uid: `\${datasource}` }

/** What the reader may choose. An empty choice is everything. */
const variables = { job: 'Job', instance: 'Instance', limiter: 'Limiter' }

/** The dashboard of Grafana: single numbers, then one graph for each other panel. */
export function dashboard() {
  return {
    uid: 'headgate',
    title: 'headgate',
    tags: ['headgate'],
    schemaVersion: 39,
    refresh: '10s',
    time: { from: 'now-1h', to: 'now' },
    templating: {
      list: [
        { name: 'datasource', type: 'datasource', query: 'prometheus', label: 'Prometheus' },
        ...Object.entries(variables).map(([name, label]) => variable(name, label)),
      ],
    },
    panels: placed(panels).map(panelOf),
  }
}

function variable(name, label) {
  return {
    name,
    label,
    type: 'query',
    datasource,
    query: { query: `label_values(headgate_decisions_total, ${name})`, refId: name },
    refresh: 2,
    multi: true,
    includeAll: true,
    allValue: '.*',
    current: { text: 'All', value: '$__all' },
  }
}

/** Places panels of one type beside each other, row by row. */
function placed(all) {
  let [x, y] = [0, 0]
  return all.map((panel, n) => {
    const { type = 'timeseries' } = panel
    const [w, h] = [24 / columns[type], heights[type]]
    const before = all[n - 1]
    if (before !== undefined && (x === 24 || (before.type ?? 'timeseries') !== type)) {
      y += heights[before.type ?? 'timeseries']
      x = 0
    }
    x += w
    return { ...panel, type, gridPos: { w, h, x: x - w, y } }
  })
}

function panelOf({ title, type, unit, description, runbook, mappings, queries, gridPos }, n) {
  return {
    id: n + 1,
    title,
    type,
    description,
    ...(runbook !== undefined && {
      links: [{ title: 'Runbook', url: `${homepage}/observability#${runbook}`, targetBlank: true }],
    }),
    datasource,
    gridPos,
    fieldConfig: {
      defaults: { unit, min: 0, ...(mappings !== undefined && { mappings: [wordsOf(mappings)] }) },
      overrides: [],
    },
    targets: Object.entries(queries).map(([legendFormat, expr], query) => ({
      refId: String.fromCharCode(65 + query),
      datasource,
      expr: expr.replaceAll('$window', '$__rate_interval'),
      legendFormat,
    })),
  }
}

/** Shows words in place of numbers. */
function wordsOf(mappings) {
  const options = Object.entries(mappings).map(([value, text]) => [value, { text, index: Number(value) }])
  return { type: 'value', options: Object.fromEntries(options) }
}
