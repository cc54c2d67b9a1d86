import { microseconds } from '#platform'
import { HeadgateError, shown } from './errors.ts'

/** Reads the time in whole microseconds since the epoch. It may stand still or run back; nothing is minted by that. */
export type Clock = () => number

/**
 * The process's own clock: the wall-clock time at which the process started plus what has passed since on the
 * monotonic clock, so that setting the machine's time neither mints nor takes away quota.
 */
export const monotonicClock: Clock = microseconds

/** The machine's own time: what processes on several machines have in common, as well as these are kept in step. */
export const wallClock: Clock = () => Date.now() * 1000

/** @throws HeadgateError `HEADGATE_CLOCK` unless the clock reads a whole, safe, non-negative number */
export function checkClock(clock: Clock): Clock {
  const now: unknown = typeof clock === 'function' ? clock() : undefined
  if (!Number.isSafeInteger(now) || (now as number) < 0) {
    throw new HeadgateError(
      'HEADGATE_CLOCK',
      `A clock must return whole microseconds since the epoch, got ${shown(now ?? clock)}. ` +
        'Use () => Date.now() * 1000, or new ManualClock().now from headgate/testing.',
    )
  }
  if (Math.abs((now as number) - Date.now()) < aDay) {
    throw new HeadgateError(
      'HEADGATE_CLOCK',
      `A clock must return microseconds, this one returns milliseconds (${shown(now)}). Use () => Date.now() * 1000.`,
    )
  }
  return clock
}

const aDay = 24 * 60 * 60 * 1000
