/*
 * The part of HTTP that no framework owns: a request comes in, header fields and maybe a refusal go out. Read
 * `guard.ts` from top to bottom, as a request goes. It imports `limiter` and what that imports.
 */

export type { Count } from './count-rule.ts'
export type { DelayOptions } from './delay.ts'
export { type Framework, type RequestDecision, routeName } from './framework.ts'
export { createGuard, type Guard } from './guard.ts'
export type { GuardOptions } from './guard-options.ts'
export { functionOption, ownOptions } from './own-options.ts'
export type {
  LimiterOf,
  LimiterParts,
  Policies,
  PoliciesOf,
  RateLimitArgument,
  RateLimitOptions,
} from './rate-limit-options.ts'
export { guardOptionsOf, withLimiterParts } from './read-argument.ts'
export type { Cost } from './request-cost.ts'
export {
  callHook,
  type DecisionEvent,
  type DenialEvent,
  type Hooks,
  type NoAddressEvent,
  type StoreErrorEvent,
} from './request-events.ts'
export { retryAfterSeconds, tryAgain } from './retry-after.ts'
