/*
 * What responses say of a limit, in each dialect. It imports `keys` and what that imports.
 */

export type { Dialect } from './dialect.ts'
export { Headers } from './headers.ts'
export type { HeadersOption, HeadersOptions, HeaderWriter } from './headers-option.ts'
export type { LegacyOptions } from './legacy.ts'
export type { PartitionKeyOptions } from './partition-keys.ts'
