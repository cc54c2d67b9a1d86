/*
 * Code that all other folders use: errors, warnings, readers of options, durations, clocks, timers, and small data structures.
 * This folder imports only `platform`.
 */

export { asError } from './as-error.ts'
export { base64 } from './base64.ts'
export { boundMethods } from './bound-methods.ts'
export { type Clock, checkClock, monotonicClock, timeUntil, wallClock } from './clock.ts'
export { type Duration, durationText, longestWindow, milliseconds, monthFix, warnOfSeconds } from './duration.ts'
export {
  type ErrorCode,
  HeadgateError,
  invalidOption,
  isBrokenRecord,
  misplaced,
  needsPromise,
  shown,
  shownWithNames,
  storeError,
  tooOld,
  unsupported,
} from './errors.ts'
export { Fifo } from './fifo.ts'
export { LinkedList, type ListNode } from './linked-list.ts'
export { getOrInsert, ownText, RecentMap } from './maps.ts'
export {
  allOf,
  atOnce,
  attempt,
  chain,
  ignoreRejection,
  isPromise,
  type MaybePromise,
} from './maybe-promise.ts'
export {
  abortSignal,
  anything,
  callback,
  check,
  clockOr,
  duration,
  flag,
  hook,
  oneOf,
  optional,
  type Settled,
  scopeOf,
  text,
  unbounded,
  whole,
  wordOrOptions,
} from './option-readers.ts'
export { callOptions, knownOptions, type Reader, type Readers, readOptions } from './options.ts'
export { longestSleep, realSleeper, type Sleeper, timerSleeper } from './sleeper.ts'
export { type Size, Slots } from './slots.ts'
export { callHook, reason, warnOnce } from './warn.ts'
