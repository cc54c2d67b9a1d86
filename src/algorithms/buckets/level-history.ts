/*
 * The lowest level of a bucket since each call: the settlement of a reservation gives back at most the lowest level since its call
 * (bookings.ts). A state stores a step for each call that comes while a reservation is open (an arrival).
 *
 *     level   ____        __
 *            |    \      |  \___        a step: the time of an arrival, and the level before the arrival
 *            |     \_____|      \__
 *          call        arrival     now
 *
 * A refund is a step too, with the level after the refund. The time of this step is one microsecond after the last step, and
 * later calls at the same time get that time too. So the time in the ticket of a reservation shows whether the reservation
 * was made before the refund.
 *
 * The levels never fall from step to step: an arrival that found a lower level replaces all earlier steps with a higher one.
 * If there are too many steps, two neighbours are merged at the lower level: a call then gives back too little, never too
 * much.
 *
 * The steps are in the array `s` from the index `start` on: how many steps, then the time and the level of each step.
 */
import type { Numbers } from '../algorithm.ts'
import { ratioDown } from '../exact-math.ts'

/**
 * The most steps (stored calls) of a state. If a state gets more steps, two neighbouring steps are merged, and then some unused units are
 * not given back: under 1 per cent in a gateway with 64 open streams (docs/algorithms.md).
 */
export const maxSteps = 32

/** How the level of a bucket falls: by `rate` in each `per` microseconds. */
export interface Drain {
  readonly rate: number
  readonly per: number
  /** The highest level without debt, in ticks (small parts of a unit: see bucket.ts). */
  readonly capacity: number
}

/** The level after `elapsed` microseconds. A product beyond 2^53 is inexact, but larger than any level, so the result is 0. */
export function drained({ rate, per }: Drain, level: number, elapsed: number): number {
  return elapsed <= 0 ? level : Math.max(0, level - (elapsed / per) * rate)
}

/** The index in `s` after the last step (a stored call or refund). */
export function endOfSteps(s: Numbers | readonly number[], start: number): number {
  return start + 1 + 2 * (s[start] as number)
}

/**
 * The time of the last step (a stored call or refund). After refunds, this time may be some microseconds later than the clock. -Infinity
 * if there is no step.
 */
export function lastStep(s: Numbers, start: number): number {
  return s.length > start && (s[start] as number) > 0 ? (s[endOfSteps(s, start) - 2] as number) : -Infinity
}

/**
 * Adds a step for a call that comes while a reservation is open. Calls at the same time share one step, because the level
 * does not fall between them.
 * @param after 1 if the step has to be at least 1 us after the last step, because a refund has lowered the level since the
 *   last step; otherwise 0
 */
export function addStep(s: number[], start: number, at: number, level: number, after: number = 0): void {
  const last = lastStep(s, start)
  const time = Math.max(at, last + after)
  if (s.length === start) s.push(0)
  if (time === last && (s[endOfSteps(s, start) - 1] as number) <= level) return
  const end = endOfSteps(s, start)
  let first = end
  while (first > start + 1 && (s[first - 1] as number) >= level) first -= 2
  s.splice(first, end - first, time, level)
  const count = (first + 1 - start) / 2
  s[start] = count
  if (count > maxSteps) mergeSteps(s, start, count)
}

/**
 * Merges the two neighbouring steps whose levels have the smallest relative difference. The merged step gets the lower level
 * and the later time.
 */
function mergeSteps(s: number[], start: number, count: number): void {
  let closest = start + 1
  for (let k = start + 1; k < start + 2 * count - 1; k += 2) if (gapAfter(s, k) < gapAfter(s, closest)) closest = k
  s[closest] = s[closest + 2] as number
  s.splice(closest + 2, 2)
  s[start] = count - 1
}

function gapAfter(s: readonly number[], k: number): number {
  return 1 - (s[k + 1] as number) / (s[k + 3] as number)
}

/**
 * How many of `ticks` can still be given back for a call that came at the time `since`: at most the lowest level since that
 * time. Lowers the levels of the steps after `since` by the result. The caller has to lower the present level.
 * @param ticks small parts of a unit: see bucket.ts
 */
export function giveBackSince(s: number[], start: number, since: number, level: number, ticks: number): number {
  const end = s.length > start ? endOfSteps(s, start) : start
  let k = start + 1
  while (k < end && (s[k] as number) <= since) k += 2
  const back = Math.min(ticks, level, k < end ? (s[k + 1] as number) : level)
  for (let later = k; later < end; later += 2) s[later + 1] = (s[later + 1] as number) - back
  const lowest = k < end ? (s[k + 1] as number) : level - back
  for (let before = start + 1; before < k; before += 2) s[before + 1] = Math.min(s[before + 1] as number, lowest)
  return back
}

/** Multiplies the levels of all steps by `times / per`. The new levels are rounded down. */
export function scaleSteps(s: number[], start: number, times: number, per: number): void {
  for (let k = start + 2; k < endOfSteps(s, start); k += 2) s[k] = ratioDown(s[k] as number, times, per)
}
