/*
 * Calls that run: how long each may take, what it holds meanwhile, and pauses. It imports `timers`.
 */

export { HeldUnits } from './held-permits.ts'
export { Hold } from './hold.ts'
export { withRunTimeout } from './run-deadline.ts'
