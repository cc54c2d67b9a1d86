import { realTimers } from '#platform'
import type { Timers } from '../platform/platform.ts'

/**
 * Calls `wake` once after that many milliseconds, and returns a function that cancels it. It may wake late, or early by
 * less than the resolution of the timers.
 */
export type Sleeper = (milliseconds: number, wake: () => void) => () => void

/** The longest sleep of `setTimeout`, 24.8 days. A longer one would end at once. */
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

/** A sleeper that fake timers do not stop: a deadline that never passes would be a call that never ends. */
export function realSleeper(unref = false): Sleeper {
  return timerSleeper(unref, realTimers)
}
