/* What a user of a limiter imports: `headgate`. */

export type { Policy } from './algorithms/algorithm.ts'
export type { CarryRule } from './algorithms/carry.ts'
export { type ConcurrencyOptions, concurrency } from './algorithms/concurrency.ts'
export { type CounterOptions, counter } from './algorithms/counter.ts'
export type { InspectedNumbers } from './algorithms/describe.ts'
export { type FixedWindowOptions, fixedWindow } from './algorithms/fixed-window.ts'
export { gcra } from './algorithms/gcra.ts'
export { leakyBucket } from './algorithms/leaky-bucket.ts'
export type { PenaltyOptions } from './algorithms/penalty-options.ts'
export { type SegmentedWindowOptions, segmentedWindow } from './algorithms/segmented-window.ts'
export { type PolicyLike, policy } from './algorithms/shorthand.ts'
export { slidingLog } from './algorithms/sliding-log.ts'
export { slidingWindow } from './algorithms/sliding-window.ts'
export { type SmoothBurstyOptions, smoothBursty } from './algorithms/smooth-bursty.ts'
export { type SmoothWarmingUpOptions, smoothWarmingUp } from './algorithms/smooth-warming-up.ts'
export { type TokenBucketOptions, tokenBucket } from './algorithms/token-bucket.ts'
export { type Clock, wallClock } from './clock.ts'
export type { Blocked, Decision, Source, Verdict } from './decision.ts'
export type { Duration } from './duration.ts'
export { type ErrorCode, HeadgateError } from './errors.ts'
export type { StoreStateEvent } from './failure/breaker.ts'
export type {
  AddressPlatform,
  ByIpOptions,
  Cost,
  Count,
  DecisionEvent,
  DelayOptions,
  DenialEvent,
  Dialect,
  Extracted,
  FindKey,
  GuardOptions,
  HeadersOption,
  HeadersOptions,
  HeaderWriter,
  Hooks,
  KeyExtractor,
  LegacyOptions,
  PartitionKeyOptions,
  PlanLimiter,
  PoliciesOf,
  RateLimitArgument,
  RateLimitOptions,
  RequestDecision,
  RequestView,
  StoreErrorEvent,
  TrustedProxies,
} from './http/index.ts'
export { byIp } from './http/keys/by-ip.ts'
export { combine } from './http/keys/combine.ts'
export { byCookie, byHeader, byParam, byRoute } from './http/keys/extractors.ts'
export type { InspectedBlock, Inspection } from './inspection/inspection.ts'
export type { PolicyInspection, TimedUnits } from './inspection/policy-inspection.ts'
export {
  type BlockOptions,
  type CostOptions,
  type HeavyKey,
  type Key,
  RateLimiter,
  type ReserveOptions,
  type TopOptions,
  type Units,
} from './limiter.ts'
export type { Plan, PlanLike, PolicyLikes, RateLimiterOptions } from './limiter-options.ts'
export type { MaybePromise } from './maybe-promise.ts'
export type { BurstOptions, PolicyOptions } from './policy.ts'
export type { Reservation } from './reservation.ts'
export type { ListedKey, ListOptions } from './shown-keys.ts'
export type { BreakerState, Health } from './stores/health.ts'
export { type LruStoreOptions, lruStore } from './stores/lru.ts'
export {
  type MemoryStore,
  type MemoryStoreOptions,
  type MemoryStoreStats,
  memoryStore,
} from './stores/memory/memory-store.ts'
export type { OnStoreError, StoreErrorAction, StoreFailure } from './stores/on-store-error.ts'
export type { Store } from './stores/store.ts'
export { type LogRefusalsOptions, logRefusals, type RefusalFields } from './telemetry/log-refusals.ts'
