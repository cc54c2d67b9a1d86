/* The rate limit fields of responses, in each dialect (version). This folder imports `keys`, and the folders that `keys` imports. */

export type { Dialect, Sink } from './dialect.ts'
export { checkShown } from './headers.ts'
export type { HeadersOption, HeadersOptions, HeaderWriter } from './headers-option.ts'
export { HeadersUnderOverrides } from './headers-under-overrides.ts'
export type { LegacyOptions } from './legacy.ts'
export type { PartitionKeyOptions } from './partition-keys.ts'
