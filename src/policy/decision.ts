/**
 * The source of a decision:
 *
 * - `'store'`: the store
 * - `'fallback'`: a local limiter in this process, because the store failed
 * - `'open'`: no decision; the call was let through because the store failed
 */
export type Source = 'store' | 'fallback' | 'open'

/**
 * The decision of one policy about a call. Times are whole milliseconds, rounded up, and assume that no other call comes.
 *
 * The examples are of `tokenBucket({ limit: 5, window: '1s' })`, which gives a unit back every 200 ms.
 */
export interface Verdict {
  /** The policy's name, such as `'1s'`. */
  readonly name: string
  /** True if this policy admits the call. The call is admitted if every enforced policy admits it. */
  readonly allowed: boolean
  /** The policy's units per window: 5. */
  readonly limit: number
  /**
   * The largest cost that is admitted now, after this call; at least 0. After two requests at once, remaining is 3: a
   * call of cost 3 is admitted, and a call of cost 4 is refused.
   */
  readonly remaining: number
  /**
   * The units that count now: those of admitted calls, booked and charged ones, and refused calls where the policy counts
   * them. Parts of a unit are rounded up. After two requests at once, used is 2; 200 ms later it is 1.
   */
  readonly used: number
  /**
   * 0 if allowed, else the time until this cost is admitted. After five requests at once, the sixth is refused with
   * retryAfter 200: it is admitted after 200 ms, and not 1 ms sooner. Infinity if the cost can never be admitted, such as
   * a cost of 6.
   */
  readonly retryAfter: number
  /**
   * The time until the key has its full quota again. After one request, resetAfter is 200. If that request came 50 ms
   * ago, resetAfter is 150.
   */
  readonly resetAfter: number
  /** True if the policy is only evaluated and reported. A shadow never refuses the call. */
  readonly shadow: boolean
  /**
   * The time until `remaining` grows; 0 if the quota is full. After five requests at once, nextAfter is 200 and
   * resetAfter is 1000. Only present if the call has the option `nextAfter`.
   */
  readonly nextAfter?: number
}

/** The ban of a key: see `RateLimiter.ban`. */
export interface Ban {
  /** When it ends, in milliseconds since the epoch by the store's clock. Infinity for a ban that lasts until it is lifted. */
  readonly until: number
  /** The scope of the banned key. If several keys of the call are banned, the scope of the ban that ends last. */
  readonly scope: string
  /** The reason that was given, if any. It is for you: no response shows it. */
  readonly reason?: string
}

/**
 * The decision about a call: the joint decision of all enforced policies, and the verdict of each policy. Times are as in
 * `Verdict`.
 *
 * The examples are of the policies `'10/1s'` and `'100/1h'`.
 */
export interface Decision {
  /** True if the call may go on. A refused call changes nothing, unless a policy has `countRefused`. */
  readonly allowed: boolean
  /** The limit of the binding policy (see `policy`): 10 or 100. */
  readonly limit: number
  /** The largest cost that every enforced policy admits now. With 9 left in the second and 3 in the hour, it is 3. */
  readonly remaining: number
  /**
   * 0 if allowed, else the longest wait of the enforced policies. If the second waits 300 ms and the hour 20 minutes, it is
   * 1,200,000: then this cost is admitted, and not 1 ms sooner. Infinity if the cost can never be admitted.
   */
  readonly retryAfter: number
  /**
   * The time until the key has its full quota under every policy: the longest `resetAfter`. If the second needs 700 ms
   * and the hour 20 minutes, it is 1,200,000.
   */
  readonly resetAfter: number
  /**
   * The name of the binding policy. If the call is refused, the policy with the longest wait; else the policy with the
   * least remaining. In the examples above it is `'1h'`. If a ban by hand refuses the call, it is `'ban'`.
   */
  readonly policy: string
  /** One verdict per policy, in the limiter's order. */
  readonly policies: readonly Verdict[]
  /** `'store'`, unless the store failed. */
  readonly source: Source
  /**
   * The time of the decision by the store's clock, in milliseconds since the epoch, such as 1767225600000. Only present
   * if the call has the option `at`.
   */
  readonly at?: number
  /**
   * Only present if a key of the call is banned by hand. Then `consume`, `reserve` and `peek` are refused, nothing remains, and
   * the verdicts are those of a peek.
   */
  readonly ban?: Ban
}

/**
 * Joins the verdicts to a decision. If every policy is a shadow, the call is allowed, with the numbers of the shadow policies.
 * @param allowed the joint outcome; a refund is allowed whatever is left
 * @param at the time, if the call has the option `at`: milliseconds since the epoch, rounded down because waits are rounded up
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

/** The same as `join` for a single verdict. */
export function alone(allowed: boolean, verdicts: readonly Verdict[], source: Source, at?: number): Decision {
  const verdict = verdicts[0] as Verdict
  return decisionOf(allowed, verdict, verdict.remaining, verdict.resetAfter, verdicts, source, at)
}

/** Writes object literals without a spread, for speed: this runs for every request. */
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
