import type { Alternatives, Costs, Tickets } from '../algorithms/evaluation/index.ts'
import type { Policy, Ticket } from '../algorithms/index.ts'
import {
  attempt,
  boundMethods,
  HeadgateError,
  invalidOption,
  isPromise,
  type MaybePromise,
  shown,
} from '../common/index.ts'
import type { Decision } from '../policy/index.ts'
import { type AskedCosts, type Booking, type Command, costsTaken, type OutcomeOf } from '../stores/contract/index.ts'
import { checkNames, checkUnits, type Units } from './call-arguments.ts'
import type { Load } from './limiter-events.ts'

/** The call that made a reservation. */
export interface ReservedCall extends AskedCosts {
  readonly run: <V extends 'reserve' | 'renew' | 'settle'>(command: Command<V>) => MaybePromise<OutcomeOf<V>>
  readonly policies: readonly Policy[]
  /** The policies of the caller's plan, if an override has replaced some of them. `settle` accepts and ignores the names of these. */
  readonly plan?: readonly Policy[] | undefined
  readonly keys: readonly string[]
  /**
   * Counts the reservations with units in flight (of `concurrency` policies). This reservation is counted until its units are freed.
   * Undefined if the reservation has no units in flight.
   */
  readonly load?: Load
}

// The class below assigns these functions, because only code in the class can call its private methods.
let settleAndHoldBy: typeof settleAndHold
let settleAlikeBy: typeof settleAlike

/** Settles the reservation of a candidate when a reservation is settled, with the same actual cost. Returns the reservation. */
export function settleAlike(reservation: Reservation, candidate: MaybePromise<Reservation>): Reservation {
  return settleAlikeBy(reservation, candidate)
}

/**
 * `settle` for the adapters of frameworks: corrects the cost, but `concurrency` units stay taken until `release`.
 * @param actual `'reserved'` if the reserved cost is the actual cost. Such a call is needed only for a penalty with `on: 'spent'`
 */
export function settleAndHold(reservation: Reservation, actual: Units | 'reserved'): MaybePromise<unknown> {
  return settleAndHoldBy(reservation, actual)
}

/**
 * Units that were taken from a limiter before the actual cost of the call is known. Call `settle` (which corrects the cost) or `cancel`
 * once: later calls do nothing. If the reservation was refused, `settle` and `cancel` do nothing. Units that are never settled stay used,
 * unless the reservation was made with `onExpiry: 'give-back'`.
 */
export class Reservation {
  /** True if the units were taken. False if the reservation was refused. */
  readonly allowed: boolean
  /**
   * How long to wait before you use the units, in whole milliseconds. 0 if the units are available now, and if the reservation was refused:
   * `decision.retryAfter` then says when to try again. With `maxWait: '2s'` and a unit that is available in 200 ms, `wait` is 200.
   */
  readonly wait: number
  /** The decision on the estimated cost. If the decision is a refusal, no units were taken. */
  readonly decision: Decision
  /** The reservation of the candidate, which is settled like this one. Undefined without a candidate. */
  #candidate: MaybePromise<Reservation> | undefined
  readonly #call: ReservedCall
  /** The cost that was taken. */
  readonly #costs: Costs
  #tickets: Tickets | undefined
  /** True after the reservation was settled (corrected to the actual cost) or cancelled, or if the reservation was refused. */
  #settled: boolean
  /** True after the units in flight (of `concurrency` policies) were freed. */
  #released: boolean
  /** The actual cost that `settleAndHold` has charged. `'reserved'` if it confirmed the reserved cost for a penalty, and changed nothing. */
  #corrected: Units | 'reserved' | undefined
  /** The renewal of leases that the store has not answered yet. Undefined if no renewal is under way. */
  #renewal: Promise<boolean> | undefined

  constructor(call: ReservedCall, { decision, wait, tickets }: Booking) {
    this.allowed = decision.allowed
    this.#settled = !decision.allowed
    this.wait = wait
    this.decision = decision
    this.#call = call
    this.#costs = costsTaken(call, decision)
    this.#tickets = tickets
    this.#released = !decision.allowed || !call.policies.some(({ algorithm }) => algorithm.leases)
    if (!this.#released && call.load !== undefined) call.load.inFlight++
  }

  /**
   * Corrects the cost of the reservation to the actual cost. Gives units back if the actual cost is lower, and takes more units if the
   * actual cost is higher. Several reservations can be corrected in any order. Units that have already become available with time are not
   * given back again. After a call with a list of costs, only the policies from which units were taken are corrected: `settle({ own: 3,
   * pool: 3 })` corrects the budget that has paid. A number is enough if each cost of the list takes the same number from its policies.
   *
   * Rejects with HeadgateError `HEADGATE_COST` unless `actual` is a whole number of at least 0, or a record with such a number for
   * each policy's name. After this error, `settle` can be called again. Rejects with `HEADGATE_INEXACT` if a policy cannot count
   * the additional units exactly; the other policies have then charged these units. Rejects with `HEADGATE_STORE_UNAVAILABLE` if
   * the store fails and `onStoreError` is `'closed'`. Units to give back are then given back when the store works again.
   */
  async settle(actual: Units): Promise<void> {
    await this.#settle(actual)
  }

  /** Gives all units back, as if the call had not been made. Rejects for the same reasons as `settle`. */
  async cancel(): Promise<void> {
    await this.#settle(0)
  }

  /**
   * Frees the units in flight (of unfinished calls), under `concurrency` policies. The cost under other policies does not change. `settle`
   * and `cancel` also free these units. Rejects for the same reasons as `settle`.
   */
  async release(): Promise<void> {
    await this.#apply((n) => (this.#holds(n) ? -this.#cost(n) : undefined), true)
  }

  /**
   * Renews the leases of the units in flight, for work that takes longer than a lease: each unit is freed a full lease from now at the
   * latest. Resolves to false if the reservation is already settled or released, or if a lease had ended and other calls have taken the
   * units. Rejects for the same reasons as `settle`.
   */
  async renew(): Promise<boolean> {
    if (this.#settled) return false
    if (this.#released) return !this.#call.policies.some(({ algorithm }) => algorithm.leases)
    // Simultaneous calls share one renewal. A renewal replaces the tickets, so a second one with the old tickets would take units again.
    this.#renewal ??= this.#renew().finally(() => {
      this.#renewal = undefined
    })
    return this.#renewal
  }

  async #renew(): Promise<boolean> {
    const { run, policies, keys } = this.#call
    const costs = policies.map((_, n) => (this.#holds(n) ? this.#cost(n) : 0))
    const given = this.#tickets
    const before = given?.slice()
    const { decision, tickets } = await run({ verb: 'renew', keys, costs, tickets: given })
    if (tickets === given) return decision.allowed // the store has not answered this renewal
    // A late answer to an earlier renewal has changed tickets meanwhile: this renewal did not find those units, and took further ones, or
    // was refused. In a Redis Cluster, a refused renewal may have renewed the units in some slots.
    const late = given?.map((ticket, n) => (ticket === before?.[n] ? undefined : ticket))
    const missed = costs.some((units, n) => units > 0 && late?.[n] !== undefined)
    const back = costs.map((units, n) => (late?.[n] === undefined || tickets?.[n] === undefined ? 0 : -units))
    this.#tickets = given?.map((ticket, n) => tickets?.[n] ?? ticket)
    if (back.some((units) => units < 0)) attempt(() => run({ verb: 'settle', keys, costs: back, tickets: late }))
    return missed && !decision.allowed ? this.#renew() : decision.allowed
  }

  #settle(actual: Units): MaybePromise<unknown> {
    const corrections = this.#corrections(actual)
    if (this.#settled) return undefined
    this.#settled = true
    const units = (n: number) => (this.#holds(n) ? -this.#cost(n) : this.#isCorrected(n) ? undefined : corrections[n])
    const settled = this.#apply(units, true)
    this.#alike((candidate) => candidate.#settle(actual))
    return settled
  }

  /** Settles the reservation of the candidate. Nobody waits for it, and nobody gets its errors. */
  #alike(settle: (candidate: Reservation) => MaybePromise<unknown>): void {
    const candidate = this.#candidate
    if (candidate !== undefined) attempt(() => (isPromise(candidate) ? candidate.then(settle) : settle(candidate)))
  }

  #isCorrected(n: number): boolean {
    if (this.#corrected === 'reserved') return this.#call.policies[n]?.algorithm.spends === true
    return this.#corrected !== undefined
  }

  #settleAndHold(actual: Units | 'reserved'): MaybePromise<unknown> {
    const corrections = this.#corrections(actual === 'reserved' ? {} : actual)
    if (this.#settled || (this.#corrected !== undefined && this.#corrected !== 'reserved')) return undefined
    const open = corrections.map((units, n) => (this.#isCorrected(n) ? undefined : units))
    this.#corrected = actual
    const settled = this.#apply((n) => open[n], false)
    this.#alike((candidate) => candidate.#settleAndHold(actual))
    return settled
  }

  static {
    settleAndHoldBy = (reservation, actual) => reservation.#settleAndHold(actual)
    boundMethods(Reservation.prototype, 'settle', 'cancel', 'release', 'renew')
    settleAlikeBy = (reservation, candidate) => {
      reservation.#candidate = candidate
      return reservation
    }
  }

  /**
   * The units that each policy has to charge; a negative number is given back.
   * @throws HeadgateError `HEADGATE_COST` if `actual` is invalid
   */
  #corrections(actual: Units): readonly number[] {
    const { policies, plan = [], alternatives } = this.#call
    if (typeof actual === 'object' && actual !== null) checkNames(actual, [...policies, ...plan], 'The actual cost')
    else if (!Number.isSafeInteger(actual) || (actual as number) < 0) throw wrongActual(actual)
    else if (typeof this.#costs !== 'number' && (actual as number) > 0 && !isUniform(policies, alternatives))
      throw oneForAll(actual as number)
    return policies.map((policy, n) => this.#correction(policy, n, actual))
  }

  /** The units that one policy has to charge for the actual cost. A negative number of units is given back. */
  #correction({ name, algorithm }: Policy, n: number, actual: Units): number {
    const reserved = this.#cost(n)
    if (algorithm.spends) return -reserved
    if (typeof actual === 'object' && !Object.hasOwn(actual, name)) return 0
    const isAsked = reserved > 0 || this.#call.alternatives === undefined
    const units = typeof actual === 'object' ? checkUnits(actual[name] as number, name) : actual
    return algorithm.punishes || algorithm.leases || !isAsked ? 0 : units - reserved
  }

  #cost(n: number): number {
    const costs = this.#costs
    return typeof costs === 'number' ? costs : (costs[n] as number)
  }

  /** True if the reservation holds units in flight (of an unfinished call) under the policy with index `n`. */
  #holds(n: number): boolean {
    return !this.#released && this.#call.policies[n]?.algorithm.leases === true
  }

  /** @param correction the units that a policy charges, or below 0 gives back. Undefined if they are not known yet, or already charged */
  #apply(correction: (n: number) => number | undefined, releases: boolean): MaybePromise<unknown> {
    const { run, policies, keys, load } = this.#call
    const corrections = policies.map((_, n) => correction(n))
    if (releases && !this.#released && load !== undefined) load.inFlight--
    if (releases) this.#released = true
    const expire = (settled: boolean) => (ticket: Ticket | undefined, n: number) =>
      ticket?.[3] !== undefined && (corrections[n] !== undefined) === settled
    // A reservation that expires has to be settled even if its cost does not change: otherwise its units come back at the expiry.
    const costs = corrections.map((units = 0) => units)
    if (costs.every((units) => units === 0) && !this.#tickets?.some(expire(true))) return undefined
    const settle = () => {
      const stays = expire(false)
      const tickets = this.#tickets?.some(stays)
        ? this.#tickets.map((ticket, n) => (stays(ticket, n) ? undefined : ticket))
        : this.#tickets
      const settled = run({ verb: 'settle', keys, costs, tickets })
      return isPromise(settled) ? settled.then(checkCharged) : checkCharged(settled)
    }
    return this.#renewal === undefined ? settle() : this.#renewal.then(settle, settle)
  }
}

/**
 * True if each cost of a list takes the same number from every policy that it names with a number above 0. A single number is then a clear
 * actual cost, whichever cost was taken. False for a call without a list.
 */
function isUniform(policies: readonly Policy[], alternatives: Alternatives | undefined): boolean {
  const counted = ({ algorithm }: Policy) => !algorithm.punishes && !algorithm.leases
  const units = (costs: readonly number[]) => costs.filter((cost, n) => cost > 0 && counted(policies[n] as Policy))
  return alternatives?.every((costs) => new Set(units(costs)).size <= 1) ?? false
}

/** @throws HeadgateError `HEADGATE_INEXACT` if a policy could not charge the units that exceed the estimate */
function checkCharged(decision: Decision | undefined): void {
  const inexact = decision?.policies.find(({ retryAfter }) => retryAfter === Infinity)
  if (inexact === undefined) return
  throw new HeadgateError(
    'HEADGATE_INEXACT',
    `The policy ${shown(inexact.name)} cannot count so many units exactly, so the units beyond the estimate are not charged. ` +
      'Settle smaller costs, or count in a larger unit.',
  )
}

function wrongActual(actual: unknown): HeadgateError {
  const fix = 'Round it up: Math.ceil(cost).'
  return invalidOption('The actual cost', 'a whole number from 0 to 2^53 - 1', actual, fix, 'HEADGATE_COST')
}

function oneForAll(actual: number): HeadgateError {
  return new HeadgateError(
    'HEADGATE_COST',
    `The reservation has a cost for each policy, so the actual cost ${actual} is ambiguous. Write settle({ tokens: ${actual} }).`,
  )
}
