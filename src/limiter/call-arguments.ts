import { forever } from '../algorithms/bans/index.ts'
import type { Costs, Details } from '../algorithms/evaluation/index.ts'
import type { Policy } from '../algorithms/index.ts'
import {
  callOptions,
  check,
  type Duration,
  HeadgateError,
  invalidOption,
  milliseconds,
  optional,
  readOptions,
  shown,
  shownWithNames,
  unsupported,
  warnOfSeconds,
} from '../common/index.ts'
import type { CallerCalendars } from '../policy/index.ts'
import type { AskedCosts, OnFailure, Store } from '../stores/contract/index.ts'

/** Who is limited: one string for all scopes, or a record with a string for each scope (such as `user`) of the limiter. */
export type Key = string | Readonly<Record<string, string>>

/**
 * The units that a call takes: one number for every policy, or a record with a number for each policy name. A record must name every
 * enforced policy. A policy whose number is 0 takes no units. Example: `{ requests: 1, tokens: 2000 }`.
 */
export type Units = number | Readonly<Record<string, number>>

/**
 * Costs that a call tries in their order, at the same moment. The call takes the first cost that is admitted, and no other. Each cost is
 * a record with a number for each policy. Example, to use the customer's own budget first, and then a shared pool: `[{ own: 1, pool: 0 },
 * { own: 0, pool: 1 }]`.
 */
export type CostList = readonly Readonly<Record<string, number>>[]

/** A cost in any form. */
export type AnyCost = Units | CostList

/** The options of `consume` and of every other call that has a cost. */
export interface CostOptions {
  /**
   * The units that the call takes: a whole number from 1 to 2^53 - 1, or a record with a number for each policy. `consume`,
   * `reserve` and `peek` also take a list of records: see `CostList`. Default 1.
   */
  cost?: Units | CostList | undefined
  /**
   * The calendar of this customer, for policies with `anchor: 'caller'` or `timeZone: 'caller'`: one value, or a record with a value
   * for each scope. Example: `{ anchor: customer.since, timeZone: 'Europe/Berlin' }`.
   */
  calendar?: CallerCalendars | undefined
}

/** Arguments that only the adapter of a framework passes to a call. */
export interface CallExtras {
  readonly details?: Details | undefined
  readonly onFailure?: OnFailure | undefined
  readonly calendar?: CallerCalendars | undefined
  /**
   * False if the framework's adapter admits the request even if this call is refused. Events report this value, which does not change the
   * decision. Default true.
   */
  readonly enforced?: boolean
  /** The policies for which the caller wrote the cost, if these are not the policies of the limiter. `settle` accepts and ignores their names. */
  readonly plan?: readonly Policy[]
}

const costNames = ['cost', 'calendar']

// `keysOf`, `costOf` and `costsOf` run at every call, so they are small enough for the compiler to inline. Errors and rare
// cases are in other functions.
export function keysOf(key: Key, scopes: readonly string[]): readonly string[] {
  return typeof key === 'string' && scopes.length === 1 ? [key] : keysOfRecord(key, scopes)
}

function keysOfRecord(key: Key, scopes: readonly string[]): readonly string[] {
  if (typeof key === 'object' && key !== null) {
    const keys = scopes.map((scope) => (Object.hasOwn(key, scope) ? key[scope] : undefined))
    if (keys.every((each) => typeof each === 'string')) return keys
  }
  if (typeof key === 'string' && scopes.length === 0) return [] // the plan without limits takes the keys of any other plan
  throw new HeadgateError(
    'HEADGATE_KEY',
    `A key must be ${scopes.length === 1 ? 'a string, or ' : ''}a record with a string for ` +
      `${scopes.map(shown).join(' and ')}, got ${shownWithNames(key)}. Write consume(${example(scopes)}).`,
  )
}

/**
 * The keys of the scopes (such as `user`), in the order of the scopes. Undefined for a scope that is not in the record.
 * @throws HeadgateError `HEADGATE_KEY` if the record is empty, or has an unknown scope
 */
export function someKeysOf(key: Key, scopes: readonly string[]): readonly (string | undefined)[] {
  if (typeof key === 'string' && scopes.length < 2) return keysOf(key, scopes)
  const given = typeof key === 'object' && key !== null ? key : {}
  const names = Object.keys(given)
  if (names.length > 0 && names.every((name) => scopes.includes(name) && typeof given[name] === 'string')) {
    return scopes.map((scope) => (names.includes(scope) ? given[scope] : undefined))
  }
  throw new HeadgateError(
    'HEADGATE_KEY',
    `A key must be ${scopes.length < 2 ? 'a string, or ' : ''}a record with a string for at least one of the scopes ` +
      `${scopes.map(shown).join(' and ')}, got ${shownWithNames(key)}. Write ${example(scopes.slice(0, 1), true)}.`,
  )
}

/**
 * Does the same as `keysOf` for a record with every scope, which may also have other scopes. For any other key, does the same as
 * `someKeysOf`.
 * @throws HeadgateError `HEADGATE_KEY`
 */
export function keysOrSomeOf(key: Key, scopes: readonly string[]): readonly (string | undefined)[] {
  const isWhole = typeof key === 'object' && key !== null && scopes.every((scope) => Object.hasOwn(key, scope))
  return isWhole ? keysOfRecord(key, scopes) : someKeysOf(key, scopes)
}

function example(scopes: readonly string[], asRecord = scopes.length !== 1): string {
  return !asRecord ? `'203.0.113.7'` : `{ ${scopes.map((scope) => `${JSON.stringify(scope)}: '...'`).join(', ')} }`
}

/** The option `cost`, by default 1. @throws HeadgateError `HEADGATE_OPTION` if an option is unknown, or if `options` is not an object */
export function costOf(options: CostOptions | undefined): AnyCost {
  return options === undefined ? 1 : givenCost(options)
}

function givenCost(options: CostOptions): AnyCost {
  if (typeof options === 'number') throw bareCost(options)
  callOptions('A call', options, costNames)
  return options.cost === undefined ? 1 : options.cost
}

function bareCost(cost: number): HeadgateError {
  return new HeadgateError('HEADGATE_OPTION', `A cost is passed as an option, got ${cost}. Write { cost: ${cost} }.`)
}

/**
 * The cost in the form that a command to the store needs. For a list of costs, also the whole list, with a number for each policy.
 * @throws HeadgateError `HEADGATE_COST` if the cost is invalid, `HEADGATE_UNSUPPORTED` if the cost is a list and the store takes no lists
 */
export function askedBy(cost: AnyCost, policies: readonly Policy[], { traits }: Store): AskedCosts {
  if (!isCostList(cost)) return { costs: costsOf(cost, policies) }
  if (cost.length === 0 || [...cost].some((each) => typeof each !== 'object')) throw wrongList()
  const alternatives = cost.map((each) => costsByName(each, policies) as readonly number[])
  if (traits?.alternatives !== true && policies.length > 0) throw unsupported('alternatives')
  return { costs: alternatives[0] as readonly number[], alternatives }
}

/**
 * The cost of a call under the policies of an override, which may have other names than the policies of the plan. If the cost is a record,
 * an enforced policy that the record does not name takes 1 unit, and such a shadow policy takes 0 units. A cost of a list that would take
 * nothing, because its policies are gone, takes 1 unit: otherwise such a cost would always be admitted.
 * @param plan the policies for which the caller wrote the cost
 * @throws HeadgateError as `askedBy` does for these policies
 */
export function costUnderOverride(
  cost: AnyCost,
  plan: readonly Policy[],
  policies: readonly Policy[],
  store: Store,
): AnyCost {
  if (typeof cost !== 'object' || cost === null) return cost
  askedBy(cost, plan, store)
  const counted = policies.filter(({ algorithm }) => !algorithm.punishes)
  const enforced = counted.filter(({ shadow }) => !shadow)
  const unitsUnder = (costs: Readonly<Record<string, number>>, { name, shadow }: Policy) =>
    Object.hasOwn(costs, name) ? (costs[name] as number) : shadow ? 0 : 1
  const all = (units: (policy: Policy) => number) => Object.fromEntries(counted.map((each) => [each.name, units(each)]))
  const renamed = (costs: Readonly<Record<string, number>>) => all((policy) => unitsUnder(costs, policy))
  if (!isCostList(cost)) return renamed(cost as Readonly<Record<string, number>>)
  return cost.map((costs) => {
    const isFree = enforced.length > 0 && enforced.every((policy) => unitsUnder(costs, policy) === 0)
    return isFree ? all((policy) => (policy.shadow ? unitsUnder(costs, policy) : 1)) : renamed(costs)
  })
}

/** True if the cost is a list of costs. A call takes the first cost of a list that is admitted. */
export function isCostList(cost: unknown): cost is CostList {
  return Array.isArray(cost)
}

function wrongList(): HeadgateError {
  return new HeadgateError(
    'HEADGATE_COST',
    'A list of costs must have at least one cost, and each is a record. Write [{ own: 1, pool: 0 }, { own: 0, pool: 1 }].',
  )
}

/** The cost of a call under each policy. @throws HeadgateError `HEADGATE_COST` if the cost is invalid */
export function costsOf(cost: AnyCost, policies: readonly Policy[]): Costs {
  return Number.isSafeInteger(cost) && (cost as number) >= 1 ? (cost as number) : costsByName(cost, policies)
}

function costsByName(cost: AnyCost, policies: readonly Policy[]): Costs {
  if (typeof cost !== 'object' || cost === null) {
    const fix = 'To take nothing, use peek(key).'
    throw invalidOption('A cost', 'a whole number from 1 to 2^53 - 1', cost, fix, 'HEADGATE_COST')
  }
  checkNames(cost, policies, 'A cost')
  const costs = policies.map((policy) => costUnder(policy, cost as Readonly<Record<string, number>>))
  const n = policies.findIndex(({ algorithm }) => algorithm.spends)
  // A penalty with `on: 'spent'` counts the units of the other policies with its scope as open.
  const isOpen = (other: number) => other !== n && policies[n]?.scope === policies[other]?.scope
  if (n >= 0) costs[n] = Math.max(0, ...costs.filter((_, other) => isOpen(other)))
  return costs
}

/** The units that one policy takes, from a record: 1 for a penalty, which counts refused calls; 0 for a shadow policy not in the record. */
function costUnder({ name, shadow, algorithm }: Policy, costs: Readonly<Record<string, number>>): number {
  if (algorithm.punishes) return 1
  if (Object.hasOwn(costs, name)) return checkUnits(costs[name] as number, name)
  if (shadow) return 0
  throw new HeadgateError(
    'HEADGATE_COST',
    `A cost for each policy must name every enforced policy, and ${shown(name)} is missing. Give 0 to leave it alone.`,
  )
}

/** Returns the units of a policy unchanged. @throws HeadgateError `HEADGATE_COST` unless `units` is a whole number of at least 0 */
export function checkUnits(units: number, name: string): number {
  if (Number.isSafeInteger(units) && units >= 0) return units
  const fix = 'Round it up: Math.ceil(cost).'
  throw invalidOption(`The cost under ${shown(name)}`, 'a whole number from 0 to 2^53 - 1', units, fix, 'HEADGATE_COST')
}

/** Checks a record of units. @throws HeadgateError `HEADGATE_COST` if the value is not a record, or has a name that no policy has */
export function checkNames(costs: object, policies: readonly Policy[], what: string): void {
  if (Object.prototype.toString.call(costs) !== '[object Object]') throw noRecord(costs, what)
  const names = policies.filter(({ algorithm }) => !algorithm.punishes).map(({ name }) => name)
  const unknown = Object.keys(costs).find((name) => !names.includes(name))
  if (unknown === undefined || policies.length === 0) return
  throw new HeadgateError(
    'HEADGATE_COST',
    `${what} names ${shown(unknown)}, which is no policy of this limiter. Its policies are ${names.map(shown).join(', ')}.`,
  )
}

function noRecord(costs: object, what: string): HeadgateError {
  const fix =
    costs instanceof Promise
      ? 'Await the promise first.'
      : Array.isArray(costs)
        ? 'Only consume, reserve and peek try a list of costs.'
        : 'Write { tokens: 742 }.'
  return invalidOption(
    what,
    'a whole number, or a record of them by the names of policies',
    costs,
    fix,
    'HEADGATE_COST',
  )
}

export interface BanOptions {
  /** Why the key is banned, in at most 200 characters. Shown in `decision.ban`, never in a response to a client. Default: no reason. */
  reason?: string | undefined
}

/** The duration of a ban in microseconds. */
export function banTime(duration: Duration): number {
  if (duration === Infinity) return forever
  const time = milliseconds(duration, 'ban: duration', 'HEADGATE_BAN')
  warnOfSeconds(duration, 'ban: duration')
  return time * 1000
}

export function reasonOf(options: BanOptions | undefined): string | undefined {
  if (options === undefined) return undefined
  return readOptions('ban', options, { reason: banReason }).reason
}

const banReason = optional(
  check<string>(
    (given) => typeof given === 'string' && given !== '' && given.length <= 200,
    'a text of 1 to 200 characters',
    "'abuse'",
    undefined,
    'HEADGATE_BAN',
  ),
)
