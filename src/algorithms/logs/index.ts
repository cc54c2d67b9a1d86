/*
 * Logs of single units: when each was admitted, or when its lease ends. It imports the contract of algorithms,
 * `policy` and `common`.
 */

export { Concurrency, type ConcurrencyOptions, concurrency } from './concurrency.ts'
export { SlidingLog, slidingLog } from './sliding-log.ts'
