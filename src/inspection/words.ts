/* One sentence for each state: what is used, and when it comes back. */
import type { Algorithm } from '../algorithms/algorithm.ts'
import { Bucket } from '../algorithms/bucket.ts'
import { Concurrency } from '../algorithms/concurrency.ts'
import { IntervalBucket } from '../algorithms/interval-bucket.ts'
import { Penalty } from '../algorithms/penalty.ts'
import { SegmentedWindow } from '../algorithms/segmented-window.ts'
import { SlidingLog } from '../algorithms/sliding-log.ts'
import { SlidingWindow } from '../algorithms/sliding-window.ts'
import { Smooth } from '../algorithms/smooth.ts'
import { storedAt, type UnitsAt } from './numbers.ts'

/** What a sentence is made of. Times are microseconds, and those of the future are counted from now. */
export interface Facts {
  readonly algorithm: Algorithm
  /** The state at its effective time `at`. */
  readonly s: readonly number[]
  readonly at: number
  readonly now: number
  readonly burst: number
  readonly used: number
  readonly debt: number
  readonly retry: number
  /** Until more units are left than now. */
  readonly next: number
  readonly reset: number
  readonly leases: readonly UnitsAt[] | undefined
  readonly booked: readonly UnitsAt[]
}

/** A counter reaches this limit never (see counter.ts). */
const unreached = 2 ** 52

export function wordsOf(facts: Facts): string {
  const { algorithm, booked, burst, retry } = facts
  if (burst === 0) return 'The limit is 0, so no call is admitted.'
  if (algorithm instanceof Penalty) return ofPenalty(algorithm, facts)
  const parts = [algorithm instanceof Smooth ? ofSmooth(algorithm, facts) : ofUnits(facts)]
  const ahead = booked.reduce((sum, { units }) => sum + units, 0)
  if (ahead > 0) parts.push(`${units(ahead)} of these ${are(ahead)} booked ahead`)
  if (retry === Infinity) parts.push('a call of one unit is never admitted')
  else if (retry > 0) parts.push(`a call of one unit is refused for ${timeText(retry)} more`)
  return `${parts.join('; ')}.`
}

function ofUnits(facts: Facts): string {
  const { algorithm, burst, used, debt, reset } = facts
  const counts = burst === unreached
  if (used === 0 && reset === 0) return counts ? 'Nothing is counted' : `Nothing is used of ${units(burst)}`
  if (algorithm instanceof IntervalBucket && counts) {
    return `${units(used)} ${are(used)} counted in the window that ends in ${untilEnd(algorithm, facts)}`
  }
  if (algorithm instanceof Concurrency) return ofLeases(facts)
  const owes = debt > 0 ? ` (a debt of ${debt})` : ''
  return `${used} of ${units(burst)} ${are(used)} used${owes}${returning(facts)}`
}

/** How used units come back. */
function returning(facts: Facts): string {
  const { algorithm, retry, next } = facts
  const known = retry === 0 && next > 0 // else the end of the sentence says it
  if (algorithm instanceof Bucket) {
    const each = `; one comes back every ${timeText(algorithm.weight / algorithm.rate)}`
    return known ? `${each}, the next in ${timeText(next)}` : each
  }
  if (algorithm instanceof IntervalBucket) {
    const end = untilEnd(algorithm, facts)
    if (algorithm.capacity === algorithm.rate) return ` in the window that ends in ${end}`
    return `; ${algorithm.rate} come back every ${timeText(algorithm.per)}, the next in ${end}`
  }
  if (algorithm instanceof SlidingWindow) return fading(algorithm, facts)
  if (!(algorithm instanceof SlidingLog || algorithm instanceof SegmentedWindow)) return ''
  const within = ` in the last ${timeText(algorithm.span)}`
  return known ? `${within}; the next come back in ${timeText(next)}` : within
}

function untilEnd({ per }: IntervalBucket, { s, now }: Facts): string {
  return timeText((s[2] as number) + per - now)
}

function fading({ span }: SlidingWindow, { s, now, used }: Facts): string {
  const [start, current, previous] = s.slice(1, 4) as [number, number, number]
  const left = used - current
  const before = previous === 0 ? '' : `, and ${left} ${are(left)} left of the ${previous} in the window before`
  return `: ${current} in the window that ends in ${timeText(start + span - now)}${before}`
}

function ofLeases({ burst, used, leases, now }: Facts): string {
  const [first] = leases ?? []
  const ends = first === undefined ? '' : `; the first lease ends in ${timeText(first.time - now)}`
  return `${used} of ${units(burst)} ${are(used)} in flight${ends}`
}

function ofSmooth(algorithm: Smooth, { s, at, retry, reset }: Facts): string {
  if (s[3] === 0) return 'Nothing is used'
  const stored = Number(storedAt(algorithm, s, at).toFixed(2))
  const full = reset > 0 ? `, and the store is full in ${timeText(reset)}` : ''
  const most = Number(algorithm.max.toFixed(2))
  return `${retry > 0 ? 'The last call is not paid for' : 'The next call goes at once'}; ${stored} of ${most} permits are stored${full}`
}

function ofPenalty({ after, forget, endsWithWindow }: Penalty, { s, now, used, retry, reset }: Facts): string {
  const blocks = s[3] as number
  const which = endsWithWindow ? '' : ` (block ${blocks})`
  if (retry > 0) return `Blocked for ${timeText(retry)} more, because it was refused too often${which}.`
  const remembered = (s[4] as number) + forget - now
  const before = blocks > 0 && remembered > 0 ? `; the last block is remembered for ${timeText(remembered)} more` : ''
  if (used === 0) return `No refusal is counted${before}.`
  const left = before === '' ? `, for ${timeText(reset)} more` : ''
  return `${used} of ${after} refusals that lead to a block ${are(used)} counted${left}${before}.`
}

function are(count: number): string {
  return count === 1 ? 'is' : 'are'
}

function units(count: number): string {
  return count === 1 ? '1 unit' : `${count} units`
}

const sizes = [
  ['d', 86_400_000],
  ['h', 3_600_000],
  ['m', 60_000],
  ['s', 1000],
] as const

/** A duration in microseconds as people read it, rounded up: `40 ms`, `1.5 s`, `2 h 5 m`. */
export function timeText(microseconds: number): string {
  if (microseconds === Infinity) return 'ever'
  if (microseconds < 1000) return `${Number(microseconds.toPrecision(3))} us`
  const time = Math.ceil(microseconds / 1000)
  if (time < 1000) return `${time} ms`
  if (time < 60_000) return `${Math.ceil(time / 100) / 10} s`
  const n = sizes.findIndex(([, size]) => time >= size)
  const [unit, size] = sizes[n] as (typeof sizes)[number]
  const [smaller, part] = sizes[n + 1] as (typeof sizes)[number]
  const parts = Math.ceil(time / part)
  const [whole, rest] = [Math.floor((parts * part) / size), ((parts * part) % size) / part]
  return rest === 0 ? `${whole} ${unit}` : `${whole} ${unit} ${rest} ${smaller}`
}
