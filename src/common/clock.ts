import { microseconds } from '#platform'
import { HeadgateError, shown } from './errors.ts'

/** Returns the time in whole microseconds since the epoch. Example: `() => Date.now() * 1000`. A clock that goes back adds no quota. */
export type Clock = () => number

/**
 * The default clock of a process: the wall-clock time at which the process started, plus the time since then on the monotonic clock. If the
 * machine's time is set, this clock does not change.
 */
export const monotonicClock: Clock = microseconds

/**
 * The wall clock of the machine. Several machines have the same time if their clocks are synchronised. The clock reads `Date.now()`, so
 * the fake timers of a test runner change this clock. Example: `memoryStore({ clock: wallClock })`.
 */
export const wallClock: Clock = () => Date.now() * 1000

/**
 * The milliseconds from now until a time. At least 1, because the time may have come after a call was refused, and a wait of 0 would mean
 * that the call was admitted.
 * @param time in milliseconds since the epoch, or Infinity
 */
export function timeUntil(time: number): number {
  return time === Infinity ? Infinity : Math.max(1, Math.ceil(time - wallClock() / 1000))
}

/**
 * Calls the clock once, and returns the clock.
 * @throws HeadgateError `HEADGATE_CLOCK` unless the time is a whole number of microseconds, 0 or more
 */
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

const aDay = 24 * 60 * 60 * 1000

/** Throws if the clock seems to return milliseconds or seconds. Times just after 1970 are allowed, for mock timers in tests. */
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
