import type { Costs } from '../algorithms/evaluation/index.ts'
import type { Policy } from '../algorithms/index.ts'
import { invalidOption, type Size } from '../common/index.ts'
import { costsOf, type Units } from '../limiter/index.ts'

/** What a call takes: one number of permits from every policy, or a number from each. */
export type CallCost = number | CostByPolicy

/** A number of permits for each policy. */
interface CostByPolicy {
  /** As the caller wrote it. */
  readonly units: Readonly<Record<string, number>>
  /** In the order of the policies. */
  readonly costs: readonly number[]
  /** The same text for the same costs. */
  readonly text: string
}

/** @throws HeadgateError `HEADGATE_COST` */
export function callCost(permits: Units, policies: readonly Policy[]): CallCost {
  if (Number.isSafeInteger(permits) && (permits as number) >= 1) return permits as number
  if (typeof permits === 'object' && permits !== null) {
    const costs = costsOf(permits, policies) as readonly number[]
    return { units: permits, costs, text: costs.join(' ') }
  }
  const expected = 'a whole number from 1 to 2^53 - 1, or a record of numbers by the names of the policies'
  throw invalidOption('Permits', expected, permits, 'Leave it out for 1.', 'HEADGATE_COST')
}

export function costsIn(cost: CallCost): Costs {
  return typeof cost === 'number' ? cost : cost.costs
}

/** The permits as the caller gave them. */
export function unitsIn(cost: CallCost): Units {
  return typeof cost === 'number' ? cost : cost.units
}

/** The same value for costs that can use each other's slots. */
export function sizeOf(cost: CallCost): Size {
  return typeof cost === 'number' ? cost : cost.text
}

/** One number for counters: the largest one. */
export function mostOf(cost: CallCost): number {
  return typeof cost === 'number' ? cost : Math.max(...cost.costs)
}

/** @param sign 1 adds, -1 subtracts */
export function sum(costs: Costs, sign: 1 | -1, more: Costs): Costs {
  if (typeof costs === 'number' && typeof more === 'number') return costs + sign * more
  const long = typeof costs === 'number' ? (more as readonly number[]) : costs
  return long.map((_, n) => unitsOf(costs, n) + sign * unitsOf(more, n))
}

function unitsOf(costs: Costs, n: number): number {
  return typeof costs === 'number' ? costs : (costs[n] as number)
}
