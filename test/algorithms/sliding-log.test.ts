import { expect, test } from 'vitest'
import { Report } from '../../src/algorithms/algorithm.ts'
import { slidingLog } from '../../src/index.ts'

const ms = 1000
const window = 1000 * ms
const calls = 70

/** A log that holds a call of cost 1 at every millisecond from 1 to `calls`, and is full. */
function fullLog() {
  const { algorithm } = slidingLog({ limit: calls, window: window / ms })
  const s: number[] = new Array(algorithm.slots).fill(0)
  for (let call = 1; call <= calls; call++) algorithm.take(s, 0, call * ms, 1, 0)
  return { algorithm, s }
}

test('an entry aged exactly a window has left, however many leave at once, and the next one has not', () => {
  const { algorithm, s } = fullLog()
  const report = new Report()
  for (let left = 1; left <= calls; left++) {
    algorithm.report(s, 0, left * ms + window, report)
    expect(report.remaining).toBe(left)
    algorithm.report(s, 0, left * ms + window - 1, report)
    expect(report.remaining).toBe(left - 1)
  }
})

test('a cost waits until as many units have left, however many, also if some have left already', () => {
  const { algorithm, s } = fullLog()
  for (const gone of [0, 1, 7, 40]) {
    const now = gone * ms + window
    for (let cost = gone + 1; cost <= calls; cost++) {
      expect(algorithm.wait(s, 0, now, cost)).toBe((cost - gone) * ms)
    }
    expect(algorithm.wait(s, 0, now, gone)).toBe(0)
  }
})

test('if one entry leaves with each call, the array stays below one and a half times the limit', () => {
  const { algorithm } = slidingLog({ limit: calls, window: calls })
  const s: number[] = new Array(algorithm.slots).fill(0)
  let longest = 0
  for (let call = 1; call <= 10 * calls; call++) {
    algorithm.take(s, 0, call * ms, 1, 0)
    longest = Math.max(longest, s.length)
  }
  expect(longest).toBe(algorithm.slots + 2 * (1.5 * calls - 1))
})
