/*
 * What an algorithm remembers, as something to draw: bars, each { label, value, most }, and for a log the times that it holds.
 * The meaning of each number of a state stands above the algorithm in src/algorithms.
 */

/** Where the entries of a log begin. */
const header = 5

/**
 * @param {import('headgate/store').Algorithm} algorithm
 * @param {readonly number[] | undefined} s the state
 * @param {number} at microseconds
 */
export function stateView(algorithm, s, at) {
  return views[algorithm.kind](algorithm.parameters, s ?? new Array(algorithm.slots).fill(0), at, algorithm.span)
}

const views = {
  bucket: ([burst, weight, rate], [last, level], at) => ({
    name: 'bucket',
    bars: [{ label: 'level', value: Math.max(0, level - (at - last) * rate) / weight, most: burst }],
  }),
  intervalBucket: ([rate, window, burst], [, spent, start], at) => {
    const ended = Math.floor((at - start) / window)
    return { name: 'window', bars: [{ label: 'used', value: Math.max(0, spent - ended * rate), most: burst }] }
  },
  calendarWindow: ([limit], [, used, , end], at) => ({
    name: 'window',
    bars: [{ label: 'used', value: at < end ? used : 0, most: limit }],
  }),
  slidingWindow: ([limit], [, began, inCurrent, inPrevious], at, window) => {
    const start = at - (at % window)
    const ahead = Math.round((start - began) / window)
    const [current, previous] = ahead === 0 ? [inCurrent, inPrevious] : [0, ahead === 1 ? inCurrent : 0]
    const faded = (previous * (window - (at - start))) / window
    return {
      name: 'two windows',
      bars: [
        { label: 'previous, faded', value: faded, most: limit },
        { label: 'current', value: current, most: limit },
        { label: 'estimate', value: faded + current, most: limit },
      ],
    }
  },
  segmentedWindow: ([limit, segments], [, newest, ...counters], at, window) => {
    const age = Math.floor(at / Math.ceil(window / segments)) - newest
    const bars = Array.from({ length: segments + 1 }, (_, n) => {
      const value = n >= age ? (counters[n - age] ?? 0) : 0
      return { label: n === segments ? 'leaving' : `segment ${n + 1}`, value, most: limit }
    })
    return { name: 'segments', bars }
  },
  slidingLog: ([limit], s, at, window) => {
    const [, first, end, before] = s
    const entries = Array.from({ length: end - first }, (_, n) => ({
      time: s[header + 2 * (first + n)],
      total: s[header + 2 * (first + n) + 1],
    }))
    const held = entries.filter(({ time }) => time > at - window)
    const gone = entries[entries.length - held.length - 1]?.total ?? before
    const value = held.length === 0 ? 0 : held.at(-1).total - gone
    return { name: 'log', times: held.map(({ time }) => time), bars: [{ label: 'held', value, most: limit }] }
  },
}
