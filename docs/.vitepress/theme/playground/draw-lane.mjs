/* Draws one policy's time line on a canvas: an admitted request is a dot above the line, a refused one a cross below it. */

/**
 * @param {CanvasRenderingContext2D} canvas
 * @param {import('./run.mjs').Run} run
 * @param {{ now: number, view: number, width: number, height: number, colours: Record<string, string> }} frame times in
 *   milliseconds; `view` is how much time is shown
 */
export function drawLane(canvas, run, { now, view, width, height, colours }) {
  const from = now - view
  const x = (time) => ((time - from) / view) * width
  const middle = height / 2
  canvas.clearRect(0, 0, width, height)
  drawWindow(canvas, { left: x(now - run.window), width, height, colours })
  drawTicks(canvas, { from, now, view, x, height, colours })
  canvas.strokeStyle = colours.line
  canvas.beginPath()
  canvas.moveTo(0, middle)
  canvas.lineTo(width, middle)
  canvas.stroke()
  drawMarks(canvas, run, { from, x, middle, colours })
}

/** The last window, in which the limit counts. */
function drawWindow(canvas, { left, width, height, colours }) {
  canvas.fillStyle = colours.band
  canvas.fillRect(Math.max(0, left), 0, width, height - 16)
}

function drawTicks(canvas, { from, now, view, x, height, colours }) {
  const step = tickStep(view)
  canvas.fillStyle = colours.quiet
  canvas.strokeStyle = colours.grid
  canvas.font = '11px system-ui, sans-serif'
  canvas.textAlign = 'center'
  for (let time = Math.max(0, Math.ceil(from / step) * step); time <= now; time += step) {
    canvas.beginPath()
    canvas.moveTo(x(time), 0)
    canvas.lineTo(x(time), height - 16)
    canvas.stroke()
    canvas.fillText(timeText(time), x(time), height - 4)
  }
}

function tickStep(view) {
  const steps = [100, 200, 500, 1000, 2000, 5000, 10_000, 30_000, 60_000, 300_000, 900_000, 3_600_000, 21_600_000]
  return steps.find((step) => view / step <= 10) ?? 86_400_000
}

function timeText(time) {
  if (time < 120_000) return `${time / 1000} s`
  const minutes = Math.floor(time / 60_000)
  return minutes < 120 ? `${minutes} min` : `${Math.floor(minutes / 60)}:${String(minutes % 60).padStart(2, '0')} h`
}

/** How wide a mark is, and how many stand above each other. */
const size = 7
const most = 11

/** Requests of the same moment stand above each other. All marks of a kind are one path, which is drawn at once. */
function drawMarks(canvas, { decisions }, { from, x, middle, colours }) {
  const dots = new Path2D()
  const crosses = new Path2D()
  const heights = new Map()
  for (let n = decisions.length - 1; n >= 0 && decisions[n].time >= from; n--) {
    const { time, allowed } = decisions[n]
    const at = x(time)
    const place = 2 * Math.round(at / size) + (allowed ? 1 : 0)
    const above = heights.get(place) ?? 0
    if (above === most) continue
    heights.set(place, above + 1)
    if (allowed) addDot(dots, at, middle - 8 - above * size)
    else addCross(crosses, at, middle + 8 + above * size)
  }
  canvas.fillStyle = colours.admitted
  canvas.fill(dots)
  canvas.strokeStyle = colours.refused
  canvas.lineWidth = 1.5
  canvas.stroke(crosses)
  canvas.lineWidth = 1
}

function addDot(path, x, y) {
  path.moveTo(x + 3, y)
  path.arc(x, y, 3, 0, 2 * Math.PI)
}

function addCross(path, x, y) {
  path.moveTo(x - 2.5, y - 2.5)
  path.lineTo(x + 2.5, y + 2.5)
  path.moveTo(x - 2.5, y + 2.5)
  path.lineTo(x + 2.5, y - 2.5)
}
