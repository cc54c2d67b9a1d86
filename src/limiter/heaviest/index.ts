/* Finds the keys with the most calls, in bounded memory. This folder imports `common`. */

export { countHeavy, type HeavyKey, HeavyKeys, mostCounters, type TopOptions, weightOf } from './heaviest-keys.ts'
export type { SpaceSaving } from './space-saving.ts'
