/*
 * The numbers of each algorithm, as its essay names them. A state is given at its effective time `at`, in microseconds, so
 * nothing here has to drain or fade. Units are units of cost, and times are milliseconds since the epoch.
 */
import type { Algorithm } from '../algorithms/algorithm.ts'
import { Bucket } from '../algorithms/bucket.ts'
import { Concurrency } from '../algorithms/concurrency.ts'
import { IntervalBucket } from '../algorithms/interval-bucket.ts'
import { timeOf, totalOf } from '../algorithms/log-entries.ts'
import { Penalty } from '../algorithms/penalty.ts'
import { SegmentedWindow } from '../algorithms/segmented-window.ts'
import { SlidingLog } from '../algorithms/sliding-log.ts'
import { SlidingWindow } from '../algorithms/sliding-window.ts'
import { Smooth } from '../algorithms/smooth.ts'
import { endOfSteps } from '../algorithms/steps.ts'

/** The numbers of one state, by their names. */
export type InspectedNumbers = Readonly<Record<string, number | readonly number[]>>

/** Units at a time, in microseconds. */
export interface UnitsAt {
  readonly units: number
  readonly time: number
}

export function numbersOf(algorithm: Algorithm, s: readonly number[], at: number): InspectedNumbers {
  const [last, one, two, three] = s as readonly [number, number, number, number]
  const ms = (time: number) => Math.floor(time / 1000)
  if (algorithm instanceof Bucket) return { level: one / algorithm.weight, capacity: algorithm.burst }
  if (algorithm instanceof IntervalBucket)
    return { spent: one, capacity: algorithm.capacity, windowStart: ms(two), windowEnd: ms(two + algorithm.per) }
  if (algorithm instanceof SlidingWindow)
    return { windowStart: ms(one), windowEnd: ms(one + algorithm.span), current: two, previous: three }
  if (algorithm instanceof SegmentedWindow)
    return { segment: algorithm.width / 1000, counts: s.slice(2, 3 + algorithm.segments) }
  if (algorithm instanceof SlidingLog) {
    const entries = entriesOf(s)
    const [oldest, newest] = [entries[0]?.time, entries.at(-1)?.time]
    return { entries: entries.length, ...(oldest && newest && { oldest: ms(oldest), newest: ms(newest) }) }
  }
  if (algorithm instanceof Penalty)
    return { refusals: two, countStart: ms(one), blocks: three, blockedUntil: ms(s[4] ?? 0) }
  if (algorithm instanceof Smooth) return { freeAt: ms(one), stored: storedAt(algorithm, s, at), max: algorithm.max }
  return { last: ms(last) }
}

/** The permits that are stored. A new key's are those that the limiter starts with, which its state does not say. */
export function storedAt({ max, coolDown }: Smooth, s: readonly number[], at: number): number {
  const [free, stored] = [s[1] as number, s[2] as number]
  return at > free ? Math.min(max, stored + (at - free) / coolDown) : stored
}

/** The entries of a log, the oldest first. */
function entriesOf(log: readonly number[]): readonly UnitsAt[] {
  const s = log as number[]
  const entries: UnitsAt[] = []
  for (let n = s[1] as number; n < (s[2] as number); n++) {
    entries.push({ time: timeOf(s, 0, n), units: totalOf(s, 0, n) - totalOf(s, 0, n - 1) })
  }
  return entries
}

/** When each unit in flight leaves if it is never released, the first one first. */
export function leasesOf(algorithm: Algorithm, s: readonly number[]): readonly UnitsAt[] | undefined {
  if (!(algorithm instanceof Concurrency)) return undefined
  return entriesOf(s).map(({ time, units }) => ({ time: time + algorithm.span, units }))
}

/** The units that are booked ahead, the first one first. A run of bookings counts as one, at its end. */
export function bookedOf(algorithm: Algorithm, s: readonly number[], at: number): readonly UnitsAt[] {
  if (algorithm instanceof Concurrency) return []
  if (algorithm instanceof SlidingLog) return entriesOf(s).filter(({ time }) => time > at)
  if (!(algorithm instanceof Bucket || algorithm instanceof IntervalBucket) || s.length <= algorithm.slots) return []
  const booked: UnitsAt[] = []
  for (let k = endOfSteps(s, algorithm.slots); k < s.length; k += 3) {
    booked.push({ time: s[k + 1] as number, units: Math.ceil((s[k + 2] as number) / algorithm.weight) })
  }
  return booked
}
