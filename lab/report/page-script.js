/* Runs in the page, after uPlot and the list of `charts`. */
const dark = matchMedia('(prefers-color-scheme: dark)')
let drawn = []

function draw() {
  for (const chart of drawn) chart.destroy()
  drawn = charts.map(drawOne)
}

function drawOne({ title, times, relative, series }, number) {
  const place = document.getElementById(`chart-${number}`)
  const style = getComputedStyle(document.documentElement)
  const colours = [style.getPropertyValue('--first'), style.getPropertyValue('--second')]
  const axis = {
    stroke: style.getPropertyValue('--quiet'),
    grid: { stroke: style.getPropertyValue('--line'), width: 1 },
  }
  const seconds = times.map((time) => time / 1000)
  const options = {
    title,
    width: place.clientWidth,
    height: 260,
    scales: { x: { time: !relative } },
    tzDate: utc,
    axes: [relative ? axis : { ...axis, space: 100, values: (_plot, times) => times.map(dayAndTime) }, axis],
    series: [
      relative
        ? { label: 'second' }
        : { label: 'UTC', value: (_plot, time) => (time === null ? '--' : dayAndTime(time)) },
      // The second line is dashed as well, for those who see no colours.
      ...series.map(({ name }, n) => ({
        label: name,
        stroke: colours[n],
        width: 2,
        points: { show: false },
        ...(n === 1 ? { dash: [6, 3] } : {}),
      })),
    ],
  }
  return new uPlot(options, [seconds, ...series.map(({ values }) => values)], place)
}

/** Split the axis at whole hours of UTC. */
function utc(time) {
  return uPlot.tzDate(new Date(time * 1000), 'UTC')
}

/** Such as `05-17 12:00`. */
function dayAndTime(time) {
  return new Date(time * 1000).toISOString().slice(5, 16).replace('T', ' ')
}

draw()
dark.addEventListener('change', draw)
addEventListener('resize', () => {
  for (const [n, chart] of drawn.entries()) {
    chart.setSize({ width: document.getElementById(`chart-${n}`).clientWidth, height: 260 })
  }
})
