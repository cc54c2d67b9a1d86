/*
 * One timer for all that a pacer waits for. It imports `common`.
 */

export { Scheduler } from './scheduler.ts'
export { Task } from './timer-heap.ts'
