/**
 * Where a decision comes from:
 *
 * - `'store'`: the store decided
 * - `'fallback'`: this process decided by its own count, because the store failed
 * - `'open'`: nobody decided, and the call was allowed because the store failed
 */
export type Source = 'store' | 'fallback' | 'open'

/**
 * The decision of one policy about a call. Times are whole milliseconds, rounded up. Each time is right if no other call with
 * the key comes before that time.
 *
 * The examples use `tokenBucket({ limit: 5, window: '1s' })`, which adds a unit every 200 ms.
 */
export interface Verdict {
  /** The name of the policy, such as `'1s'`. */
  readonly name: string
  /** True if this policy admits the call. A call is allowed if every enforced policy admits the call. */
  readonly allowed: boolean
  /** The limit of the policy, in units per window. Example: 5 for `tokenBucket({ limit: 5, window: '1s' })`. */
  readonly limit: number
  /**
   * The largest cost that this policy would admit now, after this call; at least 0. Example: after two simultaneous requests under a limit
   * of 5, `remaining` is 3. A call with cost 3 would be admitted, and a call with cost 4 refused.
   */
  readonly remaining: number
  /**
   * The units that are used now: the cost of admitted, reserved and charged calls, and of refused calls if the policy counts refused calls.
   * A fraction of a unit is rounded up. Example with 5 units a second: after two simultaneous requests, `used` is 2, and 200 ms later,
   * `used` is 1.
   */
  readonly used: number
  /**
   * How long to wait until the policy admits the cost of this call. 0 if the policy admits the call now. Infinity if the cost can never be admitted,
   * such as a cost of 6 under a limit of 5. Example with 5 units a second: of six simultaneous requests, the sixth is refused with
   * `retryAfter` 200. The request is admitted after 200 ms, and not 1 ms sooner.
   */
  readonly retryAfter: number
  /**
   * The time until the key has its full quota again. Example with 5 units a second: after one request, `resetAfter` is 200, and 50 ms later
   * 150.
   */
  readonly resetAfter: number
  /**
   * Only under `calendarWindow`: when the running window ends, in milliseconds since the epoch by the store's clock. Absent if the key has
   * used no units.
   */
  readonly resetAt?: number
  /**
   * Only under a policy with `thresholds`: the parts of the quota that this call is the first to reach in the window. The hook
   * `onThreshold` gets an event for each part. Absent if the call has reached no new part. Example: `[0.8]`.
   */
  readonly reached?: readonly number[]
  /** True if the policy is only evaluated and reported. Such a policy (a shadow) never refuses a call. */
  readonly shadow: boolean
  /**
   * How long until `remaining` grows. 0 if the quota is full. Example with 5 units a second: after five simultaneous requests, `nextAfter`
   * is 200, and `resetAfter` is 1000. Undefined unless the call has the option `nextAfter`.
   */
  readonly nextAfter?: number
}

/** The ban of a key by `RateLimiter.ban`. */
export interface Ban {
  /** The end of the ban, in milliseconds since the epoch, by the store's clock. Infinity for a ban until `unban`. */
  readonly until: number
  /** The scope (kind of key) of the banned key. If several keys of the call are banned, this is the scope of the ban that ends last. */
  readonly scope: string
  /** The reason that was given to `ban`, for administrators. No response to a client shows the reason. Undefined if none was given. */
  readonly reason?: string
}

/** An override that applied to the policies of a call. */
export interface AppliedOverride {
  /** The id of the override, for `removeOverride`. Example: `'7'`. */
  readonly id: string
  /** The reason that was given to `override`, for administrators. Undefined if none was given. */
  readonly reason?: string
}

/** One refused cost of a call with a list of costs. */
export interface RefusedCost {
  /** The name of the policy with the longest wait for this cost. */
  readonly policy: string
  /** How long to wait until this cost is admitted, in whole milliseconds, rounded up. Infinity if this cost can never be admitted. */
  readonly retryAfter: number
}

/**
 * The decision about a call: the result of all enforced policies together, and the verdict of each policy. Times are whole
 * milliseconds, rounded up.
 *
 * The examples use the policies `'10/1s'` and `'100/1h'`.
 */
export interface Decision {
  /** True if the call is allowed. A refused call changes no state, unless a policy has `countRefused` or the limiter has a penalty. */
  readonly allowed: boolean
  /** The limit of the binding policy, which `policy` names. Example: under `'10/1s'` and `'100/1h'`, the limit is 10 or 100. */
  readonly limit: number
  /** The largest cost that every enforced policy admits now. If `'10/1s'` has 9 units left and `'100/1h'` has 3, `remaining` is 3. */
  readonly remaining: number
  /**
   * How long to wait until the cost of this call is admitted: the longest wait of the enforced policies. 0 if the call is allowed.
   * Infinity if the cost can never be admitted. Example: if `'10/1s'` needs 300 ms and `'100/1h'` needs 20 minutes, `retryAfter` is
   * 1,200,000. The call is admitted then, and not 1 ms sooner.
   */
  readonly retryAfter: number
  /**
   * How long until the key has its full quota under every policy: the longest `resetAfter` of the policies, or the end of a ban by
   * `RateLimiter.ban` if the ban ends later. Example: if `'10/1s'` needs 700 ms and `'100/1h'` needs 20 minutes, `resetAfter` is
   * 1,200,000.
   */
  readonly resetAfter: number
  /**
   * The name of the binding policy. For a refused call, this is the policy with the longest wait. For an allowed call, this is the policy
   * with the least remaining units. Example: if `'10/1s'` has 9 units left and `'100/1h'` has 3, `policy` is `'1h'`. If a ban by
   * `RateLimiter.ban` refused the call, `policy` is `'ban'`.
   */
  readonly policy: string
  /** The verdicts of the policies, in the order of the limiter's policies. */
  readonly policies: readonly Verdict[]
  /** Where the decision comes from. `'store'`, unless the store failed. */
  readonly source: Source
  /** The time of the decision, in milliseconds since the epoch by the store's clock. Undefined unless the call has the option `at`. */
  readonly at?: number
  /**
   * The ban of the call's key by `RateLimiter.ban`. Undefined if there is no such ban. During a ban, `consume`, `reserve` and `peek`
   * are refused, and `remaining` is 0. The verdicts are the same as the verdicts of a `peek` without the ban.
   */
  readonly ban?: Ban
  /**
   * Only if this call has begun the ban of a penalty with `on: 'spent'`: how long the ban lasts, in whole milliseconds, rounded up. The
   * call itself is admitted. Example: with `{ on: 'spent', ban: '1h' }`, the call that takes the last unit has `banned` 3,600,000.
   */
  readonly banned?: number
  /**
   * Only for a call with a list of costs: the refused costs, in the order of the list. An admitted call took the next cost of the list:
   * `list[decision.tried.length]`. Example: with `cost: [{ own: 1, pool: 0 }, { own: 0, pool: 1 }]`, `tried` is empty if `own` admitted
   * the call, and names `own` if `pool` admitted the call. For a refused call, `tried` names both, `retryAfter` is the shortest wait of
   * the list, and `remaining` belongs to the cost of which the most is left. Absent if no cost was tried: because of a ban by
   * `RateLimiter.ban`, or because the store failed and the call was allowed.
   */
  readonly tried?: readonly RefusedCost[]
  /**
   * The overrides (`RateLimiter.override`) that applied to the policies of this call. Absent if none applied. No response to
   * a client shows the overrides. Example: `[{ id: '7', reason: 'incident 311' }]`.
   */
  readonly override?: readonly AppliedOverride[]
}

/**
 * Adds `resetAt` to the verdict of a policy with a calendar, if the key has used units.
 * @param now the time of the decision in microseconds, from which `resetAfter` counts
 */
export function withResetAt(verdict: Verdict, now: number): Verdict {
  const { resetAfter } = verdict
  return resetAfter === 0 ? verdict : { ...verdict, resetAt: resetAtOf(resetAfter, now) }
}

/** When a window ends, in milliseconds since the epoch. The result is exact, because windows begin at whole milliseconds. */
export function resetAtOf(resetAfter: number, now: number): number {
  return Math.floor(now / 1000) + resetAfter
}

/** Adds the thresholds that a call was the first to reach to the verdict. Returns the verdict unchanged if there are none. */
export function withReached(verdict: Verdict, reached: readonly number[]): Verdict {
  return reached.length === 0 ? verdict : { ...verdict, reached }
}

/**
 * Makes a decision from the verdicts of several policies. If every policy is a shadow, the numbers come from the shadow policies.
 * @param allowed whether the call is allowed; a refund is always allowed
 * @param at the time of the decision in milliseconds since the epoch, if the call has the option `at`. The time is rounded down,
 *   and waits are rounded up, so the sum of this time and a wait is wrong by less than 1 ms
 */
export function join(allowed: boolean, verdicts: readonly Verdict[], source: Source, at?: number): Decision {
  if (verdicts.length === 1) return alone(allowed, verdicts, source, at)
  let binding = verdicts[0] as Verdict
  let { remaining, resetAfter } = binding
  for (let n = 1; n < verdicts.length; n++) {
    const verdict = verdicts[n] as Verdict
    resetAfter = Math.max(resetAfter, verdict.resetAfter)
    if (verdict.shadow && !binding.shadow) continue
    const first = binding.shadow && !verdict.shadow
    remaining = first ? verdict.remaining : Math.min(remaining, verdict.remaining)
    if (first || binds(allowed, verdict, binding)) binding = verdict
  }
  return decisionOf(allowed, binding, remaining, resetAfter, verdicts, source, at)
}

/** Does the same as `join`, for a list with one verdict. */
export function alone(allowed: boolean, verdicts: readonly Verdict[], source: Source, at?: number): Decision {
  const verdict = verdicts[0] as Verdict
  return decisionOf(allowed, verdict, verdict.remaining, verdict.resetAfter, verdicts, source, at)
}

/**
 * Makes the decision about a call that tried several costs.
 * @param alternatives the costs of the list, each with a number for each policy
 * @param tried the refused costs; for a refused call, all costs of the list
 */
export function joinFirst(
  allowed: boolean,
  verdicts: readonly Verdict[],
  alternatives: readonly (readonly number[])[],
  tried: readonly RefusedCost[],
  source: Source,
  at?: number,
): Decision {
  const decision = join(allowed, verdicts, source, at)
  const parts = alternatives.map((costs) => {
    const asked = verdicts.filter(({ shadow }, n) => !shadow && (costs[n] as number) > 0)
    return join(true, asked.length > 0 ? asked : verdicts, source)
  })
  const { limit, policy, remaining } = parts.reduce((most, part) => (part.remaining > most.remaining ? part : most))
  if (allowed) return { ...decision, limit, remaining, policy, tried }
  const { policy: name, retryAfter } = tried.reduce((best, each) => (each.retryAfter < best.retryAfter ? each : best))
  const binding = verdicts.find((verdict) => verdict.name === name) as Verdict
  return { ...decision, limit: binding.limit, remaining, retryAfter, policy: name, tried }
}

/** Makes the object without spread syntax, which would be slower. Every call runs this function. */
function decisionOf(
  allowed: boolean,
  { limit, name: policy, retryAfter: wait }: Verdict,
  remaining: number,
  resetAfter: number,
  policies: readonly Verdict[],
  source: Source,
  at: number | undefined,
): Decision {
  const retryAfter = allowed ? 0 : wait
  if (at === undefined) return { allowed, limit, remaining, retryAfter, resetAfter, policy, policies, source }
  return { allowed, limit, remaining, retryAfter, resetAfter, policy, policies, source, at }
}

function binds(allowed: boolean, verdict: Verdict, other: Verdict): boolean {
  return allowed ? verdict.remaining < other.remaining : verdict.retryAfter > other.retryAfter
}
