/*
 * One timer for a pacer: for its slots (start times), its deadlines, and the ends of its holds (times without admissions). This folder
 * imports `common`.
 */

export { Scheduler } from './scheduler.ts'
export { Task } from './timer-heap.ts'
