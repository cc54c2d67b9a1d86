/*
 * The queue of one key. The queue books slots (start times) ahead (reserving-queue.ts), or requests units again and again
 * (polling-queue.ts). This folder imports the folders `runs` and `timers` of the pacer.
 */

export type { ReservedSlot } from './booked-slot.ts'
export { PollingQueue } from './polling-queue.ts'
export type { Queue } from './queue.ts'
export { ReservingQueue } from './reserving-queue.ts'
export { holdAll, obeyHold } from './shared-hold.ts'
export { again, start } from './waiter.ts'
