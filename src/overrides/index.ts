/*
 * Overrides: other limits for some keys, often only until a time. A limiter loads this folder by `import()`: immediately for a
 * store that has `documents`, and at the first `override()` for a store in memory. `overrides.ts` keeps the document of a limiter.
 * `override-table.ts` finds the overrides that match the keys of a call. `derive-policies.ts` makes the policies of that call.
 * Metrics read `used-overrides.ts`, which loads without the rest. This folder imports `algorithms`, `policy`, `common` and the contract of stores.
 */

export type { AskLater, Match } from './match.ts'
export type { TargetLimiter } from './override-end.ts'
export type { OverrideOptions, OverrideTarget } from './override-options.ts'
export type { Override } from './override-record.ts'
export type { OverriddenLimiter, OverrideExtent, OverrideTable, OverrideView } from './override-table.ts'
export { Overrides } from './overrides.ts'
