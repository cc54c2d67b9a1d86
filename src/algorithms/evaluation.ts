/*
 * One decision over all policies of a limiter: either all of them commit the call, or none does.
 *
 * The store provides the time and the states. This file has the rule, which is the same for every verb. It visits the
 * policies twice:
 *
 *     evaluate   computes how long each policy makes the call wait, and changes nothing; the longest wait decides
 *     commit     takes the cost, or counts the refusal, or leaves the state alone; then reports the numbers
 *
 * A reservation then reads its `tickets`. A refund gives back between the two visits.
 */
import { alone, type Decision, dated, join, type Source, type Verdict } from '../decision.ts'
import { type Policy, Report, type Ticket } from './algorithm.ts'
import { PolicyEvaluation } from './policy-evaluation.ts'

export { effectiveTime, PolicyEvaluation } from './policy-evaluation.ts'

/**
 * - `consume` commits if no policy has to wait
 * - `reserve` commits if the wait is at most `maxWait`
 * - `charge` commits whatever the wait
 * - `refund` gives back
 * - `peek` decides as `consume` would, and changes nothing
 */
export type Verb = 'consume' | 'reserve' | 'charge' | 'refund' | 'peek'

/** Optional fields of a decision, which take a little time. Each flag adds the field of its name. */
export interface Details {
  readonly at?: boolean
  readonly nextAfter?: boolean
}

/** One ticket per policy: undefined for a shadow that did not commit. */
export type Tickets = readonly (Ticket | undefined)[]

const report = new Report()

/** On the path of every call: CONTRIBUTING.md says why its members are `private` and not `#`. */
export class Evaluation {
  readonly policies: readonly PolicyEvaluation[]
  /** True if the call may go on. Set by `evaluate`. */
  allowed = false
  /** True if the call takes its cost, now or booked ahead. */
  takes = false
  /** Microseconds that the call has to wait. For a reservation that was granted, its delay. */
  delay = 0

  /** The policy if there is just one, as is usual: then nothing loops. */
  private readonly only: PolicyEvaluation | undefined
  private readonly countsRefused: boolean
  private verb: Verb = 'peek'
  private now = 0
  private cost = 0

  constructor(policies: readonly Policy[]) {
    this.policies = policies.map((policy) => new PolicyEvaluation(policy))
    this.only = this.policies.length === 1 ? this.policies[0] : undefined
    this.countsRefused = policies.some((policy) => policy.countRefused)
  }

  /** @param maxWait how long a reservation would wait, in microseconds; 0 for the other verbs */
  evaluate(verb: Verb, now: number, cost: number, maxWait: number): void {
    this.verb = verb
    this.now = now
    this.cost = cost
    const { only } = this
    const delay =
      only === undefined || verb === 'charge' || verb === 'refund' ? this.longestWait() : only.evaluate(now, cost)
    this.delay = delay
    this.allowed = delay === 0 || (verb === 'reserve' && this.grants(maxWait))
    this.takes = this.allowed && verb !== 'peek' && verb !== 'refund'
  }

  private longestWait(): number {
    const { verb, now, cost } = this
    const forced = verb === 'charge' || verb === 'refund'
    let delay = 0
    for (const evaluation of this.policies) {
      const wait = forced ? evaluation.evaluateForced(verb, now, cost) : evaluation.evaluate(now, cost)
      if (wait > delay) delay = wait
    }
    return delay
  }

  /** True if a reservation that has to wait is granted. */
  private grants(maxWait: number): boolean {
    return this.delay <= maxWait && this.canPromise()
  }

  /**
   * Only one policy alone can promise a future time. If several with different waits booked the call, those with the
   * shorter wait would admit others meanwhile, and exceed their limit when the call acts.
   */
  private canPromise(): boolean {
    const enforced = this.policies.filter(({ policy }) => !policy.shadow)
    const [evaluation, ...more] = enforced.filter(({ algorithm, wait }) => !algorithm.punishes || wait > 0)
    if (evaluation === undefined || more.length > 0 || evaluation.carried) return false
    const { s, i, at, wait, algorithm } = evaluation
    return algorithm.promises && algorithm.fits(s, i, at, this.cost, wait - (at - this.now))
  }

  /** True if `commit` will write to states, also to those of new keys. */
  get writes(): boolean {
    return this.takes || (this.countsRefused && this.verb !== 'peek' && this.verb !== 'refund')
  }

  commit(source: Source, details?: Details): Decision {
    const { only, allowed } = this
    const decision =
      only === undefined
        ? join(allowed, this.commitAll(details), source)
        : alone(allowed, [this.commitOne(only, details)], source)
    return details === undefined ? decision : this.withTime(decision, details)
  }

  private commitAll(details: Details | undefined): Verdict[] {
    return this.policies.map((evaluation) => this.commitOne(evaluation, details))
  }

  private commitOne(evaluation: PolicyEvaluation, details: Details | undefined): Verdict {
    const { s, i, at, policy, algorithm } = evaluation
    if (evaluation.wait === 0 && this.takes) {
      algorithm.take(s, i, at, this.cost, 0)
      evaluation.wrote = true
    } else this.commitRefused(evaluation)
    const out = report
    algorithm.report(s, i, at, out)
    const { remaining } = out
    const resetAfter = Math.ceil((out.reset + (at - this.now)) / 1000)
    if (details !== undefined && details.nextAfter === true) return this.withNext(evaluation, remaining, resetAfter)
    const { wait } = evaluation
    const { name, limit, shadow } = policy
    return { name, allowed: wait === 0, limit, remaining, retryAfter: Math.ceil(wait / 1000), resetAfter, shadow }
  }

  /** Commits to a policy that does not take the call at once, or when another policy refuses it. */
  private commitRefused(evaluation: PolicyEvaluation): void {
    const { s, i, at, policy, algorithm, wait } = evaluation
    if (this.verb === 'peek' || this.verb === 'refund') return
    const lag = at - this.now
    if (this.allowed && !policy.shadow) {
      algorithm.take(s, i, at, this.cost, wait - lag) // booked ahead
      evaluation.wait = 0
    } else if (policy.countRefused && (algorithm.punishes || !evaluation.carried)) {
      algorithm.count(s, i, at, this.cost)
      if (wait > 0 || algorithm.punishes) evaluation.wait = withLag(algorithm.wait(s, i, at, this.cost), lag)
    } else if (at < (s[i] as number)) {
      algorithm.take(s, i, at, 0, 0) // the clock went far back: the state takes the new time
    } else return
    evaluation.wrote = true
  }

  /** The tickets of the reservation that was just committed. */
  tickets(): Tickets {
    const { policies } = this
    return policies.length === 1 ? [ticketOf(policies[0] as PolicyEvaluation)] : policies.map(ticketOf)
  }

  /** Gives the cost back to every policy; a reservation's by its tickets. Call it after `evaluate` and before `commit`. */
  refund(tickets: Tickets | undefined): void {
    for (const [n, evaluation] of this.policies.entries()) {
      const { s, i, at, algorithm } = evaluation
      algorithm.report(s, i, at, report)
      if (report.reset === 0 || (tickets !== undefined && tickets[n] === undefined)) continue
      algorithm.refund(s, i, at, this.cost, tickets?.[n])
      evaluation.wrote = true
    }
  }

  private withTime(decision: Decision, { at }: Details): Decision {
    return at === true ? dated(decision, Math.floor(this.now / 1000)) : decision
  }

  private withNext(evaluation: PolicyEvaluation, remaining: number, resetAfter: number): Verdict {
    const { wait, policy } = evaluation
    const { name, limit, shadow } = policy
    const allowed = wait === 0
    const retryAfter = Math.ceil(wait / 1000)
    const nextAfter = this.nextAfter(evaluation, remaining)
    return { name, allowed, limit, remaining, retryAfter, resetAfter, shadow, nextAfter }
  }

  private nextAfter({ s, i, at, policy, algorithm }: PolicyEvaluation, remaining: number): number {
    if (remaining >= policy.burst) return 0 // it is full
    return Math.ceil((algorithm.wait(s, i, at, remaining + 1) + (at - this.now)) / 1000)
  }
}

function ticketOf({ s, i, wait, algorithm }: PolicyEvaluation): Ticket | undefined {
  return wait === 0 ? algorithm.ticket(s, i) : undefined
}

/** A wait by the store's clock: a state whose time is `lag` ahead of that clock must first be caught up with. */
function withLag(wait: number, lag: number): number {
  return wait === 0 ? 0 : wait + lag
}
