import { type Policy, type PolicyLike, type Recipe, toPolicy } from '../algorithms/index.ts'
import { anything, check, HeadgateError, optional, readOptions, scopeOf, shown, text, whole } from '../common/index.ts'
import { type CallerCalendars, defaultScope } from '../policy/index.ts'
import { isScale } from './derive-policies.ts'
import { checkEnd, invalid, type TargetLimiter, timeOf } from './override-end.ts'
import { type OverrideRecord, packPolicy } from './override-record.ts'

/**
 * The keys for which an override applies: one key, a record with the key of one scope, all keys of a scope that begin with a
 * prefix, or all keys. A text is a key of the limiter's only scope, or of the scope `'default'`. Examples: `'ann'`,
 * `{ user: 'ann' }`, `{ scope: 'user', prefix: 'trial-' }`, `'*'`.
 */
export type OverrideTarget =
  | string
  | Readonly<Record<string, string>>
  | { readonly scope?: string; readonly prefix: string }

/** The options of an override. Give exactly one of `limit`, `add`, `policies` and `scale`. */
export interface OverrideOptions {
  /**
   * The name of the policy that the override changes. Required for `limit` and `add` if the limiter has several policies. Default
   * for `scale`: all policies.
   */
  policy?: string | undefined
  /** The limit in place of the policy's limit, at least 1. The policy keeps its `burst`. Example: `50_000`. */
  limit?: number | undefined
  /** How many units to add to the policy's limit, at least 1. Example, for a top-up of a quota: `500`. */
  add?: number | undefined
  /**
   * The policies that replace the policies of the scope. A policy cannot be a `calendarWindow`, and cannot count units in flight.
   * Example: `'5/1m sliding-log'`.
   */
  policies?: PolicyLike | readonly PolicyLike[] | undefined
  /**
   * The factor by which limits and bursts are multiplied: above 0, at most 1000, with at most 6 decimals. A result is rounded up,
   * and is at least 1. If several scales match a key, the smallest applies. Example: `0.1`.
   */
  scale?: number | undefined
  /**
   * When the override ends, by the clock of each process. Give a duration from now such as `'2h'`, a date or a time of ISO 8601
   * (UTC if no zone is given), a Date, or milliseconds since the epoch. With `'window'`, the override ends with the policy's running
   * window. Default: the override lasts until you call `removeOverride`.
   */
  until?: string | number | Date | undefined
  /** The reason for the override, 1 to 200 characters. `decision.override` and `overrides()` show the reason; responses never do. */
  reason?: string | undefined
  /** The calendar of the customer, for `until: 'window'` under a policy that asks for the customer's calendar. */
  calendar?: CallerCalendars | undefined
}

const code = 'HEADGATE_OVERRIDE'
const number = optional(whole(undefined, { code }))
const readers = {
  policy: optional(text(undefined, code)),
  limit: (given: unknown, name: string) => {
    if (given === 0) throw invalid("a limit is at least 1. To refuse each call of a key, write ban(key, '1h').")
    return number(given, name)
  },
  add: number,
  policies: anything,
  scale: optional(
    check<number>(isScale, 'a number above 0, at most 1000, with at most 6 decimals', '0.1', undefined, code),
  ),
  until: anything,
  reason: optional(
    check<string>(
      (given) => typeof given === 'string' && given !== '' && given.length <= 200,
      'a text of 1 to 200 characters',
      "'incident 311'",
      undefined,
      code,
    ),
  ),
  calendar: anything,
}

const kinds = ['limit', 'add', 'policies', 'scale'] as const

/**
 * Reads the arguments of `override`.
 * @throws HeadgateError `HEADGATE_OVERRIDE`, `HEADGATE_KEY`, `HEADGATE_OPTION`, or the code of an invalid policy
 */
export function readOverride(
  limiter: TargetLimiter,
  target: OverrideTarget,
  options: OverrideOptions,
): Omit<OverrideRecord, 'id' | 'since'> {
  const { until, calendar, policies, policy, ...read } = readOptions('override', checkEnd(options), readers)
  const given = kinds.filter((kind) => options[kind] !== undefined)
  if (given.length !== 1) throw notOne(given)
  const place = readTarget(limiter, target)
  const named =
    policies === undefined ? { policy: nameOf(limiter, policy, given[0] as string, place.scope) } : undefined
  if (policies !== undefined && policy !== undefined) {
    throw invalid(
      'policies replace all policies of a scope, so an override with policies names no policy. Leave policy out.',
    )
  }
  const ends = until === undefined ? undefined : timeOf(until, limiter, named?.policy, calendar as CallerCalendars)
  const packed = policies === undefined ? undefined : packAll(policies as OverrideOptions['policies'], place.scope)
  return { ...place, ...named, ...read, ...packed, ...(ends !== undefined && { until: ends }) }
}

function notOne(given: readonly string[]): HeadgateError {
  const got = given.length === 0 ? 'none' : given.join(' and ')
  return invalid(
    `an override has exactly one of limit, add, policies and scale, got ${got}. Write { scale: 0.1, until: '30m' }.`,
  )
}

type Place = Pick<OverrideRecord, 'scope' | 'key' | 'prefix'>

function readTarget({ scopes }: TargetLimiter, target: OverrideTarget): Place {
  if (target === '*') return {}
  if (typeof target === 'string') {
    const scope = onlyScope(scopes, target)
    if (target.endsWith('*')) throw wildcard(scope, target)
    return { scope, key: target }
  }
  const entries = typeof target === 'object' && target !== null ? Object.entries(target) : []
  if ('prefix' in Object(target) && !scopes.includes('prefix')) {
    const { scope, prefix } = readOptions('override: target', target, {
      scope: optional(scopeOf(scopes)),
      prefix: anything,
    })
    if (typeof prefix !== 'string')
      throw invalid(`a prefix is a text, got ${shown(prefix)}. Write { prefix: 'trial-' }.`)
    return { scope: (scope as string | undefined) ?? onlyScope(scopes, prefix), prefix }
  }
  const [[scope, key] = []] = entries
  if (entries.length === 1 && scopes.includes(scope as string) && typeof key === 'string') {
    return { scope: scope as string, key }
  }
  throw new HeadgateError(
    'HEADGATE_KEY',
    `override takes a key, a record with the key of one scope (${scopes.map(shown).join(', ')}), { scope, prefix } or '*', got ` +
      `${shown(target)}. Write override({ ${JSON.stringify(scopes[0] ?? defaultScope)}: 'ann' }, ...).`,
  )
}

function wildcard(scope: string, target: string): HeadgateError {
  const prefix = JSON.stringify(target.slice(0, -1))
  return invalid(
    `the text ${shown(target)} is one key, not all keys that begin so. Write override({ prefix: ${prefix} }, ...). If it is ` +
      `the key itself, write override({ ${JSON.stringify(scope)}: ${shown(target)} }, ...).`,
  )
}

function onlyScope(scopes: readonly string[], key: string): string {
  if (scopes.length === 1) return scopes[0] as string
  if (scopes.length === 0 || scopes.includes(defaultScope)) return defaultScope
  const [scope] = scopes
  throw new HeadgateError(
    'HEADGATE_KEY',
    `override needs the scope of ${shown(key)}, because the limiter has ${scopes.map(shown).join(' and ')}. ` +
      `Write override({ ${JSON.stringify(scope)}: ${shown(key)} }, ...), or { scope: ${shown(scope)}, prefix }.`,
  )
}

/**
 * The name of the policy that an override changes. A `limit` changes one policy. A `scale` without a name changes all policies.
 * @param scope the scope of the override's keys; undefined for all keys
 */
function nameOf(
  limiter: TargetLimiter,
  policy: string | undefined,
  kind: string,
  scope: string | undefined,
): string | undefined {
  const { policies } = limiter
  if (policy !== undefined) checkName(limiter, policy, scope)
  if (policy !== undefined || kind === 'scale') return policy
  if (policies.length === 1) return policies[0]?.name
  const names = policies.map(({ name }) => shown(name)).join(', ')
  throw invalid(
    `${kind} belongs to one policy, and the limiter has ${names || 'none of its own'}. Write policy: 'monthly' beside ${kind}.`,
  )
}

/** @throws HeadgateError `HEADGATE_OVERRIDE` if the override would change nothing, because no policy of the scope has the name */
function checkName({ policies, check }: TargetLimiter, name: string, scope: string | undefined): void {
  if (check === undefined || policies.length === 0) return
  const named = policies.filter((each) => each.name === name)
  if (named.some((each) => scope === undefined || each.scope === scope)) return
  if (named.length > 0) {
    const [{ scope: own }] = named as [Policy]
    throw invalid(
      `the policy ${shown(name)} has the scope ${shown(own)}, and the override is for ${shown(scope)}. Write ` +
        `override({ ${JSON.stringify(own)}: 'ann' }, ...).`,
    )
  }
  throw invalid(
    `the limiter has no policy ${shown(name)}. Its policies are ${policies.map((each) => shown(each.name)).join(', ')}. For ` +
      'a policy of a plan, write limiter.withPlan(plan).override(...).',
  )
}

function packAll(
  likes: OverrideOptions['policies'],
  scope: string | undefined,
): Pick<OverrideRecord, 'policies' | 'scope'> {
  const policies = (Array.isArray(likes) ? (likes as readonly PolicyLike[]) : [likes as PolicyLike]).map(toPolicy)
  if (policies.length === 0)
    throw invalid("policies has none. Write policies: '5/1m sliding-log', or remove the override.")
  const names = policies.map(({ name }) => name)
  if (new Set(names).size < names.length)
    throw invalid(`two policies are named ${shown(names)}. Give each a name of its own.`)
  const own = scope ?? (policies[0] as Policy).scope
  const other = policies.find((policy) => policy.scope !== own && policy.scope !== defaultScope)
  if (other !== undefined) {
    throw invalid(
      `the policy ${shown(other.name)} has the scope ${shown(other.scope)}, and the override is for ${shown(own)}. Write an override for each scope.`,
    )
  }
  return { scope: own, policies: policies.map((policy) => recipeOrThrow(policy, own)) }
}

function recipeOrThrow(policy: Policy, scope: string): Recipe {
  const recipe = policy.algorithm.leases ? undefined : packPolicy(policy, scope)
  if (recipe !== undefined) return recipe
  throw invalid(
    `the policy ${shown(policy.name)} cannot be in the policies of an override: they are windows, buckets and logs with a limit. ` +
      'Change the limit of the policy of that name, or pass the policy to withPlan.',
  )
}
