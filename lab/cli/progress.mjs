import { Presets, SingleBar } from 'cli-progress'

const none = { read() {}, lines() {}, stop() {} }

/** A bar on a terminal's standard error: how much of the file is read, and the lines a second. */
export function progressBar(size) {
  if (!process.stderr.isTTY || size === undefined || size === 0) return none
  const bar = new SingleBar(
    { format: '{bar} {percentage}% | {lines} lines | {rate} lines/s | {eta_formatted} left', hideCursor: true },
    Presets.shades_classic,
  )
  const began = performance.now()
  let read = 0
  bar.start(size, 0, { lines: 0, rate: 0 })
  return {
    read: (bytes) => {
      read += bytes
    },
    lines: (lines) => bar.update(read, { lines, rate: Math.round((lines * 1000) / (performance.now() - began)) }),
    stop: () => bar.stop(),
  }
}
