import { microseconds } from '#platform'
import { HeadgateError, shown } from './errors.ts'

/**
 * Reads the time in whole microseconds since the epoch, such as `() => Date.now() * 1000`. A clock may stand still or go
 * back. That adds no quota.
 */
export type Clock = () => number

/**
 * The process's own clock: the wall-clock time at which the process started, plus the time since then on the monotonic
 * clock. Setting the machine's time neither adds quota nor takes any away.
 */
export const monotonicClock: Clock = microseconds

/**
 * The wall clock of the machine. Machines agree on it as far as their clocks are synchronised. It reads `Date.now()`, so the
 * fake timers of a test runner move it: `memoryStore({ clock: wallClock })`.
 */
export const wallClock: Clock = () => Date.now() * 1000

/** @throws HeadgateError `HEADGATE_CLOCK` if the clock does not return whole, non-negative microseconds */
export function checkClock(clock: Clock): Clock {
  const now: unknown = typeof clock === 'function' ? clock() : undefined
  if (!Number.isSafeInteger(now) || (now as number) < 0) {
    throw new HeadgateError(
      'HEADGATE_CLOCK',
      `A clock must return whole microseconds since the epoch, got ${shown(now ?? clock)}. ` +
        'Use () => Date.now() * 1000, or new ManualClock().now from headgate/testing.',
    )
  }
  checkUnit(now as number, Date.now())
  return clock
}

/** One day in milliseconds. */
const aDay = 24 * 60 * 60 * 1000

/**
 * Microseconds, milliseconds and seconds differ by their size, but not just after 1970, where the mock timers of
 * test runners begin.
 */
function checkUnit(now: number, today: number): void {
  if (today < 10 * aDay) return
  const unit =
    Math.abs(now - today) < aDay ? 'milliseconds' : Math.abs(now - today / 1000) < aDay / 1000 ? 'seconds' : undefined
  if (unit === undefined) return
  throw new HeadgateError(
    'HEADGATE_CLOCK',
    `A clock must return microseconds, but this one returns ${unit} (${shown(now)}). Use () => Date.now() * 1000.`,
  )
}
