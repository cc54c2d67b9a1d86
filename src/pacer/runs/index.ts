/*
 * Running calls: their deadlines, the units in flight that they hold, and holds of a key. This folder imports `timers`.
 */

export { Hold } from './hold.ts'
export { RenewedUnits } from './renewed-units.ts'
export { withRunTimeout } from './run-deadline.ts'
