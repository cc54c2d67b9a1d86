/* What a reservation needs besides a decision: whether a later time can be promised, and the tickets of a granted reservation. */
import type { Ticket } from '../algorithm.ts'
import type { PolicyEvaluation } from './policy-evaluation.ts'

/**
 * A future time can be promised only if a single policy delays the call. If several policies booked the call for different times, a
 * policy with a shorter wait would admit other calls meanwhile, and exceed its limit at the time that was promised to the call.
 */
export function canPromise(policies: readonly PolicyEvaluation[], now: number): boolean {
  const enforced = policies.filter(({ policy, cost }) => !policy.shadow && cost > 0)
  // A penalty or a policy that counts units in flight prevents a reservation for a future time only if this policy delays the call.
  const [evaluation, ...more] = enforced.filter(({ algorithm, wait }) => {
    return wait > 0 || !(algorithm.punishes || algorithm.leases)
  })
  if (evaluation === undefined || more.length > 0 || evaluation.carried) return false
  const { s, i, at, wait, cost, algorithm } = evaluation
  return algorithm.promises && algorithm.fits(s, i, at, cost, wait - (at - now))
}

/**
 * The ticket of a reservation under one policy; undefined if the reservation took no unit.
 * @param id the id that the state gets if it has no open reservations yet
 * @param renewed for a renewal: the earlier ticket
 */
export function ticketOf(
  evaluation: PolicyEvaluation,
  now: number,
  id: number,
  renews: boolean,
  renewed: Ticket | undefined,
): Ticket | undefined {
  const { wait, cost, delay } = evaluation
  evaluation.delay = 0
  const { algorithm, s, i, at } = renews ? evaluation.own(now) : evaluation
  const { idSlot } = algorithm
  if (wait > 0 || cost === 0) return undefined
  if (renews && (!algorithm.leases || renewed === undefined)) return undefined
  if (idSlot === undefined) return [0, 0, cost]
  if ((s[i + idSlot] as number) <= 0) s[i + idSlot] = id
  return [algorithm.bookedAt(s, i, at, delay), s[i + idSlot] as number, cost]
}
