import { effectiveTime } from '../../algorithms/evaluation/index.ts'
import { type Algorithm, type Numbers, type Policy, Report } from '../../algorithms/index.ts'

/** The state of one key under one policy. Its numbers begin at `s[i]`. */
export interface State {
  readonly policy: Policy
  readonly s: Numbers
  readonly i: number
}

const report = new Report()

/**
 * The time at which a state is evaluated when the clock shows `now`. If the clock went back a little, the time is that of the state's last
 * call.
 */
export function stateTime({ policy, s, i }: State, now: number): number {
  return effectiveTime(policy.algorithm, s[i] as number, now)
}

/** How many numbers a state has. Zeros at the end of a log with a fixed number of entries are not counted. */
function lengthOf({ policy: { algorithm }, s, i }: State): number {
  let length = Array.isArray(s) ? s.length : algorithm.condensed
  while (algorithm.grows && length > algorithm.slots && s[i + length - 1] === 0) length--
  return length
}

/** True if the state has open reservations. Such a state is in a separate array. */
export function isBooked({ policy: { algorithm }, s, i }: State): boolean {
  return algorithm.bookingNumbers > 0 && hasBookings(algorithm, s, i)
}

/**
 * True if the state, at index `i` of `s`, has open reservations that need an array. Under an algorithm with `expiring`, only reservations
 * that expire need an array.
 */
export function hasBookings({ expiring, slots, idSlot }: Algorithm, s: Numbers, i: number): boolean {
  return expiring === undefined ? s[i + (idSlot as number)] !== 0 : Array.isArray(s) && s.length > i + slots
}

/** True if all numbers of the state are zero, as for a new key. */
export function isUnused(state: State): boolean {
  for (let k = lengthOf(state) - 1; k >= 0; k--) if (state.s[state.i + k] !== 0) return false
  return true
}

/** A copy of the numbers of a state. */
export function numbersOf(state: State): number[] {
  const { s, i } = state
  const end = i + lengthOf(state)
  return Array.isArray(s) ? s.slice(i, end) : Array.from(s.subarray(i, end))
}

/**
 * Copies the numbers of a state to `t`, from index `j` on, where all numbers of `t` are zero. @param condensed true to fit a log
 * into a fixed number of entries
 */
export function copyState(state: State, t: Numbers, j: number, now: number, condensed: boolean): void {
  const { policy, s, i } = state
  if (condensed) policy.algorithm.condense(s, i, stateTime(state, now), t, j)
  else for (let k = 0, length = lengthOf(state); k < length; k++) t[j + k] = s[i + k] as number
}

/** Copies of states that are not all zeros. @param condensed true to fit a log into a fixed number of entries */
export function listOf(states: readonly State[], now: number, condensed: boolean): readonly State[] {
  return states
    .filter((state) => !isUnused(state))
    .map((state) => {
      const { policy } = state
      if (!condensed || !policy.algorithm.grows) return { policy, s: numbersOf(state), i: 0 }
      const s: number[] = new Array(policy.algorithm.condensed).fill(0)
      copyState(state, s, 0, now, true)
      return { policy, s, i: 0 }
    })
}

/** The fraction of the quota that is left, from 0 (none) to 1 (full quota), under the policy with the smallest such fraction. */
export function quotaLeft(states: readonly State[], now: number): number {
  let least = 1
  for (const state of states) {
    const { s, i, policy } = state
    policy.algorithm.report(s, i, stateTime(state, now), report)
    if (report.reset === 0 && now >= (s[i] as number)) continue
    least = Math.min(least, report.remaining / (policy.burst + 1))
  }
  return least
}

/** How many microseconds ago a call last wrote one of the states. */
export function idleTime(states: readonly State[], now: number): number {
  let latest = -Infinity
  for (const { s, i } of states) latest = Math.max(latest, s[i] as number)
  return now - latest
}

/** True if the numbers of one of the states are in this array. A loop is faster here than `some`. */
export function holds(states: readonly State[], s: State['s']): boolean {
  for (let n = 0; n < states.length; n++) if ((states[n] as State).s === s) return true
  return false
}

/** How many bytes V8 needs: for a list of states, for a state in a list, and for a number in a state. */
export const listBytes = 48
const stateBytes = 104
const numberBytes = 8

/** The bytes that a state with this count of numbers takes in a list. */
export function bytesOf(numbers: number): number {
  return stateBytes + numberBytes * numbers
}

export function bytesOfList(list: readonly State[] | undefined): number {
  return list === undefined ? 0 : list.reduce((bytes, { s }) => bytes + bytesOf(s.length), listBytes)
}
