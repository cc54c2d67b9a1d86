/*
 * Overrides: other numbers for some keys until a time. A limiter loads this folder by `import()`: at once for a store that has
 * `documents`, and at the first `override()` for a store in memory. `overrides.ts` keeps the document of a limiter,
 * `override-table.ts` finds what matches the keys of a call, and `derive-policies.ts` makes the policies of that call. This folder
 * imports `algorithms`, `policy`, `common` and the contract of stores.
 */

export type { OverrideOptions, OverrideTarget } from './override-options.ts'
export type { Override } from './override-record.ts'
export type { Match, OverriddenLimiter, OverrideExtent, OverrideTable, OverrideView } from './override-table.ts'
export { Overrides } from './overrides.ts'
