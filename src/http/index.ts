/* What the author of an adapter imports, and every type that the options of a middleware name: `headgate/http`. */

export type { CarryRule } from '../algorithms/carry.ts'
export type { PenaltyOptions } from '../algorithms/penalty-options.ts'
export type { Decision, Source, Verdict } from '../decision.ts'
export type { Duration } from '../duration.ts'
export { HeadgateError } from '../errors.ts'
export { type Key, RateLimiter, type Units } from '../limiter.ts'
export type { Plan, PlanLike, PolicyLikes } from '../limiter-options.ts'
export type { MaybePromise } from '../maybe-promise.ts'
export type { PlanLimiter } from '../plan-limiter.ts'
export type { PolicyOptions } from '../policy.ts'
export type { Health } from '../stores/health.ts'
export type { OnStoreError, StoreErrorAction, StoreFailure } from '../stores/on-store-error.ts'
export type { Store } from '../stores/store.ts'
export { asError } from './as-error.ts'
export type { Cost } from './cost.ts'
export type { Count } from './count.ts'
export type { DelayOptions } from './delay.ts'
export type { DecisionEvent, DenialEvent, Hooks, NoAddressEvent, StoreErrorEvent } from './events.ts'
export { type Framework, type RequestDecision, routeName } from './framework.ts'
export { createGuard, type DefaultsOrigin, type Guard } from './guard.ts'
export type { GuardOptions } from './guard-options.ts'
export type { Dialect, HeadersOption, HeadersOptions, HeaderWriter } from './headers/headers-option.ts'
export type { LegacyOptions } from './headers/legacy.ts'
export type { PartitionKeyOptions } from './headers/partition-keys.ts'
export { isUnixSocket, type LocalSocket } from './keys/address.ts'
export { addressKey } from './keys/address-key.ts'
export { declaresPlatform } from './keys/address-source.ts'
export { type ByIpOptions, byIp } from './keys/by-ip.ts'
export { combine } from './keys/combine.ts'
export { byCookie, byHeader, byParam, byRoute } from './keys/extractors.ts'
export type { Extracted, FindKey, KeyExtractor, RequestView } from './keys/key-extractor.ts'
export { toldAddress } from './keys/no-address.ts'
export type { AddressPlatform } from './keys/platforms.ts'
export { clientBehind, type PeerView, type TrustedProxies, trustedProxiesOption } from './keys/trusted-proxies.ts'
export { functionOption, type OptionCheck, type OwnOptions, ownOptions } from './own-options.ts'
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
} from './rate-limit-options.ts'
export { guardOptionsOf, withLimiterParts } from './read-options.ts'
export { type EndingResponse, type EndingSocket, type EndingStream, whenEnded } from './when-ended.ts'
