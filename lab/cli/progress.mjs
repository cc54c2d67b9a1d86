import { Presets, SingleBar } from 'cli-progress'
import { count, duration } from '../report/format.mjs'

const none = { read() {}, lines() {}, stop() {} }
const format = '{bar} {percentage}% | {lines} lines | {rate} lines/s | {left} left'

/** A bar on a terminal's standard error: how much of the file is read, the lines a second, and the time left. */
export function progressBar(size) {
  if (!process.stderr.isTTY || size === undefined || size === 0) return none
  const bar = new SingleBar({ format, hideCursor: true }, Presets.shades_classic)
  const began = performance.now()
  let read = 0
  bar.start(size, 0, { lines: '0', rate: '0', left: '?' })
  return {
    read: (bytes) => {
      read += bytes
    },
    lines(lines) {
      const took = performance.now() - began
      const left = duration(Math.round((took * (size - read)) / read))
      bar.update(read, { lines: count(lines), rate: count(Math.round((lines * 1000) / took)), left })
    },
    stop: () => bar.stop(),
  }
}
