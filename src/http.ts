/* What the author of an adapter imports, and every type that the options of a middleware name: `headgate/http`. */

export type { CarryRule } from './algorithms/carry.ts'
export type { PenaltyOptions } from './algorithms/bans/penalty-policy.ts'
export type { Decision, Source, Verdict } from './policy/decision.ts'
export type { Duration } from './common/duration.ts'
export { HeadgateError } from './common/errors.ts'
export { type Key, RateLimiter, type Units } from './limiter/limiter.ts'
export type { Plan, PlanLike, PolicyLikes } from './limiter/limiter-options.ts'
export type { MaybePromise } from './common/maybe-promise.ts'
export type { PlanLimiter } from './limiter/plan-limiter.ts'
export type { PolicyOptions } from './policy/policy.ts'
export type { Health } from './stores/contract/health.ts'
export type { OnStoreError, StoreErrorAction, StoreFailure } from './stores/contract/on-store-error.ts'
export type { Store } from './stores/contract/store.ts'
export { asError } from './common/as-error.ts'
export type { Cost } from './http/request-cost.ts'
export type { Count } from './http/count.ts'
export type { DelayOptions } from './http/delay.ts'
export type { DecisionEvent, DenialEvent, Hooks, NoAddressEvent, StoreErrorEvent } from './http/request-events.ts'
export { type Framework, type RequestDecision, routeName } from './http/framework.ts'
export { createGuard, type DefaultsOrigin, type Guard } from './http/guard.ts'
export type { GuardOptions } from './http/guard-options.ts'
export type { Dialect, HeadersOption, HeadersOptions, HeaderWriter } from './http/headers/headers-option.ts'
export type { LegacyOptions } from './http/headers/legacy.ts'
export type { PartitionKeyOptions } from './http/headers/partition-keys.ts'
export { isUnixSocket, type LocalSocket } from './http/keys/address.ts'
export { addressKey } from './http/keys/address-key.ts'
export { declaresPlatform } from './http/keys/address-source.ts'
export { type ByIpOptions, byIp } from './http/keys/by-ip.ts'
export { combine } from './http/keys/combine.ts'
export { byCookie, byHeader, byParam, byRoute } from './http/keys/extractors.ts'
export type { Extracted, FindKey, KeyExtractor, RequestView } from './http/keys/key-extractor.ts'
export { toldAddress } from './http/keys/no-address.ts'
export type { AddressPlatform } from './http/keys/platforms.ts'
export { clientBehind, type PeerView, type TrustedProxies, trustedProxiesOption } from './http/keys/trusted-proxies.ts'
export { functionOption, type OptionCheck, type OwnOptions, ownOptions } from './http/own-options.ts'
export type {
  LimiterOf,
  LimiterOptions,
  LimiterParts,
  Policies,
  PoliciesOf,
  PoliciesOptions,
  RateLimitArgument,
  RateLimitOptions,
  WindowOptions,
} from './http/rate-limit-options.ts'
export { guardOptionsOf, withLimiterParts } from './http/read-options.ts'
export { type EndingResponse, type EndingSocket, type EndingStream, whenEnded } from './http/held/when-ended.ts'
