/*
 * The limiter: policies and a store. A limiter checks the arguments of a call, asks the store, and returns the decision. This
 * folder imports the contract of stores, the memory store, and all that these two import.
 */

export {
  type AnyCost,
  askedBy,
  type BanOptions,
  type CallExtras,
  type CostList,
  type CostOptions,
  checkUnits,
  costsOf,
  isCostList,
  type Key,
  type Units,
} from './call-arguments.ts'
export type { CandidateEvent } from './candidate/index.ts'
export { deciderOf } from './derived-limiters.ts'
export type { HeavyKey, TopOptions } from './heaviest/index.ts'
export { book, decide, RateLimiter } from './limiter.ts'
export { type CalledLimiter, calls, type LimiterCallEvent, type Load } from './limiter-events.ts'
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
export type { ReserveOptions } from './reserve-options.ts'
export { isOfPlan } from './unit-verbs.ts'
export type { PolicyUsage, Usage, UsageOptions } from './usage.ts'
