/*
 * A copy of a sliding log (sliding-log.ts) with a limited size. If the log has too many entries, the window is divided into
 * 8 parts. The entries of each part become one entry, at the time of the newest entry of the part.
 *
 *     |.1.2.1.|...3..1|       |       |  becomes  |.....4.|......4|       |       |
 *
 * In the copy, units leave the window up to one part later than in the log, and never sooner, so the copy is at least as
 * strict. The parts begin at multiples of their length on the clock. So if the copy is copied again, its entries keep their
 * times.
 */
import type { Numbers } from '../algorithm.ts'
import { header, timeOf, totalOf } from './log-entries.ts'

const parts = 8
/**
 * The most entries of the copy: one for each of the at most `parts + 1` parts that a window overlaps, and one for all units of later times.
 */
const entries = parts + 2

/** How many numbers the state of a condensed copy of a log has at most. */
export const condensedLog: number = header + 2 * entries

/** Writes a condensed copy of the log at `s[i]` to `t[j]`. @param first the index of the first entry that is still in the window */
export function condenseLog(s: Numbers, i: number, first: number, t: Numbers, j: number, window: number): void {
  const end = s[i + 2] as number
  const before = totalOf(s, i, first - 1)
  const width = end - first > entries ? Math.ceil(window / parts) : 1
  let n = -1
  let part = -1
  for (let entry = first; entry < end; entry++) {
    const time = timeOf(s, i, entry)
    if (Math.floor(time / width) !== part && n < entries - 1) n++
    part = Math.floor(time / width)
    t[j + header + 2 * n] = time
    t[j + header + 2 * n + 1] = totalOf(s, i, entry) - before
  }
  t[j] = s[i] as number
  t[j + 2] = n + 1
  if (width === 1) t[j + 4] = s[i + 4] as number // no entry got another time, so the tickets stay valid
}
