import { HeadgateError, isPromise, type MaybePromise } from '../common/index.ts'

/** The plan (policies of one caller) that a new plan has replaced, such as the plan in the version before of a policy file. */
export interface EarlierPlan<Plan = unknown> {
  readonly plan: Plan
  /** Called if a call fails under the new plan, and succeeds under the earlier plan. */
  readonly onUnusable: (error: HeadgateError) => void
}

const earlierPlans = new WeakMap<object, EarlierPlan>()

/** Remembers which plan the new plan has replaced, so that `underPlan` can use the earlier plan. */
export function rememberEarlier(plan: object, earlier: EarlierPlan): void {
  earlierPlans.set(plan, earlier)
}

/**
 * Calls `use` with the plan. If the call fails because the plan does not fit, such as by a scope without a key, calls `use` with the plan
 * that this plan has replaced. So a change of a policy file cannot make each call fail. The error of the first call is thrown if no plan was
 * replaced, or if the call fails under the earlier plan too.
 */
export function underPlan<Plan, Result>(plan: Plan, use: (plan: Plan) => MaybePromise<Result>): MaybePromise<Result> {
  let result: MaybePromise<Result>
  try {
    result = use(plan)
  } catch (error) {
    return underEarlier(plan, error, use)
  }
  if (!isPromise(result) || !earlierPlans.has(plan as object)) return result
  return result.catch((error) => underEarlier(plan, error, use))
}

/** The codes of errors that a plan may cause. */
const codes: readonly string[] = [
  'HEADGATE_OPTION',
  'HEADGATE_KEY',
  'HEADGATE_COST',
  'HEADGATE_CALENDAR',
  'HEADGATE_PENALTY',
  'HEADGATE_POLICY',
  'HEADGATE_UNSUPPORTED',
]

/** Does what failed with `error` under a plan under the plan that this plan has replaced. See `underPlan`. */
export function underEarlier<Plan, Result>(
  plan: Plan,
  error: unknown,
  use: (plan: Plan) => MaybePromise<Result>,
): MaybePromise<Result> {
  const earlier = earlierPlans.get(plan as object) as EarlierPlan<Plan> | undefined
  if (earlier === undefined || !(error instanceof HeadgateError && codes.includes(error.code))) throw error
  const usable = (value: Result) => {
    earlier.onUnusable(error)
    return value
  }
  const unusable = () => {
    throw error
  }
  let result: MaybePromise<Result>
  try {
    result = use(earlier.plan)
  } catch {
    return unusable()
  }
  return isPromise(result) ? result.then(usable, unusable) : usable(result)
}
