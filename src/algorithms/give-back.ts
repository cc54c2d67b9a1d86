import { Report, type Ticket } from './algorithm.ts'
import { knows, type PolicyEvaluation } from './policy-evaluation.ts'

const report = new Report()

/** Gives the cost back to one policy: its newest units first. */
export function refund(evaluation: PolicyEvaluation, now: number): void {
  const { cost } = evaluation
  const { algorithm, s, i, at } = evaluation.own(now)
  algorithm.report(s, i, at, report)
  if (report.reset === 0 || cost === 0) return
  algorithm.refund(s, i, at, cost)
  evaluation.changed(now)
}

/** Corrects one policy by the cost: above 0 is charged, below 0 is given back by the ticket. */
export function settle(evaluation: PolicyEvaluation, now: number, ticket: Ticket | undefined): void {
  const { cost } = evaluation
  const { algorithm, s, i, at } = evaluation.own(now)
  if (cost > 0) {
    if (!algorithm.fits(s, i, at, cost, 0)) return // a debt that is too large to stay exact is not charged
    algorithm.take(s, i, at, cost, 0)
  } else {
    if (cost === 0 || ticket === undefined || !knows(algorithm, s, i, ticket)) return
    // If the clock went far back, the tickets are void. Guava's limiters judge their clock themselves.
    if (at < (s[i] as number) && algorithm.tolerance > 0) algorithm.take(s, i, at, 0, 0)
    else algorithm.settle(s, i, at, -cost, ticket)
  }
  evaluation.changed(now)
}
