/*
 * One decision over all policies of a limiter: all or none commits.
 *
 * A store brings the states and the time; this brings the rule, the same for every verb. It goes twice over the
 * policies. `weigh` asks each for its wait and changes nothing; from the waits follows what happens. `settle` commits,
 * counts or leaves each, and reports the numbers as they are then.
 */
import { alone, type Decision, dated, join, type Source, type Verdict } from '../decision.ts'
import { type Algorithm, type Numbers, type Policy, Report, type Ticket } from './algorithm.ts'

/**
 * consume: commit iff no policy has to wait. reserve: commit iff the wait is at most `maxWait`. charge: commit whatever
 * the wait. refund: give back. peek: what consume would say, and nothing changes.
 */
export type Verb = 'consume' | 'reserve' | 'charge' | 'refund' | 'peek'

/** What a decision tells besides, at a little cost: each asks for the field of its name. */
export interface Details {
  readonly at?: boolean
  readonly nextAfter?: boolean
}

/** One ticket per policy: undefined where a shadow did not commit. */
export type Tickets = readonly (Ticket | undefined)[]

/** One policy in the decision at hand. The store says where its state is: in `s` from `i` on. */
export class PolicyEvaluation {
  readonly policy: Policy
  readonly algorithm: Algorithm
  s: Numbers = []
  i = 0
  /** The time by the state's own reckoning. */
  at = 0
  /** Microseconds until this policy admits the call. */
  wait = 0
  /**
   * Whether the state was left under other numbers. One that had more than fits these must not be lost: only a call that
   * is admitted at once, and so found room, makes it one of these.
   */
  carried = false
  /** Whether the call changed the state: only then what was carried over from other numbers is kept too. */
  wrote = false

  constructor(policy: Policy) {
    this.policy = policy
    this.algorithm = policy.algorithm
  }

  /** Asks the policy how long the call has to wait, and changes nothing. Returns the part of it that is enforced. */
  evaluate(now: number, cost: number): number {
    const { s, i, algorithm } = this
    const last = s[i] as number
    const at = now >= last ? now : effectiveTime(algorithm, last, now)
    const wait = algorithm.wait(s, i, at, cost)
    this.at = at
    this.wrote = false
    this.wait = wait === 0 ? 0 : wait + (at - now)
    return this.policy.shadow ? 0 : this.wait
  }

  /** The same of a charge, which waits for nothing but must stay exact, and of a refund, which always goes. */
  force(verb: Verb, now: number, cost: number): number {
    const { s, i, algorithm } = this
    this.at = effectiveTime(algorithm, s[i] as number, now)
    this.wait = verb === 'refund' || algorithm.fits(s, i, this.at, cost, 0) ? 0 : Infinity
    this.wrote = false
    return this.policy.shadow ? 0 : this.wait
  }
}

const report = new Report()

/** On the path of every call: why `private` and not `#` stands in CONTRIBUTING.md. */
export class Evaluation {
  readonly policies: readonly PolicyEvaluation[]
  /** Whether the call may go on, as of the last `weigh`. */
  allowed = false
  /** Whether it takes its cost, now or booked ahead. */
  takes = false
  /** How long the caller has to wait, in microseconds: of a reservation that was granted, its delay. */
  delay = 0

  /** Where there is one policy, as mostly, that one: it is not looped over. */
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

  /** @param maxWait microseconds that a reservation would wait */
  evaluate(verb: Verb, now: number, cost: number, maxWait: number): void {
    this.verb = verb
    this.now = now
    this.cost = cost
    const { only } = this
    const delay = only === undefined || verb === 'charge' || verb === 'refund' ? this.ask() : only.evaluate(now, cost)
    this.delay = delay
    this.allowed = delay === 0 || (verb === 'reserve' && this.books(maxWait))
    this.takes = this.allowed && verb !== 'peek' && verb !== 'refund'
  }

  private ask(): number {
    const { verb, now, cost } = this
    const forced = verb === 'charge' || verb === 'refund'
    let delay = 0
    for (const weighing of this.policies) {
      const wait = forced ? weighing.force(verb, now, cost) : weighing.evaluate(now, cost)
      if (wait > delay) delay = wait
    }
    return delay
  }

  /** Whether a reservation that has to wait is granted. */
  private books(maxWait: number): boolean {
    return this.delay <= maxWait && this.canPromise()
  }

  /** Whether `settle` will write to states, new ones too. */
  get writes(): boolean {
    return this.takes || (this.countsRefused && this.verb !== 'peek' && this.verb !== 'refund')
  }

  /**
   * A future time is promised by one policy alone: were it booked in several that wait differently long, those that
   * would admit it sooner would let in others meanwhile and be over their promise when it comes.
   */
  private canPromise(): boolean {
    const enforced = this.policies.filter(({ policy }) => !policy.shadow)
    const [weighing, ...more] = enforced.filter(({ algorithm, wait }) => !algorithm.punishes || wait > 0)
    if (weighing === undefined || more.length > 0 || weighing.carried) return false
    const { s, i, at, wait, algorithm } = weighing
    return algorithm.promises && algorithm.fits(s, i, at, this.cost, wait - (at - this.now))
  }

  /** Gives the cost back to every policy, of a reservation by its tickets: before `settle`, which then reports. */
  refund(tickets: Tickets | undefined): void {
    for (const [n, weighing] of this.policies.entries()) {
      const { s, i, at, algorithm } = weighing
      algorithm.report(s, i, at, report)
      if (report.reset === 0 || (tickets !== undefined && tickets[n] === undefined)) continue
      algorithm.refund(s, i, at, this.cost, tickets?.[n])
      weighing.wrote = true
    }
  }

  commit(source: Source, details?: Details): Decision {
    const { only, allowed } = this
    const decision =
      only === undefined
        ? join(allowed, this.commitAll(details), source)
        : alone(allowed, [this.commitOne(only, details)], source)
    return details === undefined ? decision : this.told(decision, details)
  }

  private told(decision: Decision, { at }: Details): Decision {
    return at === true ? dated(decision, Math.floor(this.now / 1000)) : decision
  }

  private commitAll(details: Details | undefined): Verdict[] {
    return this.policies.map((weighing) => this.commitOne(weighing, details))
  }

  private commitOne(weighing: PolicyEvaluation, details: Details | undefined): Verdict {
    const { s, i, at, policy, algorithm } = weighing
    if (weighing.wait === 0 && this.takes) {
      algorithm.take(s, i, at, this.cost, 0)
      weighing.wrote = true
    } else this.commitRefused(weighing)
    const out = report
    algorithm.report(s, i, at, out)
    const { remaining } = out
    const resetAfter = Math.ceil((out.reset + (at - this.now)) / 1000)
    if (details !== undefined && details.nextAfter === true) return this.verdict(weighing, remaining, resetAfter)
    const { wait } = weighing
    const { name, limit, shadow } = policy
    return { name, allowed: wait === 0, limit, remaining, retryAfter: Math.ceil(wait / 1000), resetAfter, shadow }
  }

  /** The same where more is asked for. */
  private verdict(weighing: PolicyEvaluation, remaining: number, resetAfter: number): Verdict {
    const { wait, policy } = weighing
    const { name, limit, shadow } = policy
    const allowed = wait === 0
    const retryAfter = Math.ceil(wait / 1000)
    const nextAfter = this.nextAfter(weighing, remaining)
    return { name, allowed, limit, remaining, retryAfter, resetAfter, shadow, nextAfter }
  }

  /** What happens to a policy that does not take the call at once, or when another does not. */
  private commitRefused(weighing: PolicyEvaluation): void {
    const { s, i, at, policy, algorithm, wait } = weighing
    if (this.verb === 'peek' || this.verb === 'refund') return
    const lag = at - this.now
    if (this.allowed && !policy.shadow) {
      algorithm.take(s, i, at, this.cost, wait - lag) // booked ahead
      weighing.wait = 0
    } else if (policy.countRefused && (algorithm.punishes || !weighing.carried)) {
      algorithm.count(s, i, at, this.cost)
      if (wait > 0 || algorithm.punishes) weighing.wait = caughtUp(algorithm.wait(s, i, at, this.cost), lag)
    } else if (at < (s[i] as number)) {
      algorithm.take(s, i, at, 0, 0) // the clock went far back: the state must live by the new time from now on
    } else return
    weighing.wrote = true
  }

  private nextAfter({ s, i, at, policy, algorithm }: PolicyEvaluation, remaining: number): number {
    if (remaining >= policy.burst) return 0 // more than fits at best never comes
    return Math.ceil((algorithm.wait(s, i, at, remaining + 1) + (at - this.now)) / 1000)
  }

  /** What settling the reservation just made must know. */
  tickets(): Tickets {
    const { policies } = this
    return policies.length === 1 ? [ticketOf(policies[0] as PolicyEvaluation)] : policies.map(ticketOf)
  }
}

function ticketOf({ s, i, wait, algorithm }: PolicyEvaluation): Ticket | undefined {
  return wait === 0 ? algorithm.ticket(s, i) : undefined
}

/** A wait as the caller sees it: a clock that stands still, `lag` ahead of the caller's, must first catch up. */
function caughtUp(wait: number, lag: number): number {
  return wait === 0 ? 0 : wait + lag
}

/**
 * The time by a state's own reckoning. A clock that went back by less than one full refill (or window) stands still
 * until it catches up, so that nothing is minted twice; one that went back further is believed, so that nobody is
 * locked out for longer than one refill.
 */
export function effectiveTime(algorithm: Algorithm, last: number, now: number): number {
  return now < last && last - now < algorithm.span ? last : now
}
