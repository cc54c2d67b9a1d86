/* Draws one policy's time line on a canvas: an admitted request is a dot above the line, a refused one a cross below it. */

/**
 * @param {CanvasRenderingContext2D} canvas
 * @param {import('./run.mjs').Run} run
 * @param {{ begin: number, now: number, view: number, width: number, height: number, colours: Record<string, string> }} frame times in
 *   milliseconds; `view` is how much time is shown, from `begin` on
 */
export function drawLane(canvas, run, { begin, now, view, width, height, colours }) {
  const from = Math.max(begin, now - view)
  const x = (time) => ((time - from) / view) * width
  const middle = height / 2
  canvas.clearRect(0, 0, width, height)
  drawWindow(canvas, { left: x(now - run.window), right: x(now), height, colours })
  drawTicks(canvas, { from, view, x, width, height, colours })
  canvas.strokeStyle = colours.line
  canvas.beginPath()
  canvas.moveTo(0, middle)
  canvas.lineTo(width, middle)
  canvas.stroke()
  drawMarks(canvas, run, { from, x, middle, colours })
}

/** The last window, in which the limit counts. */
function drawWindow(canvas, { left, right, height, colours }) {
  const start = Math.max(0, left)
  canvas.fillStyle = colours.band
  canvas.fillRect(start, 0, right - start, height - 16)
}

function drawTicks(canvas, { from, view, x, width, height, colours }) {
  const step = tickStep((view / width) * 64)
  canvas.fillStyle = colours.quiet
  canvas.strokeStyle = colours.grid
  canvas.font = '11px system-ui, sans-serif'
  for (let time = Math.max(0, Math.ceil(from / step) * step); time < from + view; time += step) {
    canvas.beginPath()
    canvas.moveTo(x(time), 0)
    canvas.lineTo(x(time), height - 16)
    canvas.stroke()
    canvas.textAlign = x(time) < 16 ? 'left' : 'center'
    canvas.fillText(timeText(time), x(time), height - 4)
  }
}

/** The least step that leaves space for its text. */
function tickStep(least) {
  const steps = [100, 200, 500, 1000, 2000, 5000, 10_000, 30_000, 60_000, 300_000, 900_000, 3_600_000, 21_600_000]
  return steps.find((step) => step >= least) ?? 86_400_000
}

function timeText(time) {
  if (time < 120_000) return `${time / 1000} s`
  const minutes = Math.floor(time / 60_000)
  return minutes < 120 ? `${minutes} min` : `${Math.floor(minutes / 60)}:${String(minutes % 60).padStart(2, '0')} h`
}

/** The place of a mark, in pixels. */
const size = 7

/** Requests of the same moment stand above each other. All marks of a kind are one path, which is drawn at once. */
function drawMarks(canvas, { decisions }, { from, x, middle, colours }) {
  const shown = decisions.slice(firstFrom(decisions, from))
  const placeOf = ({ time, allowed }) => 2 * Math.round(x(time) / size) + (allowed ? 1 : 0)
  const counts = new Map()
  for (const each of shown) counts.set(placeOf(each), (counts.get(placeOf(each)) ?? 0) + 1)
  const marks = { dots: new Path2D(), crosses: new Path2D() }
  const heights = new Map()
  for (const each of shown) {
    const place = placeOf(each)
    const above = heights.get(place) ?? 0
    heights.set(place, above + 1)
    // A high pile is pressed together, so that it fits.
    const distance = 8 + above * Math.min(size, (middle - 24) / counts.get(place))
    if (each.allowed) addDot(marks.dots, x(each.time), middle - distance)
    else addCross(marks.crosses, x(each.time), middle + distance)
  }
  canvas.fillStyle = colours.admitted
  canvas.fill(marks.dots)
  canvas.strokeStyle = colours.refused
  canvas.lineWidth = 1.5
  canvas.stroke(marks.crosses)
  canvas.lineWidth = 1
}

/** The index of the first decision from a time on. */
function firstFrom(decisions, from) {
  let n = decisions.length
  while (n > 0 && decisions[n - 1].time >= from) n--
  return n
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
