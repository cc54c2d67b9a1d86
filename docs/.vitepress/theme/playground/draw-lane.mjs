/*
 * Draws one policy's time line on a canvas. Above the line are the admitted requests, below it the refused ones, each pile as high as
 * its count. All lanes have one scale, and the limit is a line. The area behind is the units of the last window.
 */
import { pile } from './picture.mjs'
import { tickStep, timeText } from './time-text.mjs'

/** The space for the ticks, the space below the lowest pile for its number, and the space above the highest pile. */
const below = 16
const under = 14
const above = 14
/** Less than this many pixels for a request: the pile is a bar. */
const leastMark = 4

/** Where things are: pixels of a frame. */
export function placesOf({ height, scale }) {
  const middle = above + Math.round((height - above - below) * 0.64)
  return {
    middle,
    bottom: height - below,
    up: (middle - above) / scale.admitted,
    down: (height - below - under - middle) / scale.refused,
  }
}

/**
 * @param {CanvasRenderingContext2D} canvas
 * @param {import('./picture.mjs').Picture} picture
 * @param {object} frame `from`, `now` and `view` in milliseconds; `start`: the date of time 0, for a log; `count` requests have come;
 *   `scale`: the highest pile of all lanes; `width`, `height`, `colours`
 */
export function drawLane(canvas, picture, frame) {
  const places = placesOf(frame)
  canvas.clearRect(0, 0, frame.width, frame.height)
  const x = (time) => ((time - frame.from) / frame.view) * frame.width
  drawTicks(canvas, { ...frame, ...places, x })
  drawWindow(canvas, picture, { ...frame, ...places, x })
  drawPiles(canvas, picture, { ...frame, ...places, x })
  drawLimit(canvas, picture, { ...frame, ...places })
  drawNow(canvas, { ...frame, ...places, x })
}

function drawTicks(canvas, { from, view, x, width, height, start, bottom, colours }) {
  const step = tickStep((view / width) * (start === undefined ? 64 : 96))
  canvas.fillStyle = colours.quiet
  canvas.strokeStyle = colours.grid
  canvas.font = '11px system-ui, sans-serif'
  for (let time = Math.max(0, Math.ceil(from / step) * step); time < from + view; time += step) {
    canvas.beginPath()
    canvas.moveTo(x(time), 0)
    canvas.lineTo(x(time), bottom)
    canvas.stroke()
    canvas.textAlign = x(time) < 24 ? 'left' : 'center'
    canvas.fillText(timeText(time, start, step), x(time), height - 4)
  }
}

/** The units in the window that ends at each moment. */
function drawWindow(canvas, { inWindow, begin, perPixel }, { from, now, width, middle, up, x, colours }) {
  const first = Math.round((from - begin) / perPixel)
  const end = Math.min(width, Math.floor(x(now)) + 1)
  canvas.beginPath()
  canvas.moveTo(0, middle)
  for (let pixel = 0; pixel < end; pixel++) canvas.lineTo(pixel, middle - (inWindow[first + pixel] ?? 0) * up)
  canvas.lineTo(end, middle)
  canvas.fillStyle = colours.band
  canvas.fill()
}

function drawPiles(canvas, picture, { from, now, count, x, middle, up, down, width, colours }) {
  const marks = { admitted: new Path2D(), refused: new Path2D(), crosses: new Path2D() }
  const last = Math.min(picture.placeOf(now), picture.admitted.length - 1)
  for (let place = Math.max(0, picture.placeOf(from)); place <= last; place++) {
    const left = x(picture.begin + place * picture.width)
    const { admitted, refused } = picture.unitsAt(place, count)
    if (up < leastMark || picture.peaks) marks.admitted.rect(left + 1, middle - admitted * up, pile - 2, admitted * up)
    else for (let k = 0; k < admitted; k++) addDot(marks.admitted, left + pile / 2, middle - (k + 0.5) * up, up)
    if (down < leastMark) marks.refused.rect(left + 1, middle, pile - 2, refused * down)
    else for (let k = 0; k < refused; k++) addCross(marks.crosses, left + pile / 2, middle + (k + 0.5) * down)
  }
  canvas.fillStyle = colours.admitted
  canvas.fill(marks.admitted)
  canvas.fillStyle = colours.refused
  canvas.fill(marks.refused)
  canvas.strokeStyle = colours.refused
  canvas.lineWidth = 1.5
  canvas.stroke(marks.crosses)
  canvas.lineWidth = 1
  canvas.strokeStyle = colours.line
  canvas.beginPath()
  canvas.moveTo(0, middle)
  canvas.lineTo(width, middle)
  canvas.stroke()
}

function drawLimit(canvas, { recording, inWindow }, { scale, middle, bottom, up, width, colours }) {
  canvas.fillStyle = colours.quiet
  canvas.textAlign = 'left'
  canvas.fillText(String(Math.round(scale.admitted)), 2, middle - scale.admitted * up - 3)
  canvas.fillText(`${Math.round(scale.refused)} refused`, 2, bottom - 3)
  if (inWindow.length === 0) return
  const high = recording.limit > scale.admitted
  const y = high ? 2 : middle - recording.limit * up
  if (!high) drawDashes(canvas, y, { width, colours })
  const words = `limit ${recording.limit}${high ? ', far above' : ''}`
  drawOnTop(canvas, words, { x: width - 6, y: high ? 11 : y - 5, colours })
}

function drawDashes(canvas, y, { width, colours }) {
  canvas.strokeStyle = colours.text
  canvas.setLineDash([5, 4])
  canvas.beginPath()
  canvas.moveTo(0, y)
  canvas.lineTo(width, y)
  canvas.stroke()
  canvas.setLineDash([])
}

/** A text that ends at `x`, and can be read over piles: it has a card of its own. */
function drawOnTop(canvas, text, { x, y, colours }) {
  const wide = canvas.measureText(text).width
  canvas.fillStyle = colours.back
  canvas.fillRect(x - wide - 3, y - 10, wide + 6, 13)
  canvas.textAlign = 'right'
  canvas.fillStyle = colours.text
  canvas.fillText(text, x, y)
}

function drawNow(canvas, { now, x, bottom, colours }) {
  canvas.strokeStyle = colours.text
  canvas.beginPath()
  canvas.moveTo(x(now), 0)
  canvas.lineTo(x(now), bottom)
  canvas.stroke()
}

function addDot(path, x, y, space) {
  const radius = Math.min(3, space / 2)
  path.moveTo(x + radius, y)
  path.arc(x, y, radius, 0, 2 * Math.PI)
}

function addCross(path, x, y) {
  path.moveTo(x - 2.5, y - 2.5)
  path.lineTo(x + 2.5, y + 2.5)
  path.moveTo(x - 2.5, y + 2.5)
  path.lineTo(x + 2.5, y - 2.5)
}
