import { invalidOption } from '../errors.ts'
import type { MaybePromise } from '../maybe-promise.ts'
import type { RequestView } from './keys/key-extractor.ts'

/**
 * The cost of a request in units: a number, or a function of the framework's request that may return a promise. The view
 * is for functions that work on every framework.
 */
export type Cost<Request> = number | ((request: Request, view: RequestView<Request>) => MaybePromise<number>)

/** @throws HeadgateError `HEADGATE_COST` for a number that no request can cost */
export function readCost<Request>(cost: Cost<Request> | undefined): Cost<Request> {
  return typeof cost === 'function' ? cost : checkedCost(cost === undefined ? 1 : cost, 'cost')
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
