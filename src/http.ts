/* What the author of an adapter imports, and every type that the options of a middleware name: `headgate/http`. */

export type { PenaltyOptions } from './algorithms/bans/index.ts'
export type { CarryRule } from './algorithms/index.ts'
export { asError, type Duration, HeadgateError, type MaybePromise } from './common/index.ts'
export type {
  Dialect,
  HeadersOption,
  HeadersOptions,
  HeaderWriter,
  LegacyOptions,
  PartitionKeyOptions,
} from './http/headers/index.ts'
export { type EndingResponse, type EndingSocket, type EndingStream, whenEnded } from './http/held/index.ts'
export {
  type Cost,
  type Count,
  createGuard,
  type DecisionEvent,
  type DefaultsOrigin,
  type DelayOptions,
  type DenialEvent,
  type Framework,
  functionOption,
  type Guard,
  type GuardOptions,
  guardOptionsOf,
  type Hooks,
  type LimiterOf,
  type LimiterOptions,
  type LimiterParts,
  type NoAddressEvent,
  type OptionCheck,
  type OwnOptions,
  ownOptions,
  type Policies,
  type PoliciesOf,
  type PoliciesOptions,
  type RateLimitArgument,
  type RateLimitOptions,
  type RequestDecision,
  routeName,
  type StoreErrorEvent,
  type WindowOptions,
  withLimiterParts,
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
  clientBehind,
  combine,
  declaresPlatform,
  type Extracted,
  type FindKey,
  isUnixSocket,
  type KeyExtractor,
  type LocalSocket,
  type PeerView,
  type RequestView,
  type TrustedProxies,
  toldAddress,
  trustedProxiesOption,
} from './http/keys/index.ts'
export {
  type Key,
  type Plan,
  type PlanLike,
  type PlanLimiter,
  type PolicyLikes,
  RateLimiter,
  type Units,
} from './limiter/index.ts'
export type { Decision, PolicyOptions, Source, Verdict } from './policy/index.ts'
export type { Health, OnStoreError, Store, StoreErrorAction, StoreFailure } from './stores/contract/index.ts'
