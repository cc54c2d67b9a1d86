/* What happens with a response that comes after the timeout of its call, so that no caller gets the decision. */
import { monotonicClock } from '../../../common/index.ts'
import { type Command, type LedgerTerms, tellThresholds } from '../../contract/index.ts'
import type { ScriptRequest } from './script-request.ts'
import { decisionOf, type ScriptResponse } from './script-response.ts'

type Late = NonNullable<ScriptRequest['late']>

/**
 * Returns a function from the keys of a call to the handler of a late response. The handler reports the thresholds in that response,
 * because no caller gets the response. The handler is undefined if no policy has thresholds.
 */
export function thresholdsOf(terms: LedgerTerms): (keys: Command['keys']) => Late | undefined {
  const { policies, onThreshold } = terms
  const tells = onThreshold !== undefined && policies.some(({ thresholds }) => thresholds !== undefined)
  if (!tells) return () => undefined
  return (keys) => (response) => tellThresholds(terms, keys, decisionOf(policies, response))
}

/**
 * Returns the handler of a late response to the call. The handler reports the thresholds (`tell`), and passes the outcome to
 * `terms.onLate`. Units that were leased (taken in advance) by the same request belong to the cost of that outcome.
 */
export function lateResponse(
  { policies, onLate }: LedgerTerms,
  call: Command,
  tell: Late | undefined,
): Late | undefined {
  const { verb, costs = 1 } = call
  if (onLate === undefined || (verb !== 'consume' && verb !== 'reserve' && verb !== 'renew')) return tell
  const sentAt = monotonicClock()
  return (response: ScriptResponse) => {
    tell?.(response)
    const { elsewhere, lease, tickets } = response
    if (elsewhere !== undefined) return
    const taken = typeof costs === 'number' ? costs + (lease?.units ?? 0) : costs
    onLate(
      { ...call, costs: taken },
      { decision: decisionOf(policies, response), tickets },
      (monotonicClock() - sentAt) / 1000,
    )
  }
}
