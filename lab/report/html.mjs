import { readFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import { barsHtml, cellHtml, escaped } from './pictures.mjs'
import { nameOfColumn } from './text.mjs'

const require = createRequire(import.meta.url)
const uplot = (file) => readFileSync(require.resolve(`uplot/dist/${file}`), 'utf8')
const own = (file) => readFileSync(new URL(file, import.meta.url), 'utf8')

/**
 * The report as one page that needs no other file. A report ends with its summary, which a terminal then shows. A page begins with it.
 * @param {import('./text.mjs').Report} report
 */
export function htmlOf({ title, facts, sections }) {
  const charts = sections.flatMap(({ charts = [], curves = [] }) => [...charts, ...curves])
  return `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<title>${escaped(title)}</title>
<style>${uplot('uPlot.min.css')}${own('page.css')}</style>
</head>
<body>
<main>
<h1>${escaped(title)}</h1>
${facts.map((fact) => `<p class="fact">${escaped(fact)}</p>`).join('\n')}
${[sections.at(-1), ...sections.slice(0, -1)].map((section) => sectionHtml(section, charts)).join('\n')}
</main>
<script>${uplot('uPlot.iife.min.js')}</script>
<script>const charts = ${inScript(charts)}
${own('page-script.js')}</script>
</body>
</html>
`
}

function sectionHtml({ heading, notes = [], code = [], tables = [], charts = [], curves = [], bars = [] }, all) {
  return `<section>
<h2>${escaped(heading)}</h2>
${notes.map((note) => `<p>${escaped(note)}</p>`).join('\n')}
${code.length === 0 ? '' : `<pre tabindex="0"><code>${escaped(code.join('\n'))}</code></pre>`}
${charts.map((chart) => chartHtml(chart, all.indexOf(chart), heading)).join('\n')}
${bars.length > 0 ? barsHtml(bars, heading) : ''}
${tables.map((table) => tableHtml(table, heading)).join('\n')}
${curves.length > 0 ? curvesHtml(curves, all, heading) : ''}
</section>`
}

function chartHtml({ title, series }, number, heading) {
  const names = series.map(({ name }) => name).join(' and ')
  return `<div class="chart" id="chart-${number}" role="img" aria-label="${escaped(`${heading}, ${title}: ${names}`)}"></div>`
}

function curvesHtml(curves, all, heading) {
  return `<p>The share of the clients that each limit affects, and of the requests that it refuses. The dotted line is the share that you
accept. The least limit below it is marked.</p>
<div class="curves">${curves.map((curve) => chartHtml(curve, all.indexOf(curve), heading)).join('\n')}</div>`
}

/** A wide table scrolls by itself, also by the keyboard. */
function tableHtml({ columns, rows, shades, marked }, heading) {
  const side = columns.map((name) => (name.startsWith('#') ? ' class="number"' : ''))
  const head = columns.map((name, n) => `<th scope="col"${side[n]}>${escaped(nameOfColumn(name))}</th>`).join('')
  const cells = (row, k) => row.map((cell, n) => cellHtml(cell, side[n], shades?.[k][n], marked?.[k][n])).join('')
  const label = escaped(`${heading}: ${nameOfColumn(columns[0])}`)
  return `<div class="table${shades === undefined ? '' : ' grid'}" role="region" tabindex="0" aria-label="${label}"><table><thead><tr>${head}</tr></thead>
<tbody>${rows.map((row, k) => `<tr>${cells(row, k)}</tr>`).join('\n')}</tbody></table></div>${marked === undefined ? '' : shadesNote}`
}

const shadesNote =
  '<p class="fact">The stronger the colour of a cell, the more clients the limit affects. Outlined: the least limit of each window that affects few enough.</p>'

/** JSON for a script element, in which no text can end the element. */
function inScript(value) {
  return JSON.stringify(value).replaceAll('<', '\\u003c')
}
