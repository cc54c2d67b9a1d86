/*
 * Counts the decisions in this process. OpenTelemetry's SDK hashes the attributes of every `add`, which takes longer
 * than a decision. So each decision increases a number in this class, and an observable counter reads these numbers
 * when metrics are collected.
 */
import { getOrInsert } from '../common/index.ts'
import type { CandidateEvent, LimiterCallEvent, Units } from '../limiter/index.ts'
import { policyOf, type Result, resultOf, results } from './result.ts'

/**
 * The attributes of a counter: `{ limiter, policy, result }`. `policy` is absent for calls of a pacer, and for calls that the
 * store could not decide.
 */
export type Attributes = Record<string, string>

export type Reading = readonly [value: number, attributes: Attributes]

/** The most pairs of limiter and policy with separate counters. All further pairs are counted together, under the name `other`. */
const maxPairs = 250

/** An admitted call is near its limit if less than this fraction of the limit remains. Envoy's `near_limit` is similar. */
const nearLimit = 0.2

/** How many calls had each result, under one policy of one limiter. */
class PolicyCounts {
  readonly decisions: Record<Result, number>
  readonly units: Record<Result, number>
  /** How many of `decisions` were made under an override. */
  readonly overridden: Record<Result, number>
  near = 0
  readonly attributes: Attributes
  readonly byResult: Readonly<Record<Result, Attributes>>

  constructor(limiter: string, policy: string) {
    this.decisions = zeros()
    this.units = zeros()
    this.overridden = zeros()
    this.attributes = policy === '' ? { limiter } : { limiter, policy }
    const entries = results.map((result) => [result, { ...this.attributes, result }])
    this.byResult = Object.fromEntries(entries) as Record<Result, Attributes>
  }
}

function zeros(): Record<Result, number> {
  return { admitted: 0, shadow: 0, fallback: 0, open: 0, refused: 0, banned: 0, error: 0 }
}

export class DecisionCounts {
  readonly #byLimiter = new Map<string, Map<string, PolicyCounts>>()
  readonly #all: PolicyCounts[] = []
  #other: PolicyCounts | undefined
  /** How often the decisions of a candidate were the same, or differed, by limiter and result. */
  readonly #compared = new Map<string, [value: number, attributes: Attributes]>()

  /** Counts the outcome of a call under its policy, and returns the result, such as `'refused'`. */
  count(event: LimiterCallEvent): Result {
    const { limiter, decision, cost } = event
    const counts = this.#of(limiter, policyOf(event) ?? '')
    const result = resultOf(event)
    counts.decisions[result]++
    if (typeof cost === 'number') counts.units[result] += cost
    else this.#addUnits(limiter, cost, result)
    if (decision?.override !== undefined) counts.overridden[result]++
    if (result === 'admitted' && decision !== undefined && decision.remaining < nearLimit * decision.limit)
      counts.near++
    return result
  }

  /** Counts a call of a pacer. The counter has no policy. */
  countPaced(pacer: string, cost: number, result: Result): void {
    const counts = this.#of(pacer, '')
    counts.decisions[result]++
    counts.units[result] += cost
  }

  /** Counts a call that the candidate of a limiter has decided too. */
  countCandidate({ limiter, decision, candidate }: CandidateEvent): void {
    const result =
      decision.allowed === candidate.allowed ? 'same' : decision.allowed ? 'newly_refused' : 'no_longer_refused'
    const isOther = this.#compared.size >= maxPairs && !this.#compared.has(`${result} ${limiter}`)
    const name = isOther ? 'other' : limiter
    const make = (): [number, Attributes] => [0, { limiter: name, result }]
    getOrInsert(this.#compared, `${result} ${name}`, make)[0]++
  }

  /** Adds a cost that has a number for each policy. Each number counts under its own policy. */
  #addUnits(limiter: string, cost: Exclude<Units, number>, result: Result): void {
    for (const [policy, units] of Object.entries(cost)) this.#of(limiter, policy).units[result] += units
  }

  #of(limiter: string, policy: string): PolicyCounts {
    const counts = this.#byLimiter.get(limiter)?.get(policy)
    return counts === undefined ? this.#add(limiter, policy) : counts
  }

  #add(limiter: string, policy: string): PolicyCounts {
    if (this.#all.length >= maxPairs) {
      this.#other ??= new PolicyCounts('other', 'other')
      return this.#other
    }
    const counts = new PolicyCounts(limiter, policy)
    getOrInsert(this.#byLimiter, limiter, () => new Map<string, PolicyCounts>()).set(policy, counts)
    this.#all.push(counts)
    return counts
  }

  get #counted(): readonly PolicyCounts[] {
    return this.#other === undefined ? this.#all : [...this.#all, this.#other]
  }

  decisions(): Reading[] {
    return this.#counted.flatMap(({ decisions, byResult }) => readingsOf(decisions, byResult))
  }

  units(): Reading[] {
    return this.#counted.flatMap(({ units, byResult }) => readingsOf(units, byResult))
  }

  overridden(): Reading[] {
    return this.#counted.flatMap(({ overridden, byResult }) => readingsOf(overridden, byResult))
  }

  candidates(): Reading[] {
    return [...this.#compared.values()]
  }

  nearLimit(): Reading[] {
    const admitted = this.#counted.filter(({ decisions }) => decisions.admitted > 0)
    return admitted.map(({ near, attributes }) => [near, attributes])
  }
}

/** One reading for each result that has occurred. Other results are left out, so that no counter with the value 0 is reported. */
function readingsOf(counts: Readonly<Record<Result, number>>, byResult: PolicyCounts['byResult']): Reading[] {
  return results.filter((result) => counts[result] > 0).map((result) => [counts[result], byResult[result]])
}
