/*
 * Running calls: their deadlines, the units in flight that they hold, and holds of a key. This folder imports `timers`.
 */

export { Hold } from './hold.ts'
export { withRunTimeout } from './run-deadline.ts'
export { RunLease } from './run-lease.ts'
