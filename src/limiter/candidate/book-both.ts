import { isPromise, type MaybePromise } from '../../common/index.ts'
import type { Decision } from '../../policy/index.ts'
import { type Reservation, settleAlike } from '../reservation.ts'
import type { ComparedCall, Comparison } from './comparison.ts'

/**
 * Makes a reservation of the candidate beside a reservation of the current policies. The candidate's reservation is settled with it. If only the
 * candidate admits the call, its units stay taken: the call does not run, so its actual cost is never known.
 * @param book makes the candidate's reservation
 */
export function bookBoth(
  comparison: Comparison,
  call: ComparedCall,
  reservation: MaybePromise<Reservation>,
  book: () => MaybePromise<Reservation>,
): MaybePromise<Reservation> {
  let tried: MaybePromise<Reservation> | undefined
  const ask = () => {
    tried = book()
    return decisionOf(tried)
  }
  comparison.add(call, decisionOf(reservation), ask)
  if (tried === undefined) return reservation
  const candidate = tried
  if (isPromise(reservation)) return reservation.then((current) => settleAlike(current, candidate))
  return settleAlike(reservation, candidate)
}

function decisionOf(reservation: MaybePromise<Reservation>): MaybePromise<Decision> {
  return isPromise(reservation) ? reservation.then(({ decision }) => decision) : reservation.decision
}
