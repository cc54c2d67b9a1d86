import type { Policy } from '../algorithms/algorithm.ts'
import { HeadgateError, invalidOption, shown } from '../errors.ts'
import type { MaybePromise } from '../maybe-promise.ts'
import type { RequestView } from './keys/key-extractor.ts'

/**
 * The cost of a request in units: a number, or a function of the framework's request that may return a promise. The view
 * is for functions that work on every framework.
 */
export type Cost<Request> = number | ((request: Request, view: RequestView<Request>) => MaybePromise<number>)

/**
 * @param policies those that have to admit the cost; none if they are not known yet. A limit of 0 is meant to refuse all.
 * @throws HeadgateError `HEADGATE_COST` for a number that no request can cost, or that would refuse every request
 */
export function readCost<Request>(cost: Cost<Request> | undefined, policies: readonly Policy[]): Cost<Request> {
  if (typeof cost === 'function') return cost
  const units = checkedCost(cost === undefined ? 1 : cost, 'cost')
  const tooSmall = policies.find((policy) => !policy.shadow && policy.limit > 0 && neverAdmits(policy, units))
  if (tooSmall === undefined) return units
  throw new HeadgateError(
    'HEADGATE_COST',
    `cost is ${units}, but the policy ${shown(tooSmall.name)} admits at most ${tooSmall.burst} at once, so every request would ` +
      'be refused. Give a lower cost or a higher limit.',
  )
}

/** True if even a new key is refused forever. */
function neverAdmits({ algorithm }: Policy, units: number): boolean {
  return algorithm.wait(new Array(algorithm.slots).fill(0), 0, 0, units) === Infinity
}

/**
 * Checks a cost before the limiter gets it. The limiter would read undefined as 1, so a function that forgets to return
 * would go unnoticed.
 */
export function checkedCost(cost: unknown, source: string): number {
  if (Number.isSafeInteger(cost) && (cost as number) >= 1) return cost as number
  const fix = 'Round it up with Math.ceil; use skip for a request that costs nothing.'
  throw invalidOption(source, 'a whole number from 1 to 2^53 - 1', cost, fix, 'HEADGATE_COST')
}
