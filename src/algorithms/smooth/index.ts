/*
 * The smooth limiters of Guava: each call waits as long as the call before it costs. This folder imports the contract of
 * algorithms, `policy` and `common`.
 */

export { SmoothBursty, type SmoothBurstyOptions, smoothBursty } from './smooth-bursty.ts'
export { SmoothWarmingUp, type SmoothWarmingUpOptions, smoothWarmingUp } from './smooth-warming-up.ts'
