/*
 * One decision over all policies of a limiter: either every policy counts the call, or no policy counts the call.
 *
 * The store provides the time and the states. This file decides, by the same rule for every verb (`consume`, `reserve`, `refund` ...).
 * The rule goes through the policies twice:
 *
 *     evaluate   computes how long each policy makes the call wait, and changes nothing; the longest wait decides
 *     commit     takes the cost, or counts the refusal, or leaves the state unchanged; then reports the numbers of each policy
 *
 * For a reservation, `tickets` then returns the tickets that the settlement needs. A refund or a settlement gives units back to the states
 * after `evaluate` and before `commit`.
 */
import { alone, type Decision, join, type Source, type Verdict } from '../../policy/index.ts'
import type { Policy, Ticket, Windows } from '../algorithm.ts'
import { withLag } from '../effective-time.ts'
import type { Alternatives, Costs, DecidingVerb, Details, Tickets } from './call-terms.ts'
import { canPromise, correctionOf, takeMore, ticketOf } from './granted.ts'
import { newReservationId, PolicyEvaluation, refund, restart, settle } from './policy-evaluation.ts'
import { tellReached } from './reached-thresholds.ts'
import { SpentQuota } from './spent-quota.ts'
import { TriedCosts } from './tried-costs.ts'
import { verdictOf } from './verdict-of.ts'

export { effectiveTime } from '../effective-time.ts'
export type { Alternatives, Costs, DecidingVerb, Details, Tickets } from './call-terms.ts'
export { unitsBack } from './call-terms.ts'
export { type ForeignState, newReservationId, PolicyEvaluation } from './policy-evaluation.ts'

const noWindows: Windows = [0, 0, 0, 0]

/** Every call uses this class, so it has to be fast: CONTRIBUTING.md says why its members are `private` and not `#`. */
export class Evaluation {
  readonly policies: readonly PolicyEvaluation[]
  /** True if the call is admitted. Set by `evaluate`. */
  allowed = false
  /** True if `commit` counts the cost of the call, now or at a promised time. */
  takes = false
  /** How many microseconds the call has to wait. For a granted reservation, this is how long its caller has to wait. */
  delay = 0

  /** The indexes of the policies with a calendar. */
  readonly calendars: readonly number[]
  /** The policy, if the limiter has only one policy. This usual case needs no loop. */
  private readonly only: PolicyEvaluation | undefined
  /** The penalty whose bans reset the other policies of the key; undefined if the limiter has no such penalty. */
  private readonly penalty: PolicyEvaluation | undefined
  /** Begins bans when a quota is spent. Undefined unless the limiter has a penalty with `on: 'spent'`. */
  readonly spent: SpentQuota | undefined
  private readonly countsRefused: boolean
  /** True if a policy has thresholds. */
  private readonly tells: boolean
  private verb: DecidingVerb = 'peek'
  /** True for `consume`, `reserve` and `peek`, which ask for a decision. False for verbs that only change units, such as `charge`. */
  private plain = true
  private now = 0
  private given: Tickets | undefined
  /** The costs of a call that tries several costs. Undefined for a call with one cost. */
  private list: TriedCosts | undefined

  constructor(policies: readonly Policy[]) {
    this.policies = policies.map((policy) => new PolicyEvaluation(policy))
    this.calendars = [...policies.keys()].filter((n) => policies[n]?.algorithm.place !== undefined)
    this.only = this.policies.length === 1 ? this.policies[0] : undefined
    this.spent = SpentQuota.of(this.policies)
    this.penalty = this.policies.find(({ policy, algorithm }) => algorithm.restarts === true && !policy.shadow)
    this.countsRefused = policies.some((policy) => policy.countRefused)
    this.tells = this.policies.some(({ thresholds }) => thresholds.length > 0)
  }

  /**
   * Gives each policy with a calendar the windows of the call. Returns false if none of the windows contains `now`: the caller's clock is
   * then too wrong, and the call must not be evaluated.
   * @param windows undefined for a call that cannot begin a window, such as units that come back late
   */
  place(windows: readonly (Windows | undefined)[] | undefined, now: number): boolean {
    const { calendars } = this
    for (let k = 0; k < calendars.length; k++) {
      const n = calendars[k] as number
      const around = windows?.[n] ?? noWindows
      if (around !== noWindows && (now < around[0] || now >= around[3])) {
        this.takes = false
        return false
      }
      this.policies[n]?.algorithm.place?.(around)
    }
    return true
  }

  /**
   * @param maxWait the longest wait that a reservation accepts, in microseconds; 0 for the other verbs
   * @param tickets for `settle` and `renew`: what `tickets` returned for the reservation
   */
  evaluate(verb: DecidingVerb, now: number, costs: Costs, maxWait: number, tickets?: Tickets): void {
    this.verb = verb
    this.now = now
    if (tickets !== this.given) this.given = tickets
    if (this.list !== undefined) this.list = undefined
    const plain = verb === 'consume' || verb === 'reserve' || verb === 'peek'
    this.plain = plain
    const delay = plain && typeof costs === 'number' ? this.waitFor(costs) : this.longestWait(costs)
    this.delay = delay
    this.allowed = delay === 0 || (verb === 'reserve' && delay <= maxWait && canPromise(this.policies, now))
    this.takes = this.allowed && verb !== 'peek' && verb !== 'refund' && verb !== 'settle'
  }

  /**
   * Evaluates the costs in their order until a cost is admitted. If all costs are refused, `commit` counts one refusal, and the call
   * waits for the cost with the shortest wait. Only for `consume`, `reserve` and `peek`.
   */
  evaluateFirst(verb: DecidingVerb, now: number, alternatives: Alternatives, maxWait: number): void {
    const list = new TriedCosts(alternatives)
    for (const costs of alternatives) {
      this.evaluate(verb, now, costs, maxWait)
      if (this.allowed) break
      list.noteRefused(this.policies)
    }
    if (!this.allowed) {
      this.evaluate(verb, now, list.costsOfRefusal, maxWait)
      this.allowed = false
      this.takes = false
      this.delay = list.shortestWait
    }
    this.list = list
  }

  /** How long the call waits if its cost is the same under every policy. */
  private waitFor(cost: number): number {
    const { only, now } = this
    if (only !== undefined) return only.evaluate(now, cost)
    let delay = 0
    for (const evaluation of this.policies) {
      const wait = evaluation.evaluate(now, cost)
      if (wait > delay) delay = wait
    }
    return delay
  }

  private longestWait(costs: Costs): number {
    let delay = 0
    for (const [n, evaluation] of this.policies.entries()) {
      const wait = this.waitOf(evaluation, typeof costs === 'number' ? costs : (costs[n] as number), this.given?.[n])
      if (wait > delay) delay = wait
    }
    return delay
  }

  private waitOf(evaluation: PolicyEvaluation, cost: number, ticket: Ticket | undefined): number {
    const { verb, now } = this
    if (verb === 'settle') cost = correctionOf(evaluation, now, cost, ticket)
    if (verb === 'charge' || (verb === 'settle' && cost > 0)) return evaluation.evaluateCharge(now, cost)
    if (verb === 'renew') return evaluation.evaluateRenewal(now, cost, ticket)
    if (verb !== 'refund' && verb !== 'settle') return evaluation.evaluate(now, cost)
    evaluation.begin(now, cost)
    return 0
  }

  /** The policies that have refused a cost of a call with a list of costs. Undefined for a call with one cost. */
  get refusers(): ReadonlySet<Policy> | undefined {
    return this.list?.refusers
  }

  /** True if `commit` will write to states, including states of new keys. */
  get writes(): boolean {
    return this.takes || (this.countsRefused && (this.verb === 'consume' || this.verb === 'reserve'))
  }

  /** True if a settlement charges units beyond the reserved units. A key without a state is charged too. */
  get charges(): boolean {
    return this.verb === 'settle' && this.policies.some(({ cost }) => cost > 0)
  }

  commit(source: Source, details?: Details): Decision {
    const { only, allowed, list } = this
    const at = details !== undefined && details.at === true ? Math.floor(this.now / 1000) : undefined
    if (list !== undefined) return this.commitFirst(list, details, source, at)
    if (this.tells || this.spent !== undefined) {
      return this.decided(join(allowed, this.told(this.commitAll(details)), source, at))
    }
    if (only !== undefined) return alone(allowed, [this.commitOne(only, details)], source, at)
    return join(allowed, this.commitAll(details), source, at)
  }

  private commitFirst(
    list: TriedCosts,
    details: Details | undefined,
    source: Source,
    at: number | undefined,
  ): Decision {
    this.changeAll()
    if (!this.allowed) list.waitAgain(this.policies, this.now)
    return this.decided(list.decision(this.allowed, this.told(this.verdicts(details)), source, at))
  }

  private decided(decision: Decision): Decision {
    return this.spent === undefined ? decision : this.spent.decided(decision, this.now)
  }

  private told(verdicts: readonly Verdict[]): readonly Verdict[] {
    return this.tells && (this.takes || this.verb === 'settle') ? tellReached(this.policies, verdicts) : verdicts
  }

  private commitAll(details: Details | undefined): Verdict[] {
    const { policies, penalty, spent } = this
    if (spent === undefined && (penalty === undefined || this.takes))
      return policies.map((evaluation) => this.commitOne(evaluation, details))
    this.changeAll()
    return this.verdicts(details)
  }

  private verdicts(details: Details | undefined): Verdict[] {
    return this.policies.map((evaluation) => verdictOf(evaluation, this.now, details))
  }

  private changeAll(): void {
    const { policies, penalty } = this
    const free = penalty?.wait === 0
    for (const evaluation of policies) this.change(evaluation)
    if (penalty !== undefined && !this.takes && free && penalty.wait > 0) restart(penalty, policies, this.now)
    if (this.spent !== undefined) this.spent.begin(this.verb, this, this.now, this.given)
  }

  private commitOne(evaluation: PolicyEvaluation, details: Details | undefined): Verdict {
    this.change(evaluation)
    return verdictOf(evaluation, this.now, details)
  }

  private change(evaluation: PolicyEvaluation): void {
    const { cost, algorithm } = evaluation
    if (evaluation.wait > 0 || !this.takes) this.commitRefused(evaluation)
    else if (!this.plain) takeMore(evaluation, this.now, this.verb, this.given?.[this.policies.indexOf(evaluation)])
    else if (cost > 0) {
      algorithm.take(evaluation.s, evaluation.i, evaluation.at, cost, 0)
      evaluation.wrote = true
    }
  }

  /** Changes the state of a policy if the call is refused by any policy, or booked for a later time. */
  private commitRefused(evaluation: PolicyEvaluation): void {
    const { s, i, at, policy, algorithm, wait, cost } = evaluation
    if (this.verb !== 'consume' && this.verb !== 'reserve') return
    const lag = at - this.now
    if (this.allowed && !policy.shadow) {
      evaluation.delay = wait - lag
      algorithm.take(s, i, at, cost, wait - lag) // counts the cost at the promised time
      evaluation.wait = 0
    } else if (policy.countRefused && (algorithm.punishes || (cost > 0 && !evaluation.carried))) {
      algorithm.count(s, i, at, cost, this.delay - lag)
      evaluation.wait = withLag(algorithm.wait(s, i, at, cost), lag)
    } else {
      evaluation.takeTime(this.now)
      return
    }
    evaluation.wrote = true
  }

  /**
   * The tickets of the reservation that was just committed, one for each policy. A settlement of the reservation needs these tickets.
   * @param expires after how many microseconds the reservation expires
   * @param id the id that a state gets if the state has no open reservations yet
   */
  tickets(expires?: number, id: number = newReservationId()): Tickets {
    const { policies, given, now } = this
    const renews = this.verb === 'renew'
    return policies.map((evaluation, n) => ticketOf(evaluation, now, id, renews, given?.[n], expires) ?? given?.[n])
  }

  /**
   * Gives units back, or charges the units used beyond the reserved units. Called between `evaluate` and `commit`, for `refund` and
   * `settle`.
   * @param unreserved for `refund`: true if the units are those of no reservation
   */
  giveBack(unreserved = false): void {
    for (const [n, evaluation] of this.policies.entries()) {
      if (this.verb === 'refund') refund(evaluation, this.now, unreserved)
      else settle(evaluation, this.now, this.given?.[n])
    }
  }
}
