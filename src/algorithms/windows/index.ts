/*
 * Counters of windows: fixed, sliding, and in segments. It imports the contract of algorithms, `buckets` (a fixed
 * window drains at its end), `policy` and `common`.
 */

export { type CounterOptions, counter, isCounter } from './counter.ts'
export { type FixedWindowOptions, fixedWindow } from './fixed-window.ts'
export { SegmentedWindow, type SegmentedWindowOptions, segmentedWindow } from './segmented-window.ts'
export { SlidingWindow, slidingWindow } from './sliding-window.ts'
