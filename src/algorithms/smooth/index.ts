/*
 * The smooth limiters of Guava: each call waits for the cost of the call before. It imports the contract of
 * algorithms, `policy` and `common`.
 */

export { SmoothBursty, type SmoothBurstyOptions, smoothBursty } from './smooth-bursty.ts'
export { SmoothWarmingUp, type SmoothWarmingUpOptions, smoothWarmingUp } from './smooth-warming-up.ts'
