/* What a request passes to the limiter besides its key: its cost, and the calendar of its customer. */
import type { Policy } from '../algorithms/index.ts'
import { HeadgateError, hook, invalidOption, type MaybePromise, shown } from '../common/index.ts'
import { type AnyCost, askedBy, checkUnits, costsOf, isCostList, type Units } from '../limiter/index.ts'
import type { CallerCalendars } from '../policy/index.ts'
import type { Store } from '../stores/contract/index.ts'
import type { RequestView } from './keys/index.ts'

/**
 * The cost of a request in units: a number for every policy, a record with a number for each policy, or a list of records. A request with a
 * list takes the first record that is admitted. The cost may also be a function that returns such a cost, or a promise of such a cost.
 * The function gets the framework's request, then a view of the request that is the same for every framework.
 */
export type Cost<Request, Response = unknown> =
  | AnyCost
  | ((request: Request, view: RequestView<Request>, response: Response) => MaybePromise<AnyCost>)

/**
 * Reads the option `cost`.
 * @param policies the policies that must be able to admit the cost; empty if they are not known yet. Policies with a limit of 0
 *   are not checked: they refuse every request on purpose
 * @throws HeadgateError `HEADGATE_COST` if the cost is invalid, if every request would be refused, or if a record does not name
 *   the policies; `HEADGATE_UNSUPPORTED` if the cost is a list and the store takes no lists
 */
export function readCost<Request, Response>(
  cost: Cost<Request, Response> | undefined,
  policies: readonly Policy[],
  store: Store,
): Cost<Request, Response> {
  if (typeof cost === 'function') return cost
  const asked = checkedCost(cost === undefined ? 1 : cost, 'cost')
  if (!isCostList(asked)) return readUnits(asked, policies)
  const list = Object.freeze(asked.map((units) => readUnits(units, policies) as Exclude<Units, number>))
  askedBy(list, policies, store)
  return list
}

function readUnits(units: Units, policies: readonly Policy[]): Units {
  for (const [policy, count] of typeof units === 'number' ? [] : Object.entries(units)) checkUnits(count, policy)
  const costs = policies.length === 0 ? [] : costsOf(units, policies)
  policies.forEach((policy, n) => {
    checkAdmits(policy, typeof costs === 'number' ? costs : (costs[n] as number))
  })
  return typeof units === 'number' ? units : Object.freeze({ ...units })
}

function checkAdmits(policy: Policy, units: number): void {
  if (policy.shadow || policy.limit === 0 || units === 0 || !neverAdmits(policy, units)) return
  throw new HeadgateError(
    'HEADGATE_COST',
    `cost is ${units}, but the policy ${shown(policy.name)} admits at most ${policy.burst} at once, so every request would ` +
      'be refused. Give a lower cost or a higher limit.',
  )
}

/** True if the policy can never admit this cost, even for a new key. */
function neverAdmits({ algorithm }: Policy, units: number): boolean {
  return algorithm.wait(new Array(algorithm.slots).fill(0), 0, 0, units) === Infinity
}

/**
 * Checks a cost before the limiter gets the cost. The limiter would read undefined as 1, and so hide a missing `return` in the
 * application's function. The limiter itself checks the numbers in a record.
 * @param free the advice of the error for a call that costs nothing
 */
export function checkedCost(
  cost: unknown,
  source: string,
  free = 'use skip for a request that costs nothing',
): AnyCost {
  if (Number.isSafeInteger(cost) && (cost as number) >= 1) return cost as number
  if (isRecord(cost) || (isCostList(cost) && cost.length > 0 && cost.every(isRecord))) return cost
  const fix = `Round it up with Math.ceil; ${free}.`
  const expected =
    'a whole number from 1 to 2^53 - 1, a record of them by the names of the policies, or a list of such records'
  throw invalidOption(source, expected, cost, fix, 'HEADGATE_COST')
}

function isRecord(cost: unknown): cost is Readonly<Record<string, number>> {
  return typeof cost === 'object' && cost !== null && !Array.isArray(cost) && Object.keys(cost).length > 0
}

/**
 * Returns the calendar of a request's customer, for policies with `anchor: 'caller'` or `timeZone: 'caller'`: one value, or a record
 * with a value for each scope, or a promise of one. The function gets the framework's request, then a view of the request that is the
 * same for every framework. Example: `(request) => ({ anchor: request.customer.since, timeZone: request.customer.timeZone })`.
 */
export type CalendarOf<Request, Response = unknown> = (
  request: Request,
  view: RequestView<Request>,
  response: Response,
) => MaybePromise<CallerCalendars>

/**
 * Reads the option `calendar` for the policies of one plan. Undefined if no policy asks for the calendar of the caller: the function is
 * then not called.
 * @throws HeadgateError `HEADGATE_OPTION` if the option is no function, `HEADGATE_CALENDAR` if a policy asks and there is no function
 */
export function readCalendar<Request, Response>(
  calendar: CalendarOf<Request, Response> | undefined,
  policies: readonly Policy[],
): CalendarOf<Request, Response> | undefined {
  const find = hook('(request) => ({ anchor: request.customer.since })')(calendar, 'calendar')
  if (find === undefined) checkUnasked(policies, (said) => `calendar: (request) => (${said('request.customer')})`)
  return asked(policies).length > 0 ? find : undefined
}

/**
 * Checks that no policy asks for the calendar of the caller.
 * @param fix returns the code that the error recommends. Its argument makes the calendar in this code, from the code for a customer, such
 *   as `'request.customer'`
 * @throws HeadgateError `HEADGATE_CALENDAR`
 */
export function checkUnasked(policies: readonly Policy[], fix: (said: (customer: string) => string) => string): void {
  const policy = policies.find(({ calendar }) => calendar !== undefined && calendar.asks.length > 0)
  if (policy === undefined) return
  const parts = policy.calendar?.asks ?? []
  const all = [...new Set(asked(policies))]
  const said = (customer: string) => `{ ${all.map((part) => `${part}: ${customer}.${part}`).join(', ')} }`
  throw new HeadgateError(
    'HEADGATE_CALENDAR',
    `The policy ${shown(policy.name)} has ${parts.map((part) => `${part}: 'caller'`).join(' and ')}, and nothing says it. ` +
      `Write ${fix(said)}.`,
  )
}

/** Checks that a calendar has an effect. @throws HeadgateError `HEADGATE_CALENDAR` if no policy asks for the calendar of the caller */
export function checkAsked(policies: readonly Policy[]): void {
  if (asked(policies).length > 0) return
  throw new HeadgateError(
    'HEADGATE_CALENDAR',
    "calendar has no effect, because no policy asks for it. Leave it out, or write anchor: 'caller' or timeZone: 'caller' in a " +
      'calendarWindow.',
  )
}

function asked(policies: readonly Policy[]): readonly string[] {
  return policies.flatMap(({ calendar }) => calendar?.asks ?? [])
}
