import { realTimers } from '#platform'
import type { Timers } from '../platform/platform.ts'

/**
 * Calls `wake` once after that many milliseconds, and returns a function that cancels the call. The call may come late, or
 * early by less than the resolution of the timers.
 */
export type Sleeper = (milliseconds: number, wake: () => void) => () => void

/** The longest sleep of `setTimeout`, 24.8 days. A longer sleep would end at once. */
export const longestSleep: number = 2 ** 31 - 1

/**
 * A sleeper on `setTimeout`.
 * @param unref true if the process may end during a sleep. Browsers and workers ignore it.
 */
export function timerSleeper(unref = false, timers: Timers = globalThis): Sleeper {
  return (milliseconds, wake) => {
    const timer = timers.setTimeout(wake, milliseconds)
    if (unref) timer.unref?.()
    return () => timers.clearTimeout(timer)
  }
}

/** A sleeper that fake timers of tests do not stop, for deadlines: with fake timers a call could never end. */
export function realSleeper(unref = false): Sleeper {
  return timerSleeper(unref, realTimers)
}
