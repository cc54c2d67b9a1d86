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
  /** Evaluated and reported only. */
  readonly shadow: boolean
  /** How long until `remaining` grows; 0 if it cannot. Told to those who ask for it, as headers do. */
  readonly nextAfter?: number
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
  /** When this was decided, in milliseconds since the epoch by the store's clock. Told to those who ask for it. */
  readonly at?: number
}

/**
 * The decision that the verdicts make. Where every policy is a shadow the call is allowed and the numbers are those of the
 * shadows.
 * @param allowed the joint outcome: a refund is allowed whatever is left
 * @param at if it was asked for: milliseconds since the epoch, rounded down as waits are rounded up
 */
export function join(allowed: boolean, verdicts: readonly Verdict[], source: Source, at?: number): Decision {
  const decision = verdicts.length === 1 ? alone(allowed, verdicts, source) : joinAll(allowed, verdicts, source)
  return at === undefined ? decision : dated(decision, at)
}

/** The same of one verdict. */
export function alone(allowed: boolean, policies: readonly Verdict[], source: Source): Decision {
  const { limit, remaining, resetAfter, retryAfter: wait, name: policy } = policies[0] as Verdict
  return { allowed, limit, remaining, retryAfter: allowed ? 0 : wait, resetAfter, policy, policies, source }
}

function joinAll(allowed: boolean, verdicts: readonly Verdict[], source: Source): Decision {
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
  const { limit, name: policy, retryAfter: wait } = binding
  const retryAfter = allowed ? 0 : wait
  return { allowed, limit, remaining, retryAfter, resetAfter, policy, policies: verdicts, source }
}

/** A literal and no spread: this is built for every request. */
export function dated(
  { allowed, limit, remaining, retryAfter, resetAfter, policy, policies, source }: Decision,
  at: number,
): Decision {
  return { allowed, limit, remaining, retryAfter, resetAfter, policy, policies, source, at }
}

function binds(allowed: boolean, verdict: Verdict, other: Verdict): boolean {
  return allowed ? verdict.remaining < other.remaining : verdict.retryAfter > other.retryAfter
}
