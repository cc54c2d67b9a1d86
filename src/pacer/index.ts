/*
 * `headgate/pacer`: a limiter that delays calls instead of refusing them. The folder `queue` has the waiting calls,
 * `runs` the running functions, `timers` the timer, and `fetch` paces requests. This folder imports `limiter`, and what
 * `limiter` imports.
 */

export type { Sleeper } from '../common/index.ts'
export {
  type PacedFetchOptions,
  type ParsedRateLimit,
  pacedFetch,
  parseRateLimit,
  type Quota,
  type RequestCost,
} from './fetch/index.ts'
export { Pacer } from './pacer.ts'
export type { Progress } from './pacer-events.ts'
export type { AcquireOptions, HoldOptions, LimitedRun, Pace, ThrottleOptions } from './pacer-methods.ts'
export type { PacerConfig, PacerOptions } from './pacer-options.ts'
export type { PacerReservation } from './pacer-reservation.ts'
