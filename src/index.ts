/* `headgate`: the functions and types for a user of a limiter. */

export type { PenaltyOptions } from './algorithms/bans/index.ts'
export { gcra, leakyBucket, type TokenBucketOptions, tokenBucket } from './algorithms/buckets/index.ts'
export { type CarryRule, type Policy, type PolicyLike, policy } from './algorithms/index.ts'
export { type ConcurrencyOptions, concurrency, slidingLog } from './algorithms/logs/index.ts'
export {
  type SmoothBurstyOptions,
  type SmoothWarmingUpOptions,
  smoothBursty,
  smoothWarmingUp,
} from './algorithms/smooth/index.ts'
export {
  type CounterOptions,
  counter,
  type FixedWindowOptions,
  fixedWindow,
  type SegmentedWindowOptions,
  segmentedWindow,
  slidingWindow,
} from './algorithms/windows/index.ts'
export {
  type Clock,
  type Duration,
  type ErrorCode,
  HeadgateError,
  type MaybePromise,
  wallClock,
} from './common/index.ts'
export type { StoreStateEvent } from './failure/index.ts'
export type {
  Dialect,
  HeadersOption,
  HeadersOptions,
  HeaderWriter,
  LegacyOptions,
  PartitionKeyOptions,
} from './http/headers/index.ts'
export type {
  CalendarOf,
  Cost,
  Count,
  DecisionEvent,
  DelayOptions,
  DenialEvent,
  GuardOptions,
  Hooks,
  NoAddressEvent,
  PoliciesOf,
  RateLimitArgument,
  RateLimitOptions,
  RequestDecision,
  StoreErrorEvent,
} from './http/index.ts'
export {
  type AddressPlatform,
  addressKey,
  type ByIpOptions,
  byCookie,
  byHeader,
  byIp,
  byParam,
  byRoute,
  combine,
  type Extracted,
  type FindKey,
  type KeyExtractor,
  type RequestView,
  type TrustedProxies,
} from './http/keys/index.ts'
export type { InspectedBan, Inspection, PolicyInspection, TimedUnits } from './inspection/index.ts'
export {
  type BanOptions,
  type Candidate,
  type CostList,
  type CostOptions,
  type HeavyKey,
  type Key,
  type ListedKey,
  type ListOptions,
  type Plan,
  type PlanLike,
  type PlanLimiter,
  type PolicyLikes,
  type PolicyUsage,
  RateLimiter,
  type RateLimiterOptions,
  type Reservation,
  type ReserveOptions,
  type TopOptions,
  type Units,
  type Usage,
  type UsageOptions,
} from './limiter/index.ts'
export type { Override, OverrideOptions, OverrideTarget } from './overrides/index.ts'
export type {
  AppliedOverride,
  Ban,
  BurstOptions,
  Decision,
  PolicyOptions,
  RefusedCost,
  Source,
  Verdict,
} from './policy/index.ts'
export type {
  BreakerState,
  CandidateHealth,
  Health,
  OnStoreError,
  Store,
  StoreErrorAction,
  StoreFailure,
  ThresholdEvent,
} from './stores/contract/index.ts'
export { type LruStoreOptions, lruStore } from './stores/lru-store.ts'
export { type MemoryStore, type MemoryStoreOptions, type MemoryStoreStats, memoryStore } from './stores/memory/index.ts'
export type { StoredKey, StoredKeyFilter, StoreInspector } from './stores/store-inspector.ts'
export { type LogRefusalsOptions, logRefusals, type RefusalFields } from './telemetry/log-refusals.ts'
