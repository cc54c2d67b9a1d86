/*
 * A log (sliding-log.ts) of a fixed size: where it has too many entries, those of one part of the window become one, at
 * the time of the newest of them.
 *
 *     |.1.2.1.|...3..1|       |       |  becomes  |.....4.|......4|       |       |
 *
 * Units leave later by up to a part and never sooner, so that it is at least as strict. The parts stand on the clock:
 * to condense a log again does not move what has been moved.
 */
import type { Numbers } from './algorithm.ts'

const header = 4
const parts = 8
/** A window touches one part more than it has, and one is for all that is booked ahead. */
const entries = parts + 2

/** How many numbers it has at most. */
export const condensedLog: number = header + 2 * entries

/** @param first the first entry that has not left */
export function condenseLog(s: Numbers, i: number, first: number, t: Numbers, j: number, span: number): void {
  const end = s[i + 2] as number
  const before = first > (s[i + 1] as number) ? (s[i + header + 2 * first - 1] as number) : (s[i + 3] as number)
  const width = end - first > entries ? Math.ceil(span / parts) : 1
  let n = -1
  let part = -1
  for (let entry = first; entry < end; entry++) {
    const time = s[i + header + 2 * entry] as number
    if (Math.floor(time / width) !== part && n < entries - 1) n++
    part = Math.floor(time / width)
    t[j + header + 2 * n] = time
    t[j + header + 2 * n + 1] = (s[i + header + 2 * entry + 1] as number) - before
  }
  t[j] = s[i] as number
  t[j + 2] = n + 1
}
