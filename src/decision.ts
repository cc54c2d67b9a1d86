/**
 * Who answered: the store, a local stand-in for a store that failed (`'fallback'`), or nobody, the call being let
 * through because the store failed (`'open'`).
 */
export type Source = 'store' | 'fallback' | 'open'

/** What one policy says of a call. Times are whole milliseconds, rounded up; waits assume that nothing else comes. */
export interface Verdict {
  /** The policy's name. */
  readonly name: string
  /** Whether this policy admits the call. The call as a whole is admitted only if every enforced policy does. */
  readonly allowed: boolean
  /** Units per window, as promised. */
  readonly limit: number
  /** The largest cost that would be admitted now, after this call: that much, and not one unit more. At least 0. */
  readonly remaining: number
  /** 0 if allowed; else how long until this cost is admitted, and not 1 ms sooner. Infinity: it never will be. */
  readonly retryAfter: number
  /** How long until the key cannot be told from one that never called. */
  readonly resetAfter: number
  /** How long until `remaining` grows; 0 if it cannot. There only if the call asked for it. */
  readonly nextAfter: number | undefined
  /** Evaluated and reported only. */
  readonly shadow: boolean
}

/** The answer to a call: what all enforced policies say together, then what each says. Times as in `Verdict`. */
export interface Decision {
  /** Whether the call may go on. Refused calls change nothing, unless a policy counts them. */
  readonly allowed: boolean
  /** Units per window, of the binding policy. */
  readonly limit: number
  /** The largest cost that every enforced policy would admit now. */
  readonly remaining: number
  /** 0 if allowed; else the longest wait: then this cost is admitted, and not 1 ms sooner. Infinity: never. */
  readonly retryAfter: number
  /** How long until the key cannot be told from one that never called, by any policy. */
  readonly resetAfter: number
  /** The binding policy's name: of a refusal the one with the longest wait, else the one with the least left. */
  readonly policy: string
  /** One verdict per policy, in the limiter's order. */
  readonly policies: readonly Verdict[]
  readonly source: Source
  /** When this was decided, in milliseconds since the epoch by the store's clock: `at + resetAfter` is a time of day. */
  readonly at: number
}

/**
 * Joins the verdicts. Where every policy is a shadow the call is allowed and the numbers are those of the shadows.
 * @param allowed the joint outcome: a refund is allowed whatever is left
 * @param at whole milliseconds since the epoch, rounded down as waits are rounded up
 */
export function join(allowed: boolean, verdicts: readonly Verdict[], source: Source, at: number): Decision {
  let binding: Verdict | undefined
  let remaining = Infinity
  let resetAfter = 0
  for (const verdict of verdicts) {
    resetAfter = Math.max(resetAfter, verdict.resetAfter)
    if (binding !== undefined && verdict.shadow && !binding.shadow) continue
    if (binding === undefined || (binding.shadow && !verdict.shadow)) {
      binding = verdict
      remaining = verdict.remaining
      continue
    }
    remaining = Math.min(remaining, verdict.remaining)
    if (allowed ? verdict.remaining < binding.remaining : verdict.retryAfter > binding.retryAfter) binding = verdict
  }
  const { limit, retryAfter, name } = binding as Verdict
  return {
    allowed,
    limit,
    remaining,
    retryAfter: allowed ? 0 : retryAfter,
    resetAfter,
    policy: name,
    policies: verdicts,
    source,
    at,
  }
}
