import { realTimers } from '#platform'
import type { Timers } from '../platform/platform.ts'

/**
 * Calls `wake` once, after the given number of milliseconds. Returns a function that cancels the call. The call may be late, or
 * early by less than the resolution of the runtime's timers.
 */
export type Sleeper = (milliseconds: number, wake: () => void) => () => void

/** The longest sleep of `setTimeout` in milliseconds: 24.8 days. After a longer argument, `setTimeout` fires immediately. */
export const longestSleep: number = 2 ** 31 - 1

/** Makes a sleeper with `setTimeout`. @param unref true if the process may exit during a sleep; workers ignore `unref` */
export function timerSleeper(unref = false, timers: Timers = globalThis): Sleeper {
  return (milliseconds, wake) => {
    const timer = timers.setTimeout(wake, milliseconds)
    if (unref) timer.unref?.()
    return () => timers.clearTimeout(timer)
  }
}

/** Makes a sleeper for deadlines. Fake timers in a test do not stop this sleeper: if they did, a call could wait forever. */
export function realSleeper(unref = false): Sleeper {
  return timerSleeper(unref, realTimers)
}
