/** The width of a pile of requests, in pixels. */
export const pile = 7
/** A longer picture has no line of the last window: nobody could see it. */
const mostPixels = 200_000

/** A recording at one scale of time: how high each pile is, and how many units the last window holds at each pixel. */
export class Picture {
  /** Units in each pile. If a pile is wider than the window, the most units of one window in it: more could not be compared to the limit. */
  admitted
  refused
  /** The first request of each pile. */
  first
  /** The most units in the last window, for each pixel; empty if each client has a limit of its own. */
  inWindow = []

  /**
   * @param {import('./recording.mjs').Recording} recording
   * @param {{ begin: number, end: number, perPixel: number, shared: boolean }} scale times in milliseconds
   */
  constructor(recording, { begin, end, perPixel, shared }) {
    this.recording = recording
    this.begin = begin
    this.perPixel = perPixel
    this.width = perPixel * pile
    this.peaks = shared && this.width > recording.window
    const piles = Math.floor((end - begin) / this.width) + 1
    this.admitted = new Float64Array(piles)
    this.refused = new Float64Array(piles)
    this.first = new Uint32Array(piles + 1).fill(recording.times.length)
    for (let n = recording.times.length - 1; n >= 0; n--) this.#add(n)
    for (let k = piles - 1; k >= 0; k--) this.first[k] = Math.min(this.first[k], this.first[k + 1])
    if (shared && (end - begin) / perPixel <= mostPixels) this.inWindow = this.#linePixels(end)
  }

  #add(n) {
    const { times, costs, allowed, inWindow } = this.recording
    const place = this.placeOf(times[n])
    this.first[place] = n
    if (!allowed[n]) this.refused[place] += costs[n]
    else if (this.peaks) this.admitted[place] = Math.max(this.admitted[place], inWindow[n])
    else this.admitted[place] += costs[n]
  }

  placeOf(time) {
    return Math.floor((time - this.begin) / this.width)
  }

  #linePixels(end) {
    const { times, costs, allowed, window, inWindow } = this.recording
    const line = new Float64Array(Math.floor((end - this.begin) / this.perPixel) + 1)
    let [first, next, units] = [0, 0, 0]
    for (let pixel = 0; pixel < line.length; pixel++) {
      const from = this.begin + pixel * this.perPixel
      for (; first < next && times[first] <= from - window; first++) if (allowed[first]) units -= costs[first]
      line[pixel] = units
      for (; next < times.length && times[next] < from + this.perPixel; next++) {
        if (!allowed[next]) continue
        units += costs[next]
        line[pixel] = Math.max(line[pixel], inWindow[next])
      }
    }
    return line
  }

  /** The highest pile or line of each half. */
  get highest() {
    const highest = (numbers) => numbers.reduce((a, b) => Math.max(a, b), 0)
    return { admitted: Math.max(highest(this.admitted), highest(this.inWindow)), refused: highest(this.refused) }
  }

  /** The units of a pile at a time, of which only the first `count` requests have come. */
  unitsAt(place, count) {
    if (count >= this.first[place + 1]) return { admitted: this.admitted[place], refused: this.refused[place] }
    const { costs, allowed, inWindow } = this.recording
    const units = { admitted: 0, refused: 0 }
    for (let n = this.first[place]; n < count; n++) {
      if (!allowed[n]) units.refused += costs[n]
      else units.admitted = this.peaks ? Math.max(units.admitted, inWindow[n]) : units.admitted + costs[n]
    }
    return units
  }

  /** The request of a pile that is `units` above (or below) the line; undefined if there is none. */
  requestAt(place, isAdmitted, units, count) {
    const { costs, allowed } = this.recording
    let [total, found] = [0, undefined]
    const end = Math.min(count, this.first[place + 1] ?? 0)
    for (let n = this.first[place] ?? end; n < end && total <= units; n++) {
      if (allowed[n] !== isAdmitted) continue
      total += costs[n]
      found = n
    }
    return found
  }
}

/** One scale for all pictures. A limit far above all that happens is left out, because nothing else could be seen. */
export function scaleOf(pictures) {
  const highest = pictures.map((picture) => picture.highest)
  const admitted = Math.max(1, ...highest.map((each) => each.admitted))
  const limits = pictures.map(({ recording }) => recording.limit).filter((limit) => limit <= 4 * admitted)
  return { admitted: Math.max(admitted, ...limits), refused: Math.max(1, ...highest.map((each) => each.refused)) }
}
