/*
 * Running calls: their deadlines, the units in flight that they hold, and holds of a key. This folder imports `timers`.
 */

export { HeldUnits } from './held-permits.ts'
export { Hold } from './hold.ts'
export { withRunTimeout } from './run-deadline.ts'
