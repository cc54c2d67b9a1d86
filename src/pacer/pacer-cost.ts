import type { Costs } from '../algorithms/evaluation/index.ts'
import type { Policy } from '../algorithms/index.ts'
import { HeadgateError, invalidOption, type Size } from '../common/index.ts'
import { costsOf, type Units } from '../limiter/index.ts'

/** The units that a call takes: one number for every policy, or a number for each policy. */
export type CallCost = number | CostByPolicy

/** A cost with a number of units for each policy. */
interface CostByPolicy {
  /** The record of numbers by policy name, as the caller passed it. */
  readonly units: Readonly<Record<string, number>>
  /** The numbers of the record, in the order of the policies. */
  readonly costs: readonly number[]
  /** The costs as one text, so that two records can be compared. */
  readonly text: string
}

/** @throws HeadgateError `HEADGATE_COST` if the cost is invalid */
export function callCost(given: Units, policies: readonly Policy[]): CallCost {
  if (Number.isSafeInteger(given) && (given as number) >= 1) return given as number
  if (typeof given === 'object' && given !== null) {
    const costs = costsByPolicy(given, policies)
    return { units: given, costs, text: costs.join(' ') }
  }
  const expected = 'a whole number from 1 to 2^53 - 1, or a record of numbers by the names of the policies'
  throw invalidOption('cost', expected, given, 'Leave it out for 1.', 'HEADGATE_COST')
}

/** The arguments of a call that come after its cost. */
const afterCost = ['signal', 'timeout', 'priority', 'onDelay', 'maxWait']

function costsByPolicy(given: Readonly<Record<string, number>>, policies: readonly Policy[]): readonly number[] {
  try {
    return costsOf(given, policies) as readonly number[]
  } catch (error) {
    const option = afterCost.find((name) => Object.hasOwn(given, name))
    if (option === undefined || policies.some(({ name }) => name === option)) throw error
    const text = `The cost comes before the options, got an object with ${option}. Write the cost first: acquire(1, { ${option} }).`
    throw new HeadgateError('HEADGATE_COST', text)
  }
}

export function costsIn(cost: CallCost): Costs {
  return typeof cost === 'number' ? cost : cost.costs
}

/** The cost in the form in which the user passed it. */
export function unitsIn(cost: CallCost): Units {
  return typeof cost === 'number' ? cost : cost.units
}

/** Returns equal values for two costs if a call of one cost can use a start time that was booked for the other cost. */
export function sizeOf(cost: CallCost): Size {
  return typeof cost === 'number' ? cost : cost.text
}

/** The cost as one number, for totals of costs. For a record, the largest number in the record. */
export function mostOf(cost: CallCost): number {
  return typeof cost === 'number' ? cost : Math.max(...cost.costs)
}

/** @param sign 1 to add `more`, -1 to subtract `more` */
export function sum(costs: Costs, sign: 1 | -1, more: Costs): Costs {
  if (typeof costs === 'number' && typeof more === 'number') return costs + sign * more
  const long = typeof costs === 'number' ? (more as readonly number[]) : costs
  return long.map((_, n) => unitsOf(costs, n) + sign * unitsOf(more, n))
}

function unitsOf(costs: Costs, n: number): number {
  return typeof costs === 'number' ? costs : (costs[n] as number)
}
