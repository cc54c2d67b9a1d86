/* What the author of an adapter imports, as `headgate/http`. */
export { whenEnded } from './ended.ts'
export { type Framework, type RequestDecision, routeName } from './framework.ts'
export { addressKey } from './keys/address.ts'
export type { GuardOptions, RateLimitArgument, RateLimitOptions } from './options.ts'
export { guardOf } from './plans.ts'
