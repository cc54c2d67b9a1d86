/*
 * The words of a limit: the options of every policy, and what a decision tells. It imports `common`.
 */

export { alone, type Ban, type Decision, join, type Source, type Verdict } from './decision.ts'
export {
  type BurstOptions,
  checkPolicyOptions,
  defaultScope,
  type PolicyOptions,
  type PolicySettings,
  policySettings,
} from './policy.ts'
