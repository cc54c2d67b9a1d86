/*
 * The entries of a sliding log: the times at which units were admitted, the oldest first.
 *
 * An entry is two numbers: its time, and the total of all units up to and including its own. So a subtraction gives the
 * units between two entries. Entries before the first index have left. They are removed when a third of the array is empty (at
 * half, V8 would give the memory back, and allocate and clear as much again).
 *
 *     s[i]   last      s[i + 1]  index of the first entry      s[i + 2]  one past the last entry
 *                      s[i + 3]  total before the first entry  s[i + 4]  id of the reservations
 *                      s[i + 5 ...]  time, total, time, total, ...
 */
import type { Numbers } from '../algorithm.ts'
import { maxSafe, ratioUp } from '../exact-math.ts'

/** How many numbers stand before the entries. */
export const header = 5

export function timeOf(s: Numbers, i: number, entry: number): number {
  return s[i + header + 2 * entry] as number
}

/** The running total up to and including `entry`. */
export function totalOf(s: Numbers, i: number, entry: number): number {
  return entry < (s[i + 1] as number) ? (s[i + 3] as number) : (s[i + header + 2 * entry + 1] as number)
}

/** The first entry, from `first` on, whose total reaches `total`. The newest entry must reach it. */
export function firstReaching(s: Numbers, i: number, first: number, total: number): number {
  return firstAbove(s, i + header + 1, first, (s[i + 2] as number) - 1, total - 1)
}

/**
 * The first entry from `low` to `high` whose time or total is above `bound`; `high` if there is none. It is mostly near
 * `low`, so the search doubles its steps from `low`, and then halves them.
 * @param from the index of the first time, or of the first total: `i + header` or `i + header + 1`
 */
export function firstAbove(s: Numbers, from: number, low: number, high: number, bound: number): number {
  let step = 1
  for (; low + step <= high && (s[from + 2 * (low + step - 1)] as number) <= bound; step *= 2) low += step
  high = Math.min(high, low + step - 1)
  while (low < high) {
    const middle = (low + high) >>> 1
    if ((s[from + 2 * middle] as number) > bound) high = middle
    else low = middle + 1
  }
  return low
}

/** Adds units at a time. Calls of the same microsecond share an entry. Only a charge may come before entries booked ahead. */
export function append(s: Numbers, i: number, time: number, cost: number): void {
  if (totalOf(s, i, (s[i + 2] as number) - 1) + cost > maxSafe) compact(s, i, s[i + 1] as number)
  const end = s[i + 2] as number
  const total = totalOf(s, i, end - 1) + cost
  const newest = end > (s[i + 1] as number) ? timeOf(s, i, end - 1) : -1
  if (newest > time) {
    insert(s, i, time, cost)
  } else if (newest === time) {
    s[i + header + 2 * end - 1] = total
  } else {
    s[i + header + 2 * end] = time
    s[i + header + 2 * end + 1] = total
    s[i + 2] = end + 1
  }
}

function insert(s: Numbers, i: number, time: number, cost: number): void {
  const end = s[i + 2] as number
  const entry = firstAbove(s, i + header, s[i + 1] as number, end, time - 1)
  if (timeOf(s, i, entry) !== time) {
    const before = totalOf(s, i, entry - 1)
    s[i + header + 2 * end + 1] = s[i + header + 2 * end - 1] as number
    s[i + header + 2 * end] = timeOf(s, i, end - 1)
    s.copyWithin(i + header + 2 * (entry + 1), i + header + 2 * entry, i + header + 2 * end)
    s[i + header + 2 * entry] = time
    s[i + header + 2 * entry + 1] = before
    s[i + 2] = end + 1
  }
  for (let n = entry; n < (s[i + 2] as number); n++) s[i + header + 2 * n + 1]! += cost
}

/** Removes the entries before `first`. */
export function dropBefore(s: Numbers, i: number, first: number): void {
  s[i + 3] = totalOf(s, i, first - 1)
  s[i + 1] = first
  const end = s[i + 2] as number
  if (first === end || (first >= 16 && first >= end / 3)) compact(s, i, first)
}

/** Moves the entries to the front of the array, and starts the totals from 0 again. */
function compact(s: Numbers, i: number, first: number): void {
  const end = s[i + 2] as number
  const before = s[i + 3] as number
  for (let n = first; n < end; n++) {
    s[i + header + 2 * (n - first)] = timeOf(s, i, n)
    s[i + header + 2 * (n - first) + 1] = (s[i + header + 2 * n + 1] as number) - before
  }
  s[i + 1] = 0
  s[i + 2] = end - first
  s[i + 3] = 0
  if (Array.isArray(s)) s.length = i + header + 2 * (end - first)
}

/** Keeps only the entries that hold the newest `units`. */
export function keepNewest(s: Numbers, i: number, units: number): void {
  const spare = totalOf(s, i, (s[i + 2] as number) - 1) - units
  let first = s[i + 1] as number
  while (totalOf(s, i, first) <= spare) first++
  dropBefore(s, i, first)
}

/** Takes up to `cost` units out of an entry, and removes an entry that is then empty. Returns how many units it took. */
export function removeUnits(s: Numbers, i: number, entry: number, cost: number): number {
  const end = s[i + 2] as number
  const back = Math.min(cost, totalOf(s, i, entry) - totalOf(s, i, entry - 1))
  for (let n = entry; n < end; n++) s[i + header + 2 * n + 1]! -= back
  if (totalOf(s, i, entry) === totalOf(s, i, entry - 1)) {
    s.copyWithin(i + header + 2 * entry, i + header + 2 * (entry + 1), i + header + 2 * end)
    s[i + 2] = end - 1
  }
  return back
}

/** Moves all entries back in time, by `by` microseconds. */
export function shift(s: Numbers, i: number, by: number): void {
  for (let n = s[i + 1] as number; n < (s[i + 2] as number); n++) s[i + header + 2 * n]! -= by
}

/**
 * Multiplies the units of all entries by `times / per`. The units from each entry on are rounded up together, so what is left
 * in the window is rounded up at any time, whatever has left it.
 */
export function scale(s: Numbers, i: number, times: number, per: number): void {
  compact(s, i, s[i + 1] as number)
  const newest = totalOf(s, i, (s[i + 2] as number) - 1)
  const scaled = (units: number): number => Math.min(maxSafe, ratioUp(units, times, per))
  for (let n = 0; n < (s[i + 2] as number); n++) {
    s[i + header + 2 * n + 1] = scaled(newest) - scaled(newest - totalOf(s, i, n))
  }
}
