/* What a user of a limiter imports: `headgate`. */

export type { Policy } from './algorithms/algorithm.ts'
export type { CarryRule } from './algorithms/carry.ts'
export { type ConcurrencyOptions, concurrency } from './algorithms/logs/concurrency.ts'
export { type CounterOptions, counter } from './algorithms/windows/counter.ts'
export type { InspectedNumbers } from './algorithms/describe.ts'
export { type FixedWindowOptions, fixedWindow } from './algorithms/windows/fixed-window.ts'
export { gcra } from './algorithms/buckets/gcra.ts'
export { leakyBucket } from './algorithms/buckets/leaky-bucket.ts'
export type { PenaltyOptions } from './algorithms/bans/penalty-policy.ts'
export { type SegmentedWindowOptions, segmentedWindow } from './algorithms/windows/segmented-window.ts'
export { type PolicyLike, policy } from './algorithms/shorthand.ts'
export { slidingLog } from './algorithms/logs/sliding-log.ts'
export { slidingWindow } from './algorithms/windows/sliding-window.ts'
export { type SmoothBurstyOptions, smoothBursty } from './algorithms/smooth/smooth-bursty.ts'
export { type SmoothWarmingUpOptions, smoothWarmingUp } from './algorithms/smooth/smooth-warming-up.ts'
export { type TokenBucketOptions, tokenBucket } from './algorithms/buckets/token-bucket.ts'
export { type Clock, wallClock } from './common/clock.ts'
export type { Blocked, Decision, Source, Verdict } from './policy/decision.ts'
export type { Duration } from './common/duration.ts'
export { type ErrorCode, HeadgateError } from './common/errors.ts'
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
} from './http.ts'
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
} from './limiter/limiter.ts'
export type { Plan, PlanLike, PolicyLikes, RateLimiterOptions } from './limiter/limiter-options.ts'
export type { MaybePromise } from './common/maybe-promise.ts'
export type { BurstOptions, PolicyOptions } from './policy/policy.ts'
export type { Reservation } from './limiter/reservation.ts'
export type { ListedKey, ListOptions } from './limiter/list-keys.ts'
export type { BreakerState, Health } from './stores/contract/health.ts'
export { type LruStoreOptions, lruStore } from './stores/lru.ts'
export {
  type MemoryStore,
  type MemoryStoreOptions,
  type MemoryStoreStats,
  memoryStore,
} from './stores/memory/memory-store.ts'
export type { OnStoreError, StoreErrorAction, StoreFailure } from './stores/contract/on-store-error.ts'
export type { Store } from './stores/contract/store.ts'
export { type LogRefusalsOptions, logRefusals, type RefusalFields } from './telemetry/log-refusals.ts'
