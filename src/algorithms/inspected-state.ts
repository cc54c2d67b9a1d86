/* The description of a state for people, which each algorithm makes. Times are microseconds, unless a comment says otherwise. */

/** The limit, window and burst of a policy, calculated from the numbers of its algorithm. */
export interface Terms {
  readonly limit: number
  /** The length of a window in milliseconds. */
  readonly window: number
  readonly burst: number
}

/** Numbers about one state, in units and microseconds, from which the state's algorithm makes a description. */
export interface Facts {
  /** The time at which the state is evaluated: `now`, or later if the clock went back. */
  readonly at: number
  readonly now: number
  readonly burst: number
  readonly used: number
  /** The time until a call of one unit is admitted; 0 if such a call is admitted now. */
  readonly retry: number
  /** The time from now until the key has more units left than now. */
  readonly next: number
  readonly reset: number
}

/** How many units, and at what time. */
export interface UnitsAt {
  readonly units: number
  readonly time: number
}

/**
 * The numbers of one state that an inspection shows, each with a name. Amounts are in units of cost, times are in milliseconds since
 * the epoch.
 */
export type InspectedNumbers = Readonly<Record<string, number | readonly number[]>>

export interface Description {
  /** How many units are used, and when these units become free: a sentence without the full stop. */
  readonly words: string
  readonly numbers: InspectedNumbers
  /** The used units above the burst, without booked units and units in flight. Absent if the algorithm has no debt. */
  readonly debt?: number
  /** When units in flight are freed if they are never released, the earliest first. Present only for `concurrency`. */
  readonly inFlight?: readonly UnitsAt[]
  /**
   * The units that are booked for a later time, the earliest first. Several bookings that were merged are one entry, with the
   * time of the last booking.
   */
  readonly booked?: readonly UnitsAt[]
  /** The units that reservations give back when they expire, the earliest first. */
  readonly expiring?: readonly UnitsAt[]
}

/** The limit of a counter: more than any key uses. It is 2^52, because Redis clients may round larger integers. */
export const unreached: number = 2 ** 52

/** A text such as `7 of 10 units are used`. @param more text to add if units are used @param how replaces the word `used` */
export function usedWords({ used, reset, burst }: Facts, more = '', how = 'used'): string {
  const counts = burst === unreached
  if (used === 0 && reset === 0) return counts ? 'Nothing is counted' : `Nothing is used of ${units(burst)}`
  if (counts) return `${units(used)} ${are(used)} counted${more}`
  return `${used} of ${units(burst)} ${are(used)} ${how}${more}`
}

export function debtWords(debt: number): string {
  return debt > 0 ? ` (a debt of ${debt})` : ''
}

/** Returns `words` and the time until more units become free. Returns an empty text if no call of one unit is admitted now. */
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

/** A duration in microseconds as text, rounded up: `40 ms`, `1.5 s`, `2 h 5 m`. */
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
