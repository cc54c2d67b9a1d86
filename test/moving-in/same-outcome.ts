import { expect, vi } from 'vitest'

/** Notes an event with the milliseconds since the example began. */
export type Log = (event: string) => void
export type Example = (log: Log) => unknown

/** A whole minute, so that windows of the clock begin with the example. */
const start = Date.UTC(2026, 0, 1)

/** Plays an example on fake timers for that many milliseconds. Returns its events as texts: "200 sent". */
export async function play(example: Example, lasting = 10_000): Promise<string[]> {
  vi.useFakeTimers({ now: start })
  const events: string[] = []
  const log = (event: string) => void events.push(`${Date.now() - start} ${event}`)
  try {
    Promise.resolve(example(log)).catch((error) => log(`failed: ${error}`))
    await vi.advanceTimersByTimeAsync(lasting)
  } finally {
    vi.useRealTimers()
  }
  return events
}

/** Expects the same events of an example on the package and on headgate. */
export async function sameOutcome(outcome: string[], theirs: Example, ours: Example, lasting?: number): Promise<void> {
  expect(await play(theirs, lasting), 'the package').toEqual(outcome)
  expect(await play(ours, lasting), 'headgate').toEqual(outcome)
}

/** The same for a package whose steps take some milliseconds: times are rounded, and events of one time are in any order. */
export async function similarOutcome(outcome: string[], theirs: Example, ours: Example): Promise<void> {
  expect((await play(theirs)).map(rounded).toSorted(), 'the package').toEqual(outcome.toSorted())
  expect((await play(ours)).map(rounded).toSorted(), 'headgate').toEqual(outcome.toSorted())
}

function rounded(event: string): string {
  return event.replace(/^\d+/, (time) => `${Math.round(Number(time) / 50) * 50}`)
}

export const sleep = (milliseconds: number): Promise<void> =>
  new Promise((resolve) => void setTimeout(resolve, milliseconds))
