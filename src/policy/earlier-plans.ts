import { HeadgateError, isPromise, type MaybePromise } from '../common/index.ts'

/** The plan (policies of one caller) that a new plan has replaced, such as the plan in the version before of a policy file. */
export interface EarlierPlan<Plan = unknown> {
  readonly plan: Plan
  /**
   * Called if a call fails under the new plan, and succeeds under the earlier plan.
   * @param byCall true if the key or the calendar of this call is the cause, so that other calls may succeed under the new plan
   */
  readonly onUnusable: (error: HeadgateError, byCall: boolean) => void
  /** Called after the first call that succeeds under the new plan. */
  readonly onUsed: () => void
}

const earlierPlans = new WeakMap<object, EarlierPlan>()
/** The plans in `earlierPlans` under which no call has succeeded yet. */
const unused = new WeakSet<object>()
/** How many plans were added to `unused`, and not removed. While it is 0, calls need no look-up. */
let unusedPlans = 0

/**
 * Remembers which plan the new plan has replaced, so that `underPlan` can use the earlier plan. Forgets which plan came before the earlier
 * plan: a version of a file may come back, and two plans must not replace each other.
 */
export function rememberEarlier(plan: object, earlier: EarlierPlan): void {
  earlierPlans.delete(earlier.plan as object)
  if (unused.delete(earlier.plan as object)) unusedPlans--
  earlierPlans.set(plan, earlier)
  if (!unused.has(plan)) unusedPlans++
  unused.add(plan)
}

/** Notes that a call with this result has succeeded under the plan. Returns the result. */
export function noteUse<Result>(plan: unknown, result: Result): Result {
  if (unusedPlans > 0 && unused.delete(plan as object)) {
    unusedPlans--
    earlierPlans.get(plan as object)?.onUsed()
  }
  return result
}

/**
 * Calls `use` with the plan. If the call fails because the plan does not fit, such as by a scope without a key, calls `use` with the plan
 * that this plan has replaced. So a change of a policy file cannot make each call fail. The error of the first call is thrown if no plan was
 * replaced, or if the call fails under the earlier plan too. After a call has succeeded under the new plan, an error of a key or of a calendar
 * is thrown too: the client of that call may have chosen them.
 * @param isCall false if `use` only prepares calls under the plan
 */
export function underPlan<Plan, Result>(
  plan: Plan,
  use: (plan: Plan) => MaybePromise<Result>,
  isCall = true,
): MaybePromise<Result> {
  let result: MaybePromise<Result>
  try {
    result = use(plan)
  } catch (error) {
    return underEarlier(plan, error, use)
  }
  if (isPromise(result)) return earlierPlans.has(plan as object) ? laterUnder(plan, result, use) : result
  return isCall ? noteUse(plan, result) : result
}

function laterUnder<Plan, Result>(
  plan: Plan,
  later: Promise<Result>,
  use: (plan: Plan) => MaybePromise<Result>,
): Promise<Result> {
  return later.then(
    (value) => noteUse(plan, value),
    (error) => underEarlier(plan, error, use),
  )
}

/** The codes of errors that the arguments of one call may cause, which a client may have chosen. */
const codesOfCalls: readonly string[] = ['HEADGATE_KEY', 'HEADGATE_CALENDAR']

/** The codes of errors that a plan may cause. */
const codes: readonly string[] = [
  ...codesOfCalls,
  'HEADGATE_OPTION',
  'HEADGATE_COST',
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
  const byCall = codesOfCalls.includes(error.code)
  if (byCall && !unused.has(plan as object)) throw error
  const usable = (value: Result) => {
    earlier.onUnusable(error, byCall)
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
