/*
 * The entries of a sliding log: when units were admitted, and how many. The oldest entry is the first.
 *
 * An entry is two numbers: a time, and the total units of this entry and all earlier entries. So a subtraction gives the units between
 * two entries. Entries before the first entry (`s[i + 1]`) have left the window. When entries that have left the window fill a third of
 * the array, the other entries are moved to the front. (At a half, V8 would free the memory and allocate it again.)
 *
 *     s[i]   last      s[i + 1]  index of the first entry      s[i + 2]  index after the last entry
 *                      s[i + 3]  total before the first entry  s[i + 4]  id of the reservations
 *                      s[i + 5 ...]  time, total, time, total, ...
 */
import type { Numbers } from '../algorithm.ts'
import { maxSafe, ratioUp } from '../exact-math.ts'

/** How many numbers of the state come before the entries. */
export const header = 5

export function timeOf(s: Numbers, i: number, entry: number): number {
  return s[i + header + 2 * entry] as number
}

/** The total units of `entry` and all earlier entries. */
export function totalOf(s: Numbers, i: number, entry: number): number {
  return entry < (s[i + 1] as number) ? (s[i + 3] as number) : (s[i + header + 2 * entry + 1] as number)
}

/** The first entry, from `first` on, whose total is at least `total`. The total of the newest entry must be at least `total`. */
export function firstReaching(s: Numbers, i: number, first: number, total: number): number {
  return firstAbove(s, i + header + 1, first, (s[i + 2] as number) - 1, total - 1)
}

/**
 * The first entry from `low` to `high` whose time (or total) is above `bound`; `high` if there is no such entry. The entry is usually
 * near `low`. So the search first looks at growing distances from `low`, each twice the one before, and then halves the range.
 * @param from `i + header` to compare times, `i + header + 1` to compare totals
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

/**
 * Adds `cost` units at `time`. Calls of the same microsecond share an entry. `time` may be before the newest entry only for a charge: any
 * other call waits until the times of all booked units have passed.
 */
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

/** Removes the entries before the entry `first`. */
export function dropBefore(s: Numbers, i: number, first: number): void {
  s[i + 3] = totalOf(s, i, first - 1)
  s[i + 1] = first
  const end = s[i + 2] as number
  if (first === end || (first >= 16 && first >= end / 3)) compact(s, i, first)
}

/**
 * Moves the entries that are still in the window to the front of the array, and subtracts the units of the removed entries from
 * all totals.
 */
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

/** Removes the oldest entries. Of those before the entry `end`, the newest that together have at least `units` units remain. */
export function keepNewest(s: Numbers, i: number, end: number, units: number): void {
  const spare = totalOf(s, i, end - 1) - units
  let first = s[i + 1] as number
  while (totalOf(s, i, first) <= spare) first++
  dropBefore(s, i, first)
}

/** Removes up to `cost` units from an entry, and the entry if no unit is left in it. Returns how many units were removed. */
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

/** Makes the times of all entries earlier by `by` microseconds. */
export function shift(s: Numbers, i: number, by: number): void {
  for (let n = s[i + 1] as number; n < (s[i + 2] as number); n++) s[i + header + 2 * n]! -= by
}

/**
 * Multiplies the units of all entries by `times / per`. For each entry, the sum from this entry to the newest is rounded up.
 * So at any later time, the sum of the entries that are still in the window is rounded up.
 */
export function scale(s: Numbers, i: number, times: number, per: number): void {
  compact(s, i, s[i + 1] as number)
  const newest = totalOf(s, i, (s[i + 2] as number) - 1)
  const scaled = (units: number): number => Math.min(maxSafe, ratioUp(units, times, per))
  for (let n = 0; n < (s[i + 2] as number); n++) {
    s[i + header + 2 * n + 1] = scaled(newest) - scaled(newest - totalOf(s, i, n))
  }
}
