/*
 * Logs: algorithms that store the time of every admitted call. This folder imports the contract of algorithms, `policy` and
 * `common`.
 */

export { Concurrency, type ConcurrencyOptions, concurrency } from './concurrency.ts'
export { SlidingLog, slidingLog } from './sliding-log.ts'
