/* What an algorithm says about a state, for people. Times are microseconds; future times are counted from now. */

/** What a policy promises, as its algorithm's definition shows it. */
export interface Terms {
  readonly limit: number
  /** In milliseconds. */
  readonly window: number
  readonly burst: number
}

/** What is known about a state without asking its algorithm. */
export interface Facts {
  /** The effective time of the state. */
  readonly at: number
  readonly now: number
  readonly burst: number
  readonly used: number
  /** Until a call of one unit is admitted. */
  readonly retry: number
  /** Until more units are left than now. */
  readonly next: number
  readonly reset: number
}

/** Units at a time. */
export interface UnitsAt {
  readonly units: number
  readonly time: number
}

/** The numbers of one state, by their names. Units are units of cost, and times are milliseconds since the epoch. */
export type InspectedNumbers = Readonly<Record<string, number | readonly number[]>>

export interface Description {
  /** What is used, and when it comes back: a sentence without its full stop. */
  readonly words: string
  readonly numbers: InspectedNumbers
  /** The used units beyond the limit, which time has to pay off. Excludes booked units and units in flight. */
  readonly debt?: number
  /** When each unit in flight leaves if it is never released, the first one first. */
  readonly inFlight?: readonly UnitsAt[]
  /** The units that are booked ahead, the first one first. A run of bookings counts as one booking, at its end. */
  readonly booked?: readonly UnitsAt[]
}

/** The limit of a counter: more than any key uses. Sums of such limits are exact, and Redis clients read them unrounded. */
export const unreached: number = 2 ** 52

/** `7 of 10 units are used`. @param more the rest of the sentence, if something is used */
export function usedWords({ used, reset, burst }: Facts, more = '', how = 'used'): string {
  const counts = burst === unreached
  if (used === 0 && reset === 0) return counts ? 'Nothing is counted' : `Nothing is used of ${units(burst)}`
  if (counts) return `${units(used)} ${are(used)} counted${more}`
  return `${used} of ${units(burst)} ${are(used)} ${how}${more}`
}

export function debtWords(debt: number): string {
  return debt > 0 ? ` (a debt of ${debt})` : ''
}

/** `words` and the time until more units come back; empty if the sentence gives `retry` instead. */
export function nextWords({ retry, next }: Facts, words: string): string {
  return retry === 0 && next > 0 ? `${words} in ${timeText(next)}` : ''
}

export function are(count: number): string {
  return count === 1 ? 'is' : 'are'
}

export function units(count: number): string {
  return count === 1 ? '1 unit' : `${count} units`
}

export function toMilliseconds(time: number): number {
  return Math.floor(time / 1000)
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
