import { Presets, SingleBar } from 'cli-progress'
import { count, duration } from '../report/format.mjs'

const none = { read() {}, lines() {}, done() {}, stop() {} }
const signals = ['SIGINT', 'SIGTERM', 'SIGHUP']

/** A bar on a terminal's standard error: how much of the file is read, the lines a second, and the time left. */
export function progressBar(size) {
  if (!process.stderr.isTTY || size === undefined || size === 0) return none
  const bar = startBar('{bar} {percentage}% | {lines} lines | {rate} lines/s | {left} left', size, {
    lines: '0',
    rate: '0',
    left: '?',
  })
  const began = performance.now()
  let read = 0
  return {
    ...none,
    read: (bytes) => {
      read += bytes
    },
    lines(lines) {
      const took = performance.now() - began
      const left = duration(Math.round((took * (size - read)) / read))
      bar.update(read, { lines: count(lines), rate: count(Math.round((lines * 1000) / took)), left })
    },
    stop: bar.stop,
  }
}

/** A bar for work whose done part, from 0 to 1, is known. @param {string} what such as `limits are tried` */
export function workBar(what) {
  if (!process.stderr.isTTY) return none
  const bar = startBar(`{bar} {percentage}% | ${what}`, 100, {})
  return { ...none, done: (part) => bar.update(Math.floor(part * 100), {}), stop: bar.stop }
}

/** How many there are so far, where nobody knows how many there will be. @param {string} what such as `keys` */
export function countBar(what) {
  if (!process.stderr.isTTY) return none
  const bar = startBar(`{found} ${what} so far`, 1, { found: '0' })
  return { ...none, lines: (found) => bar.update(0, { found: count(found) }), stop: bar.stop }
}

/** Starts a bar that fits into 80 columns with its numbers. The bar hides the cursor, and a signal that ends the process brings it back. */
function startBar(format, total, values) {
  const bar = new SingleBar({ format, barsize: 20, hideCursor: true }, Presets.shades_classic)
  const stop = () => {
    for (const signal of signals) process.off(signal, endBy)
    bar.stop()
  }
  const endBy = (signal) => {
    stop()
    process.kill(process.pid, signal)
  }
  for (const signal of signals) process.once(signal, endBy)
  bar.start(total, 0, values)
  return { update: (done, shown) => bar.update(done, shown), stop }
}
