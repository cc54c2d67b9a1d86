import { Presets, SingleBar } from 'cli-progress'
import { count, duration } from '../report/format.mjs'

const none = { read() {}, lines() {}, stop() {} }
const format = '{bar} {percentage}% | {lines} lines | {rate} lines/s | {left} left'
const signals = ['SIGINT', 'SIGTERM', 'SIGHUP']

/**
 * A bar on a terminal's standard error: how much of the file is read, the lines a second, and the time left. It hides the cursor, and a
 * signal that ends the process brings it back.
 */
export function progressBar(size) {
  if (!process.stderr.isTTY || size === undefined || size === 0) return none
  const bar = new SingleBar({ format, hideCursor: true }, Presets.shades_classic)
  const began = performance.now()
  let read = 0
  const stop = () => {
    for (const signal of signals) process.off(signal, endBy)
    bar.stop()
  }
  const endBy = (signal) => {
    stop()
    process.kill(process.pid, signal)
  }
  for (const signal of signals) process.once(signal, endBy)
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
    stop,
  }
}
