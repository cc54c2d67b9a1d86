/* Runs in the page, after uPlot and the list of `charts`. */
const dark = matchMedia('(prefers-color-scheme: dark)')
let drawn = []

function draw() {
  for (const chart of drawn) chart.destroy()
  drawn = charts.map(drawOne)
}

function drawOne(chart, number) {
  return chart.limits === undefined ? drawTimes(chart, number) : drawCurve(chart, number)
}

function drawTimes({ title, times, relative, ...chart }, number) {
  const bars = barsOf(chart)
  const place = document.getElementById(`chart-${number}`)
  const style = getComputedStyle(document.documentElement)
  const colours = [style.getPropertyValue('--first'), style.getPropertyValue('--second')]
  const axis = {
    stroke: style.getPropertyValue('--quiet'),
    grid: { stroke: style.getPropertyValue('--line'), width: 1 },
  }
  const seconds = times.map((time) => time / 1000)
  const half = seconds.length < 2 ? 0.5 : (seconds[1] - seconds[0]) / 2 // so that the first and the last bar are whole
  const options = {
    title,
    width: place.clientWidth,
    height: 260,
    scales: {
      x: { time: !relative, range: (_plot, from, to) => [from - half, to + half] },
      y: { range: () => [0, highestOfTimes * 1.05] },
    },
    tzDate: utc,
    legend: { live: false },
    axes: [
      relative
        ? { ...axis, values: (_plot, times) => times.map((time) => `${time} s`) }
        : { ...axis, space: 100, values: (_plot, times) => times.map(dayAndTime) },
      axis,
    ],
    series: [
      { label: relative ? 'second' : 'UTC' },
      ...bars.map(({ name, colour }) => barOptions(name, colours[colour])),
    ],
  }
  return new uPlot(options, [seconds, ...bars.map(({ values }) => values)], place)
}

/** What is drawn, from back to front: if the chart is stacked, the first series stands below the second one. */
function barsOf({ stacked, series }) {
  const bars = series.map((each, colour) => ({ ...each, colour }))
  if (!stacked) return bars
  const [below, above] = bars
  return [{ ...above, values: above.values.map((value, n) => value + below.values[n]) }, below]
}

function barOptions(label, fill) {
  return { label, stroke: fill, fill, width: 0, paths: uPlot.paths.bars({ size: [0.9] }), points: { show: false } }
}

/** The largest value of all charts over time: these charts have one scale, so that they can be compared. */
const overTime = charts.filter(({ times }) => times !== undefined)
const highestOfTimes = Math.max(1, ...overTime.flatMap((chart) => barsOf(chart).flatMap(({ values }) => values)))

/** The options of a line. The second line is also dashed, for readers who see no colours. */
function lineOf({ name }, stroke, n) {
  return { label: name, stroke, width: 2, points: { show: false }, ...(n === 1 ? { dash: [6, 3] } : {}) }
}

/** Draws shares over the limit. Both axes are logarithmic; the axis of the shares is linear near 0. */
function drawCurve({ title, limits, series, level, marked }, number) {
  const place = document.getElementById(`chart-${number}`)
  const style = getComputedStyle(document.documentElement)
  const [quiet, line, text] = ['--quiet', '--line', '--text'].map((name) => style.getPropertyValue(name))
  const colours = [style.getPropertyValue('--first'), style.getPropertyValue('--second')]
  const axis = { stroke: quiet, grid: { stroke: line, width: 1 } }
  const share = (value) => `${Number(value.toPrecision(3))} %`
  const highest = Math.max(...series.flatMap(({ values }) => values), level * 2, 0.1)
  const options = {
    title,
    width: place.clientWidth,
    height: 240,
    legend: { live: false },
    scales: {
      x: { time: false, distr: 3, range: () => [1, Math.max(10, limits.at(-1))] },
      y: { distr: 4, asinh: Math.max(level, 0.01), range: () => [0, highest] },
    },
    axes: [
      axis,
      {
        ...axis,
        size: 64,
        values: (_plot, values) => values.map((each) => (each === null || each < 0 ? '' : share(each))),
      },
    ],
    series: [{ label: 'limit' }, ...series.map((each, n) => lineOf(each, colours[n], n))],
    hooks: { draw: [(plot) => drawLevel(plot, { level, marked, quiet, text })] },
  }
  return new uPlot(options, [limits, ...series.map(({ values }) => values)], place)
}

/** Draws the level that the reader accepts, and the least limit whose share stays below this level. */
function drawLevel(plot, { level, marked, quiet, text }) {
  const { ctx, bbox } = plot
  const [x, y] = [plot.valToPos(marked, 'x', true), plot.valToPos(level, 'y', true)]
  ctx.save()
  ctx.lineWidth = devicePixelRatio
  ctx.setLineDash([2 * devicePixelRatio, 4 * devicePixelRatio])
  ctx.strokeStyle = quiet
  ctx.beginPath()
  ctx.moveTo(bbox.left, y)
  ctx.lineTo(bbox.left + bbox.width, y)
  ctx.stroke()
  ctx.setLineDash([])
  ctx.strokeStyle = text
  ctx.beginPath()
  ctx.moveTo(x, bbox.top)
  ctx.lineTo(x, bbox.top + bbox.height)
  ctx.stroke()
  ctx.fillStyle = text
  ctx.font = `bold ${13 * devicePixelRatio}px system-ui, sans-serif`
  const right = x > bbox.left + bbox.width * 0.7
  ctx.textAlign = right ? 'right' : 'left'
  ctx.fillText(`limit ${marked}`, x + (right ? -6 : 6) * devicePixelRatio, bbox.top + 16 * devicePixelRatio)
  ctx.restore()
}

/** The time as uPlot needs it to split the axis at whole hours of UTC. */
function utc(time) {
  return uPlot.tzDate(new Date(time * 1000), 'UTC')
}

/** A time such as `05-17 12:00`. */
function dayAndTime(time) {
  return new Date(time * 1000).toISOString().slice(5, 16).replace('T', ' ')
}

draw()
dark.addEventListener('change', draw)
addEventListener('resize', () => {
  for (const [n, chart] of drawn.entries()) {
    chart.setSize({ width: document.getElementById(`chart-${n}`).clientWidth, height: chart.height })
  }
})
