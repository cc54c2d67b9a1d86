/*
 * Describes the stored states and the ban of a key, in numbers and words. This folder imports `algorithms`, `policy` and `common`.
 */

export { type InspectedBan, type InspectedLimiter, type Inspection, inspectionOf } from './inspection.ts'
export type { KeptKey, KeptListing, KeptState, KeyPage } from './kept-key.ts'
export type { PolicyInspection, TimedUnits } from './policy-inspection.ts'
