import type { Costs, Tickets } from '../algorithms/evaluation/index.ts'
import type { Policy } from '../algorithms/index.ts'
import { HeadgateError, invalidOption, isPromise, type MaybePromise, shown } from '../common/index.ts'
import type { Decision } from '../policy/index.ts'
import type { Booking, Command, OutcomeOf } from '../stores/contract/index.ts'
import { checkNames, checkUnits, type Units } from './call-arguments.ts'
import type { Load } from './limiter-events.ts'

/** What a reservation was made with. */
export interface ReservedCall {
  readonly run: <V extends 'reserve' | 'renew' | 'settle'>(command: Command<V>) => MaybePromise<OutcomeOf<V>>
  readonly policies: readonly Policy[]
  readonly keys: readonly string[]
  readonly costs: Costs
  /** Counts the reservation while it holds units in flight. */
  readonly load?: Load
}

// The class assigns this: only the class reaches its private methods.
let settleAndHoldBy: typeof settleAndHold

/** For adapters: `settle`, but units in flight stay held until `release`. */
export function settleAndHold(reservation: Reservation, actual: Units): MaybePromise<unknown> {
  return settleAndHoldBy(reservation, actual)
}

/**
 * Units taken from a limiter before the call's true cost is known. A reservation is settled once: the first `settle` or
 * `cancel` counts, and later calls do nothing. On a refused reservation, `settle` and `cancel` do nothing. Units that
 * are never settled stay taken in full.
 */
export class Reservation {
  /** True if the units were taken. */
  readonly allowed: boolean
  /**
   * How long to wait before acting, in whole milliseconds. 0 if the units are available now. With `maxWait: '2s'` and a
   * unit that comes in 200 ms, it is 200. Also 0 if refused: then `decision.retryAfter` says when to try again.
   */
  readonly wait: number
  /** The decision on the estimate. If it is refused, no units were taken. */
  readonly decision: Decision
  readonly #call: ReservedCall
  #tickets: Tickets | undefined
  /** True once the reservation is settled or cancelled, and if it was refused. */
  #settled: boolean
  /** True once the units in flight are free. */
  #released: boolean
  /** True once the actual cost is corrected, with the units in flight still held. */
  #corrected = false
  /** The renewal that has not been answered yet. */
  #renewal: Promise<boolean> | undefined

  constructor(call: ReservedCall, { decision, wait, tickets }: Booking) {
    this.allowed = decision.allowed
    this.#settled = !decision.allowed
    this.wait = wait
    this.decision = decision
    this.#call = call
    this.#tickets = tickets
    this.#released = !decision.allowed || !call.policies.some(({ algorithm }) => algorithm.leases)
    if (!this.#released && call.load !== undefined) call.load.inFlight++
  }

  /**
   * Corrects the reservation to the true cost: gives the rest back, or charges the units beyond the estimate.
   * Reservations can be settled in any order. Units that time has given back already are not given back twice.
   *
   * Rejects with HeadgateError `HEADGATE_COST` unless `actual` is a whole number from 0, or a record with such numbers
   * by the names of policies; then `settle` can be called again. Rejects with `HEADGATE_INEXACT` if a policy cannot count the
   * units beyond the estimate in exact numbers; the other policies have charged theirs. Rejects with
   * `HEADGATE_STORE_UNAVAILABLE` if the store fails and `onStoreError` is `'closed'`.
   */
  async settle(actual: Units): Promise<void> {
    await this.#settle(actual)
  }

  /** Gives everything back, as if the call had never been made. Rejects as `settle` does. */
  async cancel(): Promise<void> {
    await this.#settle(0)
  }

  /**
   * Frees the units in flight (`concurrency`), and leaves the cost under the other policies as it is. `settle` and
   * `cancel` free them too. Rejects as `settle` does.
   */
  async release(): Promise<void> {
    await this.#apply((n) => (this.#holds(n) ? -this.#cost(n) : 0), true)
  }

  /**
   * Starts the leases of the units in flight anew, for work that takes longer than a lease. Resolves to false if a
   * lease had ended and other calls have taken its units, and once the reservation is settled. Rejects as `settle`
   * does.
   */
  async renew(): Promise<boolean> {
    if (this.#settled) return false
    if (this.#released) return this.allowed
    // Calls at the same time share one renewal: a second renewal would not find the ticket, and would take units again.
    this.#renewal ??= this.#renew().finally(() => {
      this.#renewal = undefined
    })
    return this.#renewal
  }

  async #renew(): Promise<boolean> {
    const { run, policies, keys } = this.#call
    const costs = policies.map((_, n) => (this.#holds(n) ? this.#cost(n) : 0))
    const { decision, tickets } = await run({ verb: 'renew', keys, costs, tickets: this.#tickets })
    if (decision.allowed) this.#tickets = tickets
    return decision.allowed
  }

  #settle(actual: Units): MaybePromise<unknown> {
    const corrections = this.#corrections(actual)
    if (this.#settled) return undefined
    this.#settled = true
    const corrected = this.#corrected // then only the units in flight are left to free
    return this.#apply((n) => (this.#holds(n) ? -this.#cost(n) : corrected ? 0 : (corrections[n] as number)), true)
  }

  #settleAndHold(actual: Units): MaybePromise<unknown> {
    const corrections = this.#corrections(actual)
    if (this.#settled || this.#corrected) return undefined
    this.#corrected = true
    return this.#apply((n) => corrections[n] as number, false)
  }

  static {
    settleAndHoldBy = (reservation, actual) => reservation.#settleAndHold(actual)
  }

  /** The correction for each policy. @throws HeadgateError `HEADGATE_COST` */
  #corrections(actual: Units): readonly number[] {
    const { policies, costs } = this.#call
    if (typeof actual === 'object' && actual !== null) checkNames(actual, policies, 'The actual cost')
    else if (!Number.isSafeInteger(actual) || (actual as number) < 0) throw wrongActual(actual)
    else if (typeof costs !== 'number' && (actual as number) > 0) throw oneForAll(actual as number)
    return policies.map((policy, n) => this.#correction(policy, n, actual))
  }

  /** The units that a policy is charged. If below 0, so many units are given back. */
  #correction({ name, algorithm }: Policy, n: number, actual: Units): number {
    const reserved = this.#cost(n)
    if (typeof actual === 'object' && !Object.hasOwn(actual, name)) return 0
    const units = typeof actual === 'object' ? checkUnits(actual[name] as number, name) : actual
    return algorithm.punishes || algorithm.leases ? 0 : units - reserved
  }

  #cost(n: number): number {
    const { costs } = this.#call
    return typeof costs === 'number' ? costs : (costs[n] as number)
  }

  /** True if the units under that policy are in flight. */
  #holds(n: number): boolean {
    return !this.#released && this.#call.policies[n]?.algorithm.leases === true
  }

  #apply(correction: (n: number) => number, releases: boolean): MaybePromise<unknown> {
    const { run, policies, keys, load } = this.#call
    const corrections = policies.map((_, n) => correction(n))
    if (releases && !this.#released && load !== undefined) load.inFlight--
    if (releases) this.#released = true
    if (corrections.every((units) => units === 0)) return undefined
    const settle = () => {
      const settled = run({ verb: 'settle', keys, costs: corrections, tickets: this.#tickets })
      return isPromise(settled) ? settled.then(checkCharged) : checkCharged(settled)
    }
    return this.#renewal === undefined ? settle() : this.#renewal.then(settle, settle)
  }
}

/** @throws HeadgateError `HEADGATE_INEXACT` if a policy could not charge the units beyond the estimate */
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
