/*
 * The Lua script that decides in Redis. `main.ts` is its main part, `steps` has the algorithms in Lua, `short` makes a short script for the
 * usual plans (sets of policies), and `packed-plan.ts` packs plans for the script.
 */

export { cacheableFlag, nextFlag } from './evaluate-policies.ts'
export { kindOf, kinds } from './kinds.ts'
export { isMissing, Script } from './loaded-script.ts'
export { type PackedPlan, packPlan, policyId } from './packed-plan.ts'
export { script } from './script.ts'
export { ShortScripts } from './short-scripts.ts'
