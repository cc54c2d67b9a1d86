/* The parts of a reservation besides its decision: whether the reservation can be granted, its tickets, and the units of its settlement. */
import type { Algorithm, Ticket } from '../algorithm.ts'
import { effectiveTime } from '../effective-time.ts'
import type { DecidingVerb } from './call-terms.ts'
import { type PolicyEvaluation, unitsKnown } from './policy-evaluation.ts'

/**
 * A future time can be promised only if a single policy delays the call. Several policies could book the call for different times. A
 * policy with a shorter wait would then admit other calls meanwhile, and exceed its limit at the promised time.
 */
export function canPromise(policies: readonly PolicyEvaluation[], now: number): boolean {
  const enforced = policies.filter(({ policy, cost, wait }) => !policy.shadow && (cost > 0 || wait > 0))
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
 * @param id the id that the state gets if the state has no open reservations yet
 * @param expires after how many microseconds the reservation gives its units back, if the algorithm knows such reservations
 * @param renewed for a renewal: the earlier ticket
 */
export function ticketOf(
  evaluation: PolicyEvaluation,
  now: number,
  id: number,
  renews: boolean,
  renewed: Ticket | undefined,
  expires: number | undefined,
): Ticket | undefined {
  const { wait, cost, delay } = evaluation
  evaluation.delay = 0
  const { algorithm, s, i, at } = renews ? evaluation.own(now) : evaluation
  const { idSlot, expiring } = algorithm
  if (wait > 0 || cost === 0) return undefined
  if (renews && (!algorithm.leases || renewed === undefined)) return undefined
  if (idSlot === undefined) return evaluation.held ?? [0, 0, cost]
  if ((s[i + idSlot] as number) <= 0) s[i + idSlot] = id
  const since = algorithm.bookedAt(s, i, at, delay) + (renews ? leaseBeyond(evaluation, algorithm) : 0)
  if (expires === undefined || expiring === undefined || expiring.isFull(s, at))
    return [since, s[i + idSlot] as number, cost]
  const ticket: Ticket = [since, s[i + idSlot] as number, cost, at + expires]
  expiring.add(s as number[], ticket)
  return ticket
}

/**
 * How much longer the lease of a renewal is than the leases of the state, in microseconds. A renewed lease is that of the plan under which
 * the units were reserved, even if a call under another plan has written the state.
 */
function leaseBeyond({ algorithm }: PolicyEvaluation, own: Algorithm): number {
  return algorithm.leases ? algorithm.span - own.span : 0
}

/** The part of an evaluation that `isFull` reads. */
interface Evaluated {
  readonly takes: boolean
  readonly policies: readonly PolicyEvaluation[]
}

/**
 * True if an admitted reservation that expires must not be committed, because a policy already stores as many reservations as possible.
 * A shadow policy refuses nothing. If a shadow policy is full, the new reservation is not stored, so its units stay taken after its expiry.
 */
export function isFull({ takes, policies }: Evaluated): boolean {
  if (!takes) return false
  return policies.some(({ policy, algorithm: { expiring }, s, at, cost }) => {
    return cost > 0 && !policy.shadow && expiring?.isFull(s, at) === true
  })
}

/**
 * The units that a settlement charges. A number below 0 means units that the settlement gives back. An expired reservation has already
 * given its units back, so its settlement charges the whole actual cost.
 */
export function correctionOf(
  evaluation: PolicyEvaluation,
  now: number,
  correction: number,
  ticket: Ticket | undefined,
): number {
  if (ticket?.[3] === undefined) return correction
  const { algorithm, s, i } = evaluation.own(now)
  return effectiveTime(algorithm, s[i] as number, now) < ticket[3] ? correction : correction + ticket[2]
}

/**
 * Adds the units of a charge, or of a renewed lease (of units in flight), to the state of a policy. A charge of 0 units only creates the
 * state.
 */
export function takeMore(
  evaluation: PolicyEvaluation,
  now: number,
  verb: DecidingVerb,
  ticket: Ticket | undefined,
): void {
  if (evaluation.keepsNothing) return
  const { cost } = evaluation
  const { algorithm, s, i, at } = evaluation.own(now)
  if (verb === 'renew') {
    if (cost === 0 || ticket === undefined || !algorithm.leases) return
    if (unitsKnown(algorithm, s, i, ticket) > 0) algorithm.settle(s, i, at, cost, ticket)
  }
  algorithm.take(s, i, at, cost, verb === 'renew' ? leaseBeyond(evaluation, algorithm) : 0)
  evaluation.changed(now)
}
