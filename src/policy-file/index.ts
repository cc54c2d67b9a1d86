/*
 * `headgate/policy-file`: policies in a JSON file. A change of the file takes effect without a deploy. This folder reads and checks the
 * file; a limiter gets the plans of the file by `withPlan`. This folder imports `limiter`, `calendar`, `algorithms`, `common` and
 * `platform`.
 */

export type { LimiterPlans, PlanOfFile } from './policy-document.ts'
export {
  type PolicyChange,
  PolicyFile,
  type PolicyFileHealth,
  type PolicyFileOptions,
  policiesFrom,
} from './policy-file.ts'
