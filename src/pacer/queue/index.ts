/*
 * The queue of one key. Its slots are booked (reserving), or asked for again and again (polling). It imports `runs`
 * and `timers`.
 */

export { PollingQueue } from './polling-queue.ts'
export type { Queue } from './queue.ts'
export { ReservingQueue } from './reserving-queue.ts'
export type { ReservedSlot } from './slot.ts'
export { start } from './waiter.ts'
