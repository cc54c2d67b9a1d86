/*
 * Calls that run: how long each may take, what it holds meanwhile, and pauses. It imports `timers`.
 */

export { Hold } from './hold.ts'
export { withRunTimeout } from './run-deadline.ts'
export { RunLease } from './run-lease.ts'
