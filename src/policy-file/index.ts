/*
 * `headgate/policy-file`: policies in a JSON file, which take effect without a deploy. The file is read and checked here; limiters get its
 * plans by `withPlan`. This folder imports `limiter`, `calendar`, `algorithms`, `common` and `platform`.
 */

export type { LimiterPlans, PlanOfFile } from './policy-document.ts'
export {
  type PolicyChange,
  PolicyFile,
  type PolicyFileHealth,
  type PolicyFileOptions,
  policiesFrom,
} from './policy-file.ts'
