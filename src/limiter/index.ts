/*
 * The limiter: policies and a store. A limiter checks the arguments of a call, asks the store, and returns the decision. This
 * folder imports the contract of stores, the memory store, and all that these two import.
 */

export {
  type AnyCost,
  askedBy,
  type CostList,
  checkUnits,
  costsOf,
  isCostList,
  type Key,
  type Units,
} from './call-arguments.ts'
export type { CandidateEvent } from './candidate/index.ts'
export { deciderOf } from './derived-limiters.ts'
export {
  type BanOptions,
  book,
  type CallExtras,
  type CostOptions,
  calls,
  decide,
  type HeavyKey,
  type PolicyUsage,
  RateLimiter,
  type ReserveOptions,
  type TopOptions,
  type Usage,
  type UsageOptions,
} from './limiter.ts'
export type { CalledLimiter, LimiterCallEvent, Load } from './limiter-events.ts'
export {
  type Candidate,
  type Plan,
  type PlanLike,
  type PolicyLikes,
  type RateLimiterOptions,
  storeOption,
  warnOfNoStore,
} from './limiter-options.ts'
export type { ListedKey, ListOptions } from './list-keys.ts'
export { PlanLimiter } from './plan-limiter.ts'
export { Reservation, type ReservedCall, settleAndHold } from './reservation.ts'
