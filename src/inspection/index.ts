/*
 * Describes in numbers and words what is stored for a key. This folder imports `algorithms`, `policy` and `common`.
 */

export { type InspectedBan, type InspectedLimiter, type Inspection, inspectionOf } from './inspection.ts'
export type { KeptKey, KeptListing, KeptState, KeyPage } from './kept-key.ts'
export type { PolicyInspection, TimedUnits } from './policy-inspection.ts'
