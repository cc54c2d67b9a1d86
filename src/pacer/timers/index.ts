/*
 * One timer for all slots, deadlines and holds of a pacer. This folder imports `common`.
 */

export { Scheduler } from './scheduler.ts'
export { Task } from './timer-heap.ts'
