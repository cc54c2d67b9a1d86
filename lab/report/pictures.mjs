/* Pictures that are made of elements: they keep the size of their text on a phone, and need no script. */
import { count } from './format.mjs'

/** A cell of a table, shaded from 0 to 1. Small shares must differ too, so the shade is their cube root. */
export function cellHtml(text, side, shade, marked) {
  const style = shade === undefined ? '' : ` style="--shade:${Math.round(45 * Math.cbrt(shade))}%"`
  const shaded = shade === undefined ? side : ' class="number shaded"'
  return `<td${marked ? ' class="number shaded least"' : shaded}${style}>${escaped(text)}</td>`
}

/** A bar for each window, on one logarithmic axis. Each part of a bar goes from one quantile to the next. */
export function barsHtml(bars, heading) {
  const names = Object.keys(bars[0].quantiles)
  const most = Math.max(10, ...bars.map(({ quantiles }) => quantiles.max))
  const place = (value) => (Math.log10(Math.max(1, value)) + 0.2) / (Math.log10(most) + 0.2)
  const ticks = Array.from({ length: Math.floor(Math.log10(most)) + 1 }, (_, power) => 10 ** power)
  const axis = ticks.map((value) => `<span style="left:${percent(place(value))}">${count(value)}</span>`).join('')
  const key = names.map((name, n) => `<span><i class="part-${n}"></i>to ${name}</span>`).join(' ')
  const label = escaped(`${heading}, as bars. The table below has the numbers.`)
  return `<div class="bars" role="img" aria-label="${label}">
<p class="key">${key}</p>
${bars.map((bar) => barHtml(bar, place)).join('\n')}
<div class="bar axis"><span></span><span class="track">${axis}</span></div>
</div>`
}

function barHtml({ label, quantiles }, place) {
  const ends = Object.values(quantiles).map(place)
  const parts = ends.map((end, n) => {
    const start = n === 0 ? 0 : ends[n - 1]
    return `<i class="part-${n}" style="left:${percent(start)};width:${percent(end - start)}"></i>`
  })
  return `<div class="bar"><span>${escaped(label)}</span><span class="track">${parts.join('')}</span></div>`
}

function percent(share) {
  return `${Number((share * 100).toFixed(2))}%`
}

export function escaped(text) {
  return text.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('>', '&gt;').replaceAll('"', '&quot;')
}
