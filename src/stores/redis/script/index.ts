/*
 * The Lua that decides in Redis: `main.ts` is its frame, `steps` restates the algorithms, `plain` is the short script
 * of a usual plan. The plans, as the script reads them, are here too.
 */

export { kindOf, kinds } from './kinds.ts'
export { isMissing, Script } from './loaded-script.ts'
export { type PackedPlan, packPlan, policyId } from './packed-plan.ts'
export { PlainScripts } from './plain-scripts.ts'
export { cacheableFlag, nextFlag } from './request-flags.ts'
export { script } from './script.ts'
