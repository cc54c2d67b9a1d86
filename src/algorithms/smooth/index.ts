/*
 * The smooth limiters of Guava: a call does not wait for its own cost, but for the cost of the call before it. This folder
 * imports the interface `Algorithm`, `policy` and `common`.
 */

export { SmoothBursty, type SmoothBurstyOptions, smoothBursty } from './smooth-bursty.ts'
export { SmoothWarmingUp, type SmoothWarmingUpOptions, smoothWarmingUp } from './smooth-warming-up.ts'
