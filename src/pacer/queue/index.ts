/*
 * The queue of one key. Its slots are booked ahead (reserving), or requested again and again (polling). This folder
 * imports `runs` and `timers`.
 */

export type { ReservedSlot } from './booked-slot.ts'
export { PollingQueue } from './polling-queue.ts'
export type { Queue } from './queue.ts'
export { ReservingQueue } from './reserving-queue.ts'
export { start } from './waiter.ts'
