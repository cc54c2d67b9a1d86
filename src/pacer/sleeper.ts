/** Wakes once after so many milliseconds, never sooner by more than its own grain; returns what calls it off. */
export type Sleeper = (milliseconds: number, wake: () => void) => () => void

/** The longest that `setTimeout` sleeps, 24.8 days: given more, it fires at once. */
export const longestSleep: number = 2 ** 31 - 1

/** @param unref whether the process may end while this sleeps */
export function timerSleeper(unref: boolean): Sleeper {
  return (milliseconds, wake) => {
    const timer = setTimeout(wake, milliseconds)
    if (unref) timer.unref()
    return () => clearTimeout(timer)
  }
}
