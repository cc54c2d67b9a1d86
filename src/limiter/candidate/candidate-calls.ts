import type { Policy } from '../../algorithms/index.ts'
import { HeadgateError, shown } from '../../common/index.ts'
import type { CallerCalendars } from '../../policy/index.ts'
import type { OnFailure } from '../../stores/contract/index.ts'
import type { CallExtras } from '../call-arguments.ts'

/** If the store fails, the call is not counted, and no hook is called. */
const letThrough: OnFailure = () => 'open'

/**
 * What is passed with a call on a candidate. The calendar of the customer is passed only if the candidate's policies ask for it.
 * @param policies of the candidate @param plan the current policies @param calendar as the caller has given it
 */
export function candidateExtras(
  policies: readonly Policy[],
  plan: readonly Policy[],
  calendar: CallerCalendars | undefined,
): CallExtras {
  const asks = calendar !== undefined && policies.some((policy) => (policy.calendar?.asks.length ?? 0) > 0)
  return { onFailure: letThrough, enforced: false, plan, ...(asks && { calendar }) }
}

/**
 * Checks that calls of the current policies say all that the candidate needs.
 * @throws HeadgateError `HEADGATE_CANDIDATE` if the candidate has another scope, counts units in flight, or asks for another calendar
 */
export function checkCandidate(policies: readonly Policy[], current: readonly Policy[]): void {
  const scopes = current.map(({ scope }) => scope)
  const other = policies.find(({ scope }) => !scopes.includes(scope))
  if (other !== undefined) {
    throw invalid(
      `has the scope ${shown(other.scope)}, for which calls give no key, because no current policy has it. ` +
        'Add this policy to the current policies with shadow: true.',
    )
  }
  if (policies.some(({ algorithm }) => algorithm.leases)) {
    throw invalid(
      'counts units in flight, but a call that it refuses still runs, and a call that it admits may never start. Leave the policy out, ' +
        'or add it to the current policies with shadow: true.',
    )
  }
  const asks = asked(policies)
  if (asks === '' || asks === asked(current)) return
  throw invalid(
    "asks calls for another calendar of the customer than the current policies. Use anchor: 'caller' and timeZone: 'caller' as there.",
  )
}

/** The calendar parts that calls must give, as a text. Empty if no policy asks for a calendar. */
function asked(policies: readonly Policy[]): string {
  const parts = policies.flatMap(({ scope, calendar }) => calendar?.asks.map((part) => `${scope} ${part}`) ?? [])
  return [...new Set(parts)].sort().join('\n')
}

function invalid(problem: string): HeadgateError {
  return new HeadgateError('HEADGATE_CANDIDATE', `The candidate ${problem}`)
}
