/*
 * The algorithms of `src/algorithms` in Lua: a file for each file there, with the same functions in the same order.
 */

export { bookings } from './bookings.ts'
export { bucket } from './bucket.ts'
export { calendarWindow } from './calendar-window.ts'
export { concurrency } from './concurrency.ts'
export { exactMath, mulDiv } from './exact-math.ts'
export { expiringReservations } from './expiring-reservations.ts'
export { intervalBucket } from './interval-bucket.ts'
export { penalty } from './penalty.ts'
export { segmentedWindow } from './segmented-window.ts'
export { slidingLog } from './sliding-log.ts'
export { slidingWindow } from './sliding-window.ts'
export { smooth } from './smooth.ts'
export { smoothBursty } from './smooth-bursty.ts'
export { smoothWarmingUp } from './smooth-warming-up.ts'
