/* The types that describe a limit: the options of every policy, and a decision. This folder imports `common`. */

export {
  type AppliedOverride,
  alone,
  type Ban,
  type Decision,
  join,
  joinFirst,
  type RefusedCost,
  resetAtOf,
  type Source,
  type Verdict,
  withReached,
  withResetAt,
} from './decision.ts'
export { noteUse, rememberEarlier, underEarlier, underPlan } from './earlier-plans.ts'
export {
  type BurstOptions,
  type CallerCalendar,
  type CallerCalendars,
  checkPolicyOptions,
  checkTextOptions,
  defaultScope,
  type PolicyOptions,
  type PolicySettings,
  policySettings,
} from './policy.ts'
