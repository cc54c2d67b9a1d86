import { fork } from 'node:child_process'
import { once } from 'node:events'
import { expect } from 'vitest'

const worker = new URL('../support/pacer-worker.mjs', import.meta.url)
const processes = 8
const limit = 50
/** A second, and a margin for calls that start later than their slots: see docs/pacing.md. */
const window = 1250

/** What a process reports, in milliseconds of one clock for all processes, in order. */
interface Result {
  /** When its calls started. */
  starts: number[]
  /** The earliest times that their slots can have. */
  slots: number[]
}

async function startFleet(port: number, calls: number): Promise<Result[]> {
  const task = JSON.stringify({ port, limit, window, calls })
  const children = Array.from({ length: processes }, () => fork(worker, [task]))
  await Promise.all(children.map((child) => once(child, 'message')))
  const results = children.map((child) => once(child, 'message'))
  for (const child of children) child.send('go')
  return (await Promise.all(results)).map(([result]) => result as Result)
}

/** The most of these times in any half-open span of that length. */
function mostIn(span: number, times: readonly number[]): number {
  let most = 0
  for (let first = 0, last = 0; last < times.length; last++) {
    while ((times[last] as number) - (times[first] as number) >= span) first++
    most = Math.max(most, last - first + 1)
  }
  return most
}

/**
 * Lets 8 processes make calls through one pace of 50 a second, and expects that the pace holds in any second.
 *
 * The store promises slots: never more than 50 in any 1250 ms. A call starts at its slot or later, by up to `late`, which
 * depends on the machine. So 51 starts in a span s have their slots in a span of s + late, and s + late >= 1250. That is a
 * second if nothing is later than 250 ms. On a slower machine, the shorter spans are checked.
 */
export async function expectOnePace(port: number, calls: number): Promise<void> {
  const results = await startFleet(port, calls)
  expect(results.map(({ starts }) => starts.length)).toEqual(Array(processes).fill(calls))
  // The slots of a process are used in order.
  const delays = results.flatMap(({ starts, slots }) => starts.map((start, n) => start - (slots[n] as number)))
  const late = Math.max(...delays)
  expect(Math.min(...delays)).toBeGreaterThan(-1)
  expect(late).toBeLessThan(window / 2)
  const all = results.flatMap(({ starts }) => starts).sort((a, b) => a - b)
  expect(mostIn(Math.min(1000, window - late), all)).toBe(limit)
  // 50 calls start at once and 50 more after each window. No call waits longer than that.
  const windows = Math.ceil((processes * calls) / limit) - 1
  const took = (all.at(-1) as number) - (all[0] as number)
  expect(took).toBeGreaterThanOrEqual(windows * window - late)
  expect(took).toBeLessThan(windows * window + late + 50)
}
