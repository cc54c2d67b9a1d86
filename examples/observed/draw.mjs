/* Panels as SVG, drawn from what Prometheus answered in the test. They follow the reader's light or dark theme. */

const width = 480
const height = 200
const legendRow = 16
const margin = { top: 28, right: 12, bottom: 44, left: 48 }
const colours = ['#1f77b4', '#d9480f', '#2b8a3e', '#9c36b5', '#c2255c', '#0c8599', '#866118']

/** A short file name for a panel. */
export function nameOf(title) {
  return title
    .toLowerCase()
    .replaceAll(/\(.*\)/g, '')
    .trim()
    .replaceAll(/[^a-z]+/g, '-')
}

export function draw({ title, unit, series }) {
  const points = series.flatMap((each) => each.points)
  const end = Math.max(...points.map(([time]) => time))
  const most = niceAbove(Math.max(...points.map(([, value]) => value)))
  const x = (time) => round(margin.left + (time / end) * (width - margin.left - margin.right))
  const y = (value) => round(height - margin.bottom - (value / most) * (height - margin.top - margin.bottom))
  const lines = series.map(({ points: own }, n) => {
    const path = own.map(([time, value]) => `${x(time)},${y(value)}`).join(' ')
    return `<polyline points="${path}" stroke="${colours[n % colours.length]}"/>`
  })
  const grid = [0, most / 2, most].map((value) => {
    const label = `<text x="${margin.left - 6}" y="${y(value) + 4}" text-anchor="end">${scaled(value, unit)}</text>`
    return `<path class="grid" d="M${margin.left} ${y(value)}H${width - margin.right}"/>${label}`
  })
  const perRow = series.length > 4 ? 3 : 4
  const step = (width - margin.left) / perRow
  const bottom = height + legendRow * Math.max(0, Math.ceil(series.length / perRow) - 1)
  const legend = series.map(({ name }, n) => {
    const at = margin.left + (n % perRow) * step
    const line = height - 6 + legendRow * Math.floor(n / perRow)
    const dot = `<circle cx="${round(at)}" cy="${line - 4}" r="4" fill="${colours[n % colours.length]}"/>`
    return `${dot}<text x="${round(at + 8)}" y="${line}">${name}</text>`
  })
  const times = [0, end].map((time) => `<text x="${x(time)}" y="${height - 28}" text-anchor="middle">${time} s</text>`)
  const style =
    'text{font:11px sans-serif;fill:#333}.title{font-weight:bold;font-size:13px}polyline{fill:none;stroke-width:1.5}' +
    '.grid{stroke:#8884}@media(prefers-color-scheme:dark){text{fill:#ddd}polyline,circle{filter:brightness(1.5)}}'
  return [
    `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${width} ${bottom}" role="img" aria-label="${title}">`,
    `<style>${style}</style><text class="title" x="12" y="18">${title}</text>`,
    ...[...grid, ...times, ...lines, ...legend],
    '</svg>\n',
  ].join('\n')
}

function round(value) {
  return Math.round(10 * value) / 10
}

/** The next of 1, 2 and 5 times a power of ten. */
function niceAbove(value) {
  const power = 10 ** Math.floor(Math.log10(value || 1))
  return [1, 2, 5, 10].map((factor) => factor * power).find((each) => each >= value)
}

function scaled(value, unit) {
  if (unit === 's' && value > 0) return `${Number((1000 * value).toPrecision(2))} ms`
  if (unit === 'percentunit') return `${Math.round(100 * value)} %`
  return `${Number(value.toPrecision(2))}${unit === 'reqps' ? '/s' : ''}`
}
