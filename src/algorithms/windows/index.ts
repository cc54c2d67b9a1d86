/*
 * Algorithms that count the units of a window: fixed, sliding and segmented windows. This folder imports the contract of
 * algorithms, `buckets` (a fixed window is an interval bucket), `policy` and `common`.
 */

export { CalendarWindow } from './calendar-window.ts'
export { type CounterOptions, counter, isCounter } from './counter.ts'
export { mostExpiring } from './expiring-reservations.ts'
export { type FixedWindowOptions, fixedWindow } from './fixed-window.ts'
export { SegmentedWindow, type SegmentedWindowOptions, segmentedWindow } from './segmented-window.ts'
export { SlidingWindow, slidingWindow } from './sliding-window.ts'
