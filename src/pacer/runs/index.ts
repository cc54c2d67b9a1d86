/*
 * Running functions: their time limits and their units in flight (taken while they run); and holds, which stop a key. This folder imports
 * `timers`.
 */

export { Hold } from './hold.ts'
export { withRunTimeout } from './run-deadline.ts'
export { RunLease } from './run-lease.ts'
