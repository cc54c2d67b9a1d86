/*
 * A sliding log (sliding-log.ts) of a fixed size. If it has too many entries, the entries of one part of the window become
 * a single entry, at the time of the newest of them.
 *
 *     |.1.2.1.|...3..1|       |       |  becomes  |.....4.|......4|       |       |
 *
 * Units leave up to one part later and never sooner, so the log is at least as strict. The parts are aligned to the
 * clock, so condensing a log again moves no entry twice.
 */
import type { Numbers } from '../algorithm.ts'
import { header, timeOf, totalOf } from './log-entries.ts'

const parts = 8
/** The parts that a window touches, one more than it has, and an entry for everything that is booked ahead. */
const entries = parts + 2

/** The most numbers of a condensed log. */
export const condensedLog: number = header + 2 * entries

/** @param first the first entry that has not left the window */
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
  if (width === 1) t[j + 4] = s[i + 4] as number // no entry was moved, so tickets still find their entries
}
