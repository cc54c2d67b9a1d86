/*
 * The part of HTTP that is the same for all frameworks: it reads a request, and sets response fields or sends a refusal.
 * `guard.ts` shows the steps of a request from top to bottom. This folder imports `limiter`, and all that `limiter` imports.
 */

export { type CalendarOf, type Cost, checkAsked, checkedCost, checkUnasked } from './call-arguments.ts'
export type { Count } from './count-rule.ts'
export { type Framework, type RequestDecision, routeName } from './framework.ts'
export { createGuard, type Guard } from './guard.ts'
export type { DelayOptions, GuardOptions } from './guard-options.ts'
export { functionOption, ownOptions } from './own-options.ts'
export type {
  LimiterOf,
  LimiterParts,
  Policies,
  PoliciesOf,
  RateLimitArgument,
  RateLimitOptions,
} from './rate-limit-options.ts'
export { changesLimit, inheritedOptions, withLimiterParts } from './read-argument.ts'
export { clientRefusal } from './refusal/index.ts'
export type {
  DecisionEvent,
  DenialEvent,
  Hooks,
  NoAddressEvent,
  StoreErrorEvent,
} from './request-events.ts'
export { retryAfterSeconds, tryAgain } from './retry-after.ts'
