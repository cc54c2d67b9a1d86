/*
 * The algorithms: pure functions over a few integers, one file for each algorithm, in the folders below. This folder has their common
 * parts: the contract (`algorithm.ts`), the table of kinds, the shorthand of policies, and how a state changes when the policies of a
 * key change (`carry.ts`). This folder imports `policy` and `common`.
 */

export {
  type Algorithm,
  type Calendar,
  type Kind,
  type Numbers,
  type Policy,
  Report,
  type Ticket,
  type Windows,
} from './algorithm.ts'
export { type CarryRule, carryRules, hasFullQuota, pointTo, type StateRule } from './carry.ts'
export { isListed, makePolicy, type Recipe, recipeOf, unshown, withLimit } from './define-policy.ts'
export { effectiveTime, withLag } from './effective-time.ts'
export { ratioUp } from './exact-math.ts'
export {
  are,
  type Description,
  type Facts,
  type InspectedNumbers,
  timeText,
  type UnitsAt,
  units,
} from './inspected-state.ts'
export { type Definition, isConstructor, revive, sameDefinition } from './kinds.ts'
export { shareOf } from './share-of.ts'
export { type PolicyLike, policy, toPolicy } from './shorthand.ts'
export { partOf, readThresholds, type Threshold, thresholdsOf } from './thresholds.ts'
