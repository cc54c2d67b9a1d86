import { panels } from './panels.mjs'

const columns = 2
const size = { w: 24 / columns, h: 8 }
const datasource = { type: 'prometheus', uid: `\${datasource}` }

/** The dashboard of Grafana, with one graph for each panel. */
export function dashboard() {
  return {
    uid: 'headgate',
    title: 'headgate',
    tags: ['headgate'],
    schemaVersion: 39,
    refresh: '10s',
    time: { from: 'now-1h', to: 'now' },
    templating: { list: [{ name: 'datasource', type: 'datasource', query: 'prometheus', label: 'Prometheus' }] },
    panels: panels.map(({ title, unit, queries }, n) => ({
      id: n + 1,
      title,
      type: 'timeseries',
      datasource,
      gridPos: { ...size, x: (n % columns) * size.w, y: Math.floor(n / columns) * size.h },
      fieldConfig: { defaults: { unit, min: 0 }, overrides: [] },
      targets: Object.entries(queries).map(([legendFormat, expr], query) => ({
        refId: String.fromCharCode(65 + query),
        datasource,
        expr: expr.replaceAll('$window', '$__rate_interval'),
        legendFormat,
      })),
    })),
  }
}
