import { HeadgateError, shown } from '../errors.ts'
import type { MaybePromise } from '../maybe-promise.ts'
import type { View } from './keys/extractors.ts'

/** What a request costs: units, or a function of the framework's request that tells them, maybe later. */
export type Cost<Request> = number | ((request: Request, view: View<Request>) => MaybePromise<number>)

/** @throws HeadgateError `HEADGATE_COST` for a number that no request can cost */
export function costOf<Request>(cost: Cost<Request> | undefined): Cost<Request> {
  return typeof cost === 'function' ? cost : checkedCost(cost === undefined ? 1 : cost, 'cost')
}

/** Before the limiter is asked: there, a cost that is left out is 1, and a function that forgot to return would pass. */
export function checkedCost(cost: unknown, what: string): number {
  if (Number.isSafeInteger(cost) && (cost as number) >= 1) return cost as number
  throw new HeadgateError(
    'HEADGATE_COST',
    `${what} must be a whole number from 1 to 2^53 - 1, got ${shown(cost)}. Round it up with Math.ceil; ` +
      `a request that costs nothing is one to skip.`,
  )
}
