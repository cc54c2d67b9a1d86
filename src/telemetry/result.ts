import type { CalledLimiter, LimiterCallEvent } from '../limiter/index.ts'
import type { Decision } from '../policy/index.ts'

/**
 * The outcome of a call, as metrics count it. Every call has exactly one result.
 *
 * If the call goes on:
 * - `'admitted'`: every policy admits the call
 * - `'shadow'`: a policy refuses the call, but the refusal is not enforced, because of `shadow` or `enforce`
 * - `'fallback'`: this process admits the call, because the store failed
 * - `'open'`: the call goes on and is not counted, because the store failed
 *
 * If the call is refused:
 * - `'refused'`: by a policy; the store or this process decided
 * - `'banned'`: by a ban, which a call of `ban` or the limiter's penalty has begun
 * - `'error'`: the store failed, and `onStoreError` is `'closed'` or `'throw'`
 */
export type Result = 'admitted' | 'shadow' | 'fallback' | 'open' | 'refused' | 'banned' | 'error'

export const results: readonly Result[] = ['admitted', 'shadow', 'fallback', 'open', 'refused', 'banned', 'error']

export function resultOf({ decision, enforced, instance }: LimiterCallEvent): Result {
  if (decision === undefined) return 'error'
  if (!decision.allowed) return enforced ? (isBanned(decision, instance) ? 'banned' : 'refused') : 'shadow'
  if (decision.source !== 'store') return decision.source
  return shadowOf(decision) === undefined ? 'admitted' : 'shadow'
}

/**
 * The name of the policy under which a call is counted. This is the penalty that bans the key, or else the shadow policy (not enforced)
 * that would refuse the call, or else the binding policy (`decision.policy`). For a ban by the method `ban`, the name is `'ban'`. Undefined
 * for a call without a decision.
 */
export function policyOf({ decision, instance }: LimiterCallEvent): string | undefined {
  if (decision === undefined) return undefined
  if (decision.allowed) return shadowOf(decision) ?? decision.policy
  if (decision.ban !== undefined) return decision.policy
  return isPenalized(decision, instance) ? decision.policies.at(-1)?.name : decision.policy
}

function isBanned(decision: Decision, limiter: CalledLimiter): boolean {
  return decision.ban !== undefined || isPenalized(decision, limiter)
}

/** True if a ban by the option `penalty` refused the call. The penalty is the last of the limiter's policies. */
function isPenalized({ policies }: Decision, { penalty }: CalledLimiter): boolean {
  return penalty !== undefined && policies.at(-1)?.allowed === false
}

function shadowOf({ policies }: Decision): string | undefined {
  for (let n = 0; n < policies.length; n++) {
    const verdict = policies[n]
    if (verdict?.shadow && !verdict.allowed) return verdict.name
  }
  return undefined
}
